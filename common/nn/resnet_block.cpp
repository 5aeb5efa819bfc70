#include "common/nn/resnet_block.h"

#include <algorithm>

namespace trainbench {

void GradientBuffers::allocate(Backend& backend, std::int64_t elements, DType dtype) {
  for (Tensor& buffer : buffers_) {
    buffer = backend.allocate(Shape{elements}, dtype, MemoryKind::activations);
  }
}

Tensor GradientBuffers::view(std::size_t place, const Shape& shape) const {
  return buffers_[place].range(0, shape.elements()).reshaped(shape);
}

ResnetBlock::ResnetBlock(ParameterLayout& layout, const std::string& name, Kind kind,
                         std::int64_t in, std::int64_t width, std::int64_t stride) {
  const Window one{1, 1, 0};
  const Window three{3, 1, 1};
  const Window striding{3, stride, 1};
  const std::int64_t out = kind == Kind::basic ? width : 4 * width;
  const auto unit = [&](std::int64_t from, std::int64_t to, const Window& window) {
    units_.emplace_back(layout, name + ".conv" + std::to_string(units_.size() + 1), from, to,
                        window, Activation::relu);
  };
  if (kind == Kind::basic) {
    unit(in, width, striding);
    unit(width, out, three);
  } else {
    unit(in, width, one);
    unit(width, width, striding);
    unit(width, out, one);
  }
  if (in != out || stride != 1) {
    projection_.emplace(layout, name + ".shortcut", in, out, Window{1, stride, 0},
                        Activation::none);
  }
}

void ResnetBlock::allocate(Backend& backend, const Extent& extent, std::int64_t height,
                           std::int64_t width) {
  if (projection_) projection_->allocate(backend, extent, height, width);
  for (ConvNorm& unit : units_) {
    unit.allocate(backend, extent, height, width);
    height = unit.height();
    width = unit.width();
  }
}

Tensor ResnetBlock::forward(const Pass& pass, const Parameters& parameters, ConstTensor x) {
  input_ = x;
  const ConstTensor shortcut =
      projection_ ? ConstTensor(projection_->forward(pass, parameters, x)) : x;
  for (std::size_t i = 0; i + 1 < units_.size(); ++i) x = units_[i].forward(pass, parameters, x);
  return units_.back().forward(pass, parameters, x, shortcut);
}

// The first buffer holds the gradient on the units' path, the second that of the shortcut. The
// path's end is added to the shortcut's where that is the identity, which has it complete already,
// and else the projection's to the path's.
void ResnetBlock::backward(const Pass& pass, const Parameters& parameters,
                           GradientBuffers& buffers) const {
  const Shape output = units_.back().output().shape;
  for (std::size_t i = units_.size(); i-- > 1;) {
    const Tensor dresidual = i + 1 == units_.size() ? buffers.view(1, output) : Tensor();
    units_[i].backward(pass, parameters, buffers.view(0, units_[i].output().shape), dresidual,
                       buffers.view(2, units_[i - 1].output().shape));
    buffers.swap(0, 2);
  }
  const Tensor first = buffers.view(0, units_.front().output().shape);
  if (projection_) {
    const Tensor dx = buffers.view(2, input_.shape);
    units_.front().backward(pass, parameters, first, {}, dx);
    projection_->backward(pass, parameters, buffers.view(1, output), {}, dx, true);
    buffers.swap(0, 2);
  } else {
    units_.front().backward(pass, parameters, first, {}, buffers.view(1, input_.shape), true);
    buffers.swap(0, 1);
  }
}

std::int64_t ResnetBlock::largest() const {
  std::int64_t elements = 0;
  for (const ConvNorm& unit : units_) elements = std::max(elements, unit.output().elements());
  return elements;
}

}  // namespace trainbench
