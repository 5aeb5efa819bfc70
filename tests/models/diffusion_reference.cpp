#include "tests/models/diffusion_reference.h"

#include <cmath>
#include <map>
#include <string>

#include "common/host_values.h"

namespace trainbench {
namespace {

using Values = std::vector<double>;

/// Images [b, size, size, channels].
struct Images {
  std::size_t batch, size, channels;
  Values at;

  double& operator()(std::size_t b, std::size_t row, std::size_t column, std::size_t c) {
    return at[((b * size + row) * size + column) * channels + c];
  }
  double operator()(std::size_t b, std::size_t row, std::size_t column, std::size_t c) const {
    return at[((b * size + row) * size + column) * channels + c];
  }
};

Images zeros(std::size_t batch, std::size_t size, std::size_t channels) {
  return {batch, size, channels, Values(batch * size * size * channels, 0.0)};
}

double silu(double x) { return x / (1 + std::exp(-x)); }

/// A model's weights by name, and the layers by their definitions.
class Definition {
 public:
  Definition(const Parameters& parameters, Backend& backend, std::size_t groups) : groups_(groups) {
    const auto& specs = parameters.layout().specs();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      weights_[specs[i].name] = read_values(backend, parameters.weight(i));
    }
  }

  const Values& weight(const std::string& name) const { return weights_.at(name); }
  bool has(const std::string& name) const { return weights_.count(name) > 0; }

  /// kernel x kernel, zero padding that keeps the extents at stride 1. `bias` is per image, [b, f].
  Images convolve(const std::string& name, const Images& x, std::size_t stride,
                  const Values& bias) const {
    const Values& w = weight(name + ".weight");
    const std::size_t filters = weight(name + ".bias").size();
    const auto kernel = static_cast<std::size_t>(std::lround(
        std::sqrt(static_cast<double>(w.size()) / static_cast<double>(filters * x.channels))));
    const std::size_t padding = kernel / 2;
    Images y = zeros(x.batch, (x.size + stride - 1) / stride, filters);
    for (std::size_t b = 0; b < y.batch; ++b) {
      for (std::size_t p = 0; p < y.size * y.size; ++p) {
        for (std::size_t f = 0; f < filters; ++f) {
          double sum = bias[b * filters + f];
          for (std::size_t k = 0; k < kernel * kernel; ++k) {
            const std::size_t row = p / y.size * stride + k / kernel - padding;
            const std::size_t column = p % y.size * stride + k % kernel - padding;
            if (row >= x.size || column >= x.size) continue;  // below zero wraps around to large
            for (std::size_t c = 0; c < x.channels; ++c) {
              sum += x(b, row, column, c) * w[(f * kernel * kernel + k) * x.channels + c];
            }
          }
          y(b, p / y.size, p % y.size, f) = sum;
        }
      }
    }
    return y;
  }
  Images convolve(const std::string& name, const Images& x, std::size_t stride = 1) const {
    Values bias;
    for (std::size_t b = 0; b < x.batch; ++b) {
      const Values& own = weight(name + ".bias");
      bias.insert(bias.end(), own.begin(), own.end());
    }
    return convolve(name, x, stride, bias);
  }

  Images norm(const std::string& name, Images x, bool activate) const {
    const std::size_t width = x.channels / groups_;
    const double count = static_cast<double>(x.size * x.size * width);
    for (std::size_t b = 0; b < x.batch; ++b) {
      for (std::size_t g = 0; g < groups_; ++g) {
        const auto each = [&](auto f) {
          for (std::size_t p = 0; p < x.size * x.size; ++p) {
            for (std::size_t c = g * width; c < (g + 1) * width; ++c) {
              f(x(b, p / x.size, p % x.size, c), c);
            }
          }
        };
        double mean = 0;
        double variance = 0;
        each([&](double v, std::size_t) { mean += v / count; });
        each([&](double v, std::size_t) { variance += (v - mean) * (v - mean) / count; });
        each([&](double& v, std::size_t c) {
          v = (v - mean) / std::sqrt(variance + 1e-5) * weight(name + ".weight")[c] +
              weight(name + ".bias")[c];
          if (activate) v = silu(v);
        });
      }
    }
    return x;
  }

