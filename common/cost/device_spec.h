#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/precision.h"

namespace trainbench {

/// What a device multiplies and adds with.
enum class MathUnit : std::uint8_t { cuda_cores, tensor_cores };

std::string_view name_of(MathUnit unit);

/// A rate that a device's maker gives, dense.
struct RatedPeak {
  double flops = 0;         ///< FLOP/s
  std::string accumulator;  ///< "fp32": what sums of products are kept in at that rate
  MathUnit unit = MathUnit::cuda_cores;
};

struct Link {
  std::string name;
  double bandwidth = 0;  ///< bytes/s, one direction
};

/// A device as its maker describes it; it need not be here.
struct DeviceSpec {
  std::string name;          ///< "RTX 4090"
  std::string architecture;  ///< "ada": whose efficiencies it has
  double memory_bytes = 0;
  double bandwidth = 0;                    ///< bytes/s
  std::map<std::string, RatedPeak> peaks;  ///< by precision
  double power = 0;                        ///< W at most
  Link host_link;
  std::optional<Link> peer_link;               ///< to others of its kind
  std::map<std::string, std::string> sources;  ///< where each figure was read

  /// The rate of a training precision; throws Unsupported where the device has none, or none that
  /// keeps sums in the master dtype.
  const RatedPeak& peak(const Precision& precision) const;
};

/// The architectures there are efficiencies for.
const std::vector<std::string_view>& architectures();

/// Reads a file that configs/schema/device.schema.json describes. Throws InputError that names the
/// file and the path in it.
DeviceSpec read_device_spec(const std::string& file);

/// The devices that configs/devices describes, by name: "rtx-4090".
std::vector<std::string> device_names();

/// The description of that name, or in that file if it ends in .json. Throws InputError.
DeviceSpec find_device(const std::string& name_or_file);

}  // namespace trainbench
