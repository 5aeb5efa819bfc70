#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/cost/cost_backend.h"

namespace trainbench {

/// A published transformer, by what decides its cost. It is planned, never built.
struct LanguageModel {
  std::string_view name;
  std::string_view source;
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t key_value_width;  ///< columns of keys; less than width where heads share them
  std::int64_t hidden;           ///< of the perceptron
  bool gated;                    ///< the perceptron has a third matrix, and nothing has a bias
  std::int64_t vocabulary;
  std::int64_t sequence;
  bool learned_positions;  ///< a table of them; else they are rotated in
  bool tied;               ///< the last product shares the embedding's table
  double batch_tokens;     ///< tokens of an update as it was trained
  double tokens;           ///< it was trained on
};

const std::vector<LanguageModel>& language_models();

/// Training one, counted without data.
struct LanguageModelPlan {
  std::int64_t parameters = 0;
  std::vector<OperationCost> sequence;  ///< forward and backward of one sequence
  std::vector<OperationCost> update;    ///< clipping and AdamW
  MemoryUse memory;                     ///< state, and activations of one sequence
};

/// Weights and activations in the precision's compute dtype, AdamW in its master dtype. Attention
/// keeps no scores; nothing is recomputed. Attention's bytes count keys and values once a head.
LanguageModelPlan plan_language_model(const LanguageModel& model, const Precision& precision);

}  // namespace trainbench
