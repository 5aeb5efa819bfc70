#include "common/cost/roofline.h"

namespace trainbench {

Roofs roofs_of(const DeviceSpec& device, const Efficiencies& efficiencies,
               const Precision& precision) {
  const RatedPeak& peak = device.peak(precision);
  const bool tensor = peak.unit == MathUnit::tensor_cores;
  const double reached = (tensor ? efficiencies.tensor_cores : efficiencies.cuda_cores).value;
  const double convolution =
      (tensor ? efficiencies.tensor_convolution : efficiencies.cuda_convolution).value;
  return {.product_flops = peak.flops * reached,
          .convolution_flops = peak.flops * reached * convolution,
          .bandwidth = device.bandwidth * efficiencies.bandwidth.value,
          .operation_seconds = efficiencies.operation_seconds.value};
}

Estimate roofline(const std::vector<OperationCost>& operations, const Roofs& roofs) {
  Estimate estimate;
  for (const OperationCost& each : operations) {
    const bool convolution = each.operation.starts_with("conv2d");
    const double compute =
        each.cost.flops / (convolution ? roofs.convolution_flops : roofs.product_flops);
    const double traffic = each.cost.bytes / roofs.bandwidth;
    (compute > traffic ? estimate.compute : estimate.bandwidth) +=
        compute > traffic ? compute : traffic;
    estimate.overhead += static_cast<double>(each.calls) * roofs.operation_seconds;
  }
  estimate.seconds = estimate.compute + estimate.bandwidth + estimate.overhead;
  return estimate;
}

}  // namespace trainbench
