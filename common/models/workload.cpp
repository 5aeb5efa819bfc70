#include "common/models/workload.h"

#include "common/models/diffusion.h"
#include "common/models/gpt.h"
#include "common/models/lstm.h"
#include "common/models/mlp.h"
#include "common/models/resnet.h"

namespace trainbench {

SizeReader::SizeReader(const Workload& workload, const ModelSizes& asked)
    : model_(workload.name), sizes_(workload.sizes) {
  for (const auto& [name, value] : asked) {
    const auto known = sizes_.find(name);
    if (known != sizes_.end()) {
      known->second = value;
      continue;
    }
    std::string list;
    for (const auto& [own, ignored] : workload.sizes) list += (list.empty() ? "" : ", ") + own;
    throw InputError("model " + model_ + " has no size \"" + name + "\"; it has " + list);
  }
}

std::int64_t SizeReader::get(const std::string& name, std::int64_t most) const {
  const auto found = sizes_.find(name);
  require(found != sizes_.end(), "a model reads the sizes that its workload lists");
  if (found->second >= 1 && found->second <= most) return found->second;
  throw InputError("size \"" + name + "\" of " + model_ + " is " + std::to_string(found->second) +
                   "; it must be from 1 to " + std::to_string(most));
}

namespace {

constexpr std::string_view kGptInitialization =
    "normal of deviation 0.02, before a residual sum 0.02/sqrt(2 layers); biases 0, norms' weights "
    "1";

std::unique_ptr<Model> make_gpt(const Workload& workload, const ModelSizes& sizes) {
  return std::make_unique<Gpt>(workload, sizes);
}

}  // namespace

const std::vector<Workload>& workloads() {
  // Mean and standard deviation of Fashion-MNIST's training pixels, of 255: 0.2860 and 0.3530.
  constexpr float kPixelScale = static_cast<float>(1.0 / (255.0 * 0.3530));
  constexpr float kPixelShift = static_cast<float>(-0.2860 / 0.3530);
  constexpr std::string_view kResnetInitialization =
      "convolutions normal with variance 2 / fan out, norms the identity, the classifier uniform "
      "in "
      "+-1/sqrt(fan in)";
  static const std::vector<Workload> table{
      {.name = "mlp",
       .description = "784-2048-2048-10 perceptron with ReLU",
       .dataset = "images28",
       .default_batch = 256,
       .sizes = {{"inputs", 784}, {"hidden", 2048}, {"layers", 3}, {"classes", 10}},
       .optimizer = SgdOptions{.momentum = 0.9, .weight_decay = 0},
       .learning_rate = 0.05,
       .gradient_clip = 0,
       .input_scale = kPixelScale,
       .input_shift = kPixelShift,
       .make = [](const Workload& workload, const ModelSizes& sizes) -> std::unique_ptr<Model> {
         return std::make_unique<Mlp>(workload, sizes);
       }},
      {.name = "resnet20",
       .description = "residual network of 20 layers for 32 x 32 images",
       .dataset = "images32",
       .default_batch = 128,
       .sizes = {{"image", 32},
                 {"channels", 3},
                 {"width", 16},
                 {"blocks1", 3},
                 {"blocks2", 3},
                 {"blocks3", 3},
                 {"classes", 10}},
       .optimizer = SgdOptions{.momentum = 0.9, .weight_decay = 1e-4},
       .learning_rate = 0.1,
       .gradient_clip = 0,
       .input_scale = kPixelScale,
       .input_shift = kPixelShift,
       .make = [](const Workload& workload, const ModelSizes& sizes) -> std::unique_ptr<Model> {
         return std::make_unique<Resnet>(kResnet20, workload, sizes);
       },
       .initialization = kResnetInitialization,
       .verified = {.batch = 16, .sizes = {}}},
      {.name = "resnet50",
       .description = "residual network of 50 layers (v1.5) for 224 x 224 images",
       .dataset = "images224",
       .default_batch = 8,
       .sizes = {{"image", 224},
                 {"channels", 3},
                 {"width", 64},
                 {"blocks1", 3},
                 {"blocks2", 4},
                 {"blocks3", 6},
                 {"blocks4", 3},
                 {"classes", 1000}},
       .optimizer = SgdOptions{.momentum = 0.9, .weight_decay = 1e-4},
       .learning_rate = 0.01,
       .gradient_clip = 0,
       .input_scale = kPixelScale,
       .input_shift = kPixelShift,
       .make = [](const Workload& workload, const ModelSizes& sizes) -> std::unique_ptr<Model> {
         return std::make_unique<Resnet>(kResnet50, workload, sizes);
       },
       .initialization = kResnetInitialization,
       .verified = {.batch = 2,
                    .sizes = {{"blocks1", 1}, {"blocks2", 1}, {"blocks3", 1}, {"blocks4", 1}}}},
      {.name = "diffusion",
       .description = "noise predictor for 32x32 images: U-Net of 64/128/256 channels",
       .dataset = "images32",
       .default_batch = 16,
       .sizes = {{"image", 32}, {"channels", 1}, {"width", 64}, {"groups", 8}, {"steps", 1000}},
       .optimizer = AdamOptions{.weight_decay = 0.01},
       .learning_rate = 5e-4,
       .gradient_clip = 0,
       .input_scale = 2.0f / 255.0f,
       .input_shift = -1.0f,
       .make = [](const Workload& workload, const ModelSizes& sizes) -> std::unique_ptr<Model> {
         return std::make_unique<Diffusion>(workload, sizes);
       }},
      {.name = "gpt",
       .description = "GPT of 6 blocks, 384 wide, over bytes of text",
       .dataset = "text",
       .default_batch = 8,
       .sizes =
           {{"layers", 6}, {"heads", 6}, {"width", 384}, {"sequence", 256}, {"vocabulary", 128}},
       .optimizer = AdamOptions{.beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1},
       .learning_rate = 1e-3,
       .gradient_clip = 1,
       .make = make_gpt,
       .initialization = kGptInitialization,
       .verified = {.batch = 2, .sizes = {{"layers", 2}}}},
      {.name = "gpt2",
       .description = "GPT-2 124M: 12 blocks, 768 wide, vocabulary padded to 50304",
       .dataset = "tokens",
       .default_batch = 4,
       .sizes = {{"layers", 12},
                 {"heads", 12},
                 {"width", 768},
                 {"sequence", 1024},
                 {"vocabulary", 50304}},
       .optimizer = AdamOptions{.beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1},
       .learning_rate = 6e-4,
       .gradient_clip = 1,
       .make = make_gpt,
       .initialization = kGptInitialization,
       .verified = {.batch = 1, .sizes = {{"layers", 1}, {"sequence", 128}}}},
      {.name = "lstm",
       .description = "byte language model: embedding 256, 2 layers of 512, softmax over 128",
       .dataset = "text",
       .default_batch = 32,
       .sizes = {{"vocabulary", 128},
                 {"embedding", 256},
                 {"hidden", 512},
                 {"layers", 2},
                 {"sequence", 64}},
       .optimizer = AdamOptions{},
       .learning_rate = 0.002,
       .gradient_clip = 1.0,
       .make = [](const Workload& workload, const ModelSizes& sizes) -> std::unique_ptr<Model> {
         return std::make_unique<LstmModel>(workload, sizes);
       },
       .initialization = "embedding normal of deviation 1; the rest uniform in +-1/sqrt(hidden)",
       .verified = {.batch = 8, .sizes = {{"embedding", 40}, {"hidden", 72}, {"sequence", 12}}}},
  };
  return table;
}

const Workload& workload_by_name(std::string_view name) {
  std::string known;
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload;
    if (!known.empty()) known += ", ";
    known += workload.name;
  }
  throw InputError("unknown workload \"" + std::string(name) + "\"; one of " + known);
}

}  // namespace trainbench
