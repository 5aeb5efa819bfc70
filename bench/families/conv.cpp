#include "bench/families/conv.h"

#include "bench/families/operation_case.h"
#include "common/core/error.h"

namespace trainbench {

std::unique_ptr<PreparedCase> prepare_conv(const SuiteCase& wanted, RunEnvironment& environment) {
  const CaseId& id = wanted.id;
  const std::int64_t batch = id.integer("batch", 0);
  const std::int64_t image = id.integer("image", 0);
  const std::int64_t channels = id.integer("channels", 0);
  const std::int64_t filters = id.integer("filters", 0);
  const Window window{.kernel = id.integer("kernel", 0),
                      .stride = id.integer("stride", 0),
                      .padding = id.integer("padding", 0)};
  const std::int64_t outputs = window.outputs(image);
  if (image + 2 * window.padding < window.kernel) {
    throw Unsupported("the window is larger than the padded image");
  }

  auto prepared = std::make_unique<OperationCase>(wanted, environment);
  const Precision& precision = prepared->precision();
  const MathMode math = precision.math;
  const Shape x_shape{batch, image, image, channels};
  const Shape y_shape{batch, outputs, outputs, filters};
  const Shape weights_shape{filters, window.kernel, window.kernel, channels};
  if (id.name == "forward") {
    const Tensor x = prepared->uniform(x_shape);
    const Tensor weights = prepared->uniform(weights_shape);
    const Tensor y = prepared->result(y_shape);
    prepared->set_work([=](Backend& backend) { backend.conv2d(window, x, weights, {}, y, math); });
  } else if (id.name == "data_gradient") {
    const Tensor dy = prepared->uniform(y_shape);
    const Tensor weights = prepared->uniform(weights_shape);
    const Tensor dx = prepared->result(x_shape);
    prepared->set_work([=](Backend& backend) {
      backend.conv2d_data_gradient(window, dy, weights, dx, false, math);
    });
  } else {
    const Tensor x = prepared->uniform(x_shape);
    const Tensor dy = prepared->uniform(y_shape);
    const Tensor dw = prepared->result(weights_shape, precision.master);
    prepared->set_work(
        [=](Backend& backend) { backend.conv2d_weight_gradient(window, x, dy, dw, {}, math); });
  }
  return prepared;
}

}  // namespace trainbench
