#include "common/check/check_backend.h"
#include "common/check/expected.h"
#include "common/check/reference.h"

namespace trainbench {
namespace {

std::int64_t columns_of(const ConstTensor& x) { return x.shape[x.shape.rank() - 1]; }

}  // namespace

void CheckBackend::upsample(ConstTensor x, Tensor y) {
  const Held small = hold(x);
  inner_.upsample(x, y);
  const std::int64_t width = y.shape[2];
  const std::int64_t channels = y.shape[3];
  compare(named("upsample", x.dtype), "y", y, [&](std::int64_t i) {
    // Rows of all images together: each image has twice as many as its source.
    const std::int64_t pixel = i / channels;
    const std::int64_t source = pixel / width / 2 * (width / 2) + pixel % width / 2;
    return Expected{(*small)[source * channels + i % channels], 0};
  });
}

void CheckBackend::upsample_backward(ConstTensor dy, Tensor dx) {
  const Held large = hold(dy);
  inner_.upsample_backward(dy, dx);
  const std::int64_t width = dx.shape[2];
  const std::int64_t channels = dx.shape[3];
  compare(named("upsample_backward", dx.dtype), "dx", dx, [&](std::int64_t i) {
    const std::int64_t pixel = i / channels;
    const std::int64_t upper = pixel / width * 4 * width + pixel % width * 2;
    Sum sum;
    for (const std::int64_t source : {upper, upper + 1, upper + 2 * width, upper + 2 * width + 1}) {
      sum.add((*large)[source * channels + i % channels]);
    }
    return stored(dx.dtype,
                  {sum.value, summation_error(4, accumulator_of(dx.dtype), sum.magnitude)});
  });
}

void CheckBackend::concat(ConstTensor a, ConstTensor b, Tensor y) {
  const Held left = hold(a);
  const Held right = hold(b);
  inner_.concat(a, b, y);
  const std::int64_t n = columns_of(a);
  const std::int64_t k = columns_of(b);
  compare(named("concat", y.dtype), "y", y, [&](std::int64_t i) {
    const std::int64_t row = i / (n + k);
    const std::int64_t column = i % (n + k);
    return Expected{column < n ? (*left)[row * n + column] : (*right)[row * k + column - n], 0};
  });
}

void CheckBackend::split(ConstTensor y, Tensor a, Tensor b) {
  const Held joined = hold(y);
  inner_.split(y, a, b);
  const std::int64_t n = columns_of(a);
  const std::int64_t k = columns_of(b);
  compare(named("split", y.dtype), "a", a, [&](std::int64_t i) {
    return Expected{(*joined)[i / n * (n + k) + i % n], 0};
  });
  compare(named("split", y.dtype), "b", b, [&](std::int64_t i) {
    return Expected{(*joined)[i / k * (n + k) + n + i % k], 0};
  });
}

}  // namespace trainbench