  /// Of each of `rows` rows.
  Values linear(const std::string& name, const Values& x, std::size_t rows) const {
    const Values& w = weight(name + ".weight");
    const Values& bias = weight(name + ".bias");
    const std::size_t in = x.size() / rows;
    Values y;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t j = 0; j < bias.size(); ++j) {
        double sum = bias[j];
        for (std::size_t k = 0; k < in; ++k) sum += x[row * in + k] * w[j * in + k];
        y.push_back(sum);
      }
    }
    return y;
  }

  Images block(const std::string& name, const Images& x, const Values& embedding) const {
    Values bias = linear(name + ".time", embedding, x.batch);
    const Values& own = weight(name + ".conv1.bias");
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += own[i % own.size()];
    const Images inner = convolve(name + ".conv1", norm(name + ".norm1", x, true), 1, bias);
    Images y = convolve(name + ".conv2", norm(name + ".norm2", inner, true));
    const Images skip = has(name + ".skip.weight") ? convolve(name + ".skip", x) : x;
    for (std::size_t i = 0; i < y.at.size(); ++i) y.at[i] += skip.at[i];
    return y;
  }

  Images attend(const std::string& name, const Images& x) const {
    const std::size_t n = x.channels;
    const std::size_t pixels = x.size * x.size;
    const Values qkv = linear(name + ".qkv", norm(name + ".norm", x, false).at, x.batch * pixels);
    Values attended;
    for (std::size_t b = 0; b < x.batch; ++b) {
      const double* first = qkv.data() + b * pixels * 3 * n;
      for (std::size_t query = 0; query < pixels; ++query) {
        Values weights;
        double total = 0;
        for (std::size_t key = 0; key < pixels; ++key) {
          double score = 0;
          for (std::size_t c = 0; c < n; ++c) {
            score += first[query * 3 * n + c] * first[key * 3 * n + n + c];
          }
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(n))));
          total += weights.back();
        }
        for (std::size_t c = 0; c < n; ++c) {
          double sum = 0;
          for (std::size_t key = 0; key < pixels; ++key) {
            sum += weights[key] / total * first[key * 3 * n + 2 * n + c];
          }
          attended.push_back(sum);
        }
      }
    }
    Images y = x;
    const Values out = linear(name + ".out", attended, x.batch * pixels);
    for (std::size_t i = 0; i < y.at.size(); ++i) y.at[i] += out[i];
    return y;
  }

 private:
  std::size_t groups_;
  std::map<std::string, Values> weights_;
};

/// Each pixel four times, and behind its channels those of `kept`.
Images upsample_and_join(const Images& x, const Images& kept) {
  Images y = zeros(x.batch, 2 * x.size, x.channels + kept.channels);
  for (std::size_t b = 0; b < y.batch; ++b) {
    for (std::size_t p = 0; p < y.size * y.size; ++p) {
      const std::size_t row = p / y.size;
      const std::size_t column = p % y.size;
      for (std::size_t c = 0; c < y.channels; ++c) {
        y(b, row, column, c) =
            c < x.channels ? x(b, row / 2, column / 2, c) : kept(b, row, column, c - x.channels);
      }
    }
  }
  return y;
}

Values activated(Values x) {
  for (double& value : x) value = silu(value);
  return x;
}

}  // namespace

std::vector<double> diffusion_by_definition(const Diffusion& model, const Parameters& parameters,
                                            Backend& backend) {
  const Definition net(parameters, backend, 2);
  const auto images = static_cast<std::size_t>(model.noisy().shape[0]);
  const auto size = static_cast<std::size_t>(model.noisy().shape[1]);
  const std::size_t width = net.weight("conv_in.bias").size();
  const Images noisy{images, size, 1, read_values(backend, model.noisy())};

  Values features;
  for (const double time : read_values(backend, model.times())) {
    const std::size_t half = width / 2;
    for (std::size_t i = 0; i < width; ++i) {
      const double place = static_cast<double>(i % half) / static_cast<double>(half);
      const double angle = time * std::pow(10000, -place);
      features.push_back(i < half ? std::sin(angle) : std::cos(angle));
    }
  }
  const Values hidden = activated(net.linear("time1", features, images));
  const Values embedding = activated(net.linear("time2", hidden, images));

  Images x = net.convolve("conv_in", noisy);
  std::vector<Images> kept;
  for (const std::string level : {"level0", "level1"}) {
    x = net.block(level + ".down1", x, embedding);
    kept.push_back(net.block(level + ".down2", x, embedding));
    x = net.convolve(level + ".halve", kept.back(), 2);
  }
  x = net.block("middle1", x, embedding);
  x = net.attend("attention", x);
  x = net.block("middle2", x, embedding);
  for (const std::string level : {"level1", "level0"}) {
    x = upsample_and_join(x, kept[level == "level0" ? 0 : 1]);
    x = net.block(level + ".up1", x, embedding);
    x = net.block(level + ".up2", x, embedding);
  }
  return net.convolve("conv_out", net.norm("norm_out", x, true)).at;
}

}  // namespace trainbench
