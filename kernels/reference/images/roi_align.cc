// Reference kernel of RoiAlign: means or maxima of samples of regions.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/checked_index.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// Coordinates beyond are refused: there the positions of samples are no longer distinct.
constexpr double kFarthest = 0x1p31;

// A sample along one axis: two elements and their weights.
struct Tap {
  int64_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;
};

// The samples of an element of the result along one axis. Those outside of the image are zeros.
struct Samples {
  std::vector<Tap> inside;
  double count = 0;  // with those outside
};

Tap TapAt(double at, int64_t extent) {
  at = std::max(at, 0.0);
  const auto low = static_cast<int64_t>(at);
  if (low >= extent - 1) return {extent - 1, extent - 1, 1, 0};
  const double rest = at - static_cast<double>(low);
  return {low, low + 1, 1 - rest, rest};
}

// The samples of element `element` of `elements` into which the region [begin, end) is cut.
Samples SamplesOf(double begin, double end, int64_t element, int64_t elements, int64_t ratio,
                  int64_t extent) {
  const double size = (end - begin) / static_cast<double>(elements);
  Samples samples;
  samples.count = ratio > 0 ? static_cast<double>(ratio) : std::max(std::ceil(size), 0.0);
  if (samples.count == 0) return samples;
  const double step = size / samples.count;
  const double first = begin + static_cast<double>(element) * size + step / 2;
  const auto last = static_cast<double>(extent);
  // Only those in [-1, extent] are not outside; a long region has many others.
  double from = 0, to = samples.count - 1;
  if (step > 0) {
    from = std::max(from, std::floor((-1 - first) / step));
    to = std::min(to, std::ceil((last - first) / step));
  }
  for (double i = from; i <= to; ++i) {
    const double at = first + i * step;
    if (at >= -1 && at <= last) samples.inside.push_back(TapAt(at, extent));
  }
  return samples;
}

template <typename T>
class Aligner {
 public:
  explicit Aligner(const RunArgs& args)
      : attrs_(args.get<nn::RoiAlignAttrs>()),
        x_(args.inputs[0]),
        rois_(args.inputs[1]),
        images_(args.inputs[2]),
        out_(args.outputs[0]) {}

  KernelStatus Run() {
    if (out_.numel() > 0 && x_.shape[2] * x_.shape[3] == 0) {
      return KernelStatus::Invalid(
          "an empty plane cannot be sampled (expected one or more elements)");
    }
    for (int64_t region = 0; region < out_.shape[0]; ++region) {
      if (KernelStatus status = RunRegion(region); !status.ok()) return status;
    }
    return KernelStatus::Ok();
  }

 private:
  KernelStatus RunRegion(int64_t region) {
    int64_t image = IndexAt(images_, region);
    if (image < 0 || image >= x_.shape[0]) {
      return KernelStatus::Invalid("image " + std::to_string(image) + " of region " +
                                   std::to_string(region) + " is out of range for a batch of " +
                                   std::to_string(x_.shape[0]) +
                                   ExpectedRange<int64_t>(0, x_.shape[0] - 1));
    }
    double corners[4];  // left, top, right, bottom
    for (int64_t i = 0; i < 4; ++i) {
      const double at = DoubleAt(rois_, region * 4 + i) * static_cast<double>(attrs_.spatial_scale);
      if (!(std::fabs(at) <= kFarthest)) {
        return KernelStatus::Invalid("a corner of region " + std::to_string(region) + " lies at " +
                                     std::to_string(at) + " (expected -2^31 to 2^31)");
      }
      corners[i] = attrs_.half_pixel ? at - 0.5 : at;
    }
    if (!attrs_.half_pixel) {
      corners[2] = std::max(corners[2], corners[0] + 1);
      corners[3] = std::max(corners[3], corners[1] + 1);
    }
    const int64_t channels = x_.shape[1], plane = x_.shape[2] * x_.shape[3];
    const int64_t height = out_.shape[2], width = out_.shape[3];
    T* to = out_.as<T>() + region * channels * height * width;
    for (int64_t i = 0; i < height; ++i) {
      const Samples rows =
          SamplesOf(corners[1], corners[3], i, height, attrs_.sampling_ratio, x_.shape[2]);
      for (int64_t k = 0; k < width; ++k) {
        const Samples columns =
            SamplesOf(corners[0], corners[2], k, width, attrs_.sampling_ratio, x_.shape[3]);
        for (int64_t c = 0; c < channels; ++c) {
          const T* from = x_.as<T>() + (image * channels + c) * plane;
          to[(c * height + i) * width + k] = static_cast<T>(Element(from, rows, columns));
        }
      }
    }
    return KernelStatus::Ok();
  }

  double Element(const T* image, const Samples& rows, const Samples& columns) const {
    const bool max = attrs_.mode == nn::RoiAlignMode::kMax;
    const double count = rows.count * columns.count;
    const auto inside =
        static_cast<double>(rows.inside.size()) * static_cast<double>(columns.inside.size());
    double sum = 0;
    bool any = count > inside;  // zeros, then
    const auto read = [&](int64_t row, int64_t column) {
      return static_cast<double>(static_cast<Compute<T>>(image[row * x_.shape[3] + column]));
    };
    for (const Tap& y : rows.inside) {
      for (const Tap& x : columns.inside) {
        const double corners[] = {y.low_weight * x.low_weight * read(y.low, x.low),
                                  y.low_weight * x.high_weight * read(y.low, x.high),
                                  y.high_weight * x.low_weight * read(y.high, x.low),
                                  y.high_weight * x.high_weight * read(y.high, x.high)};
        if (!max) {
          sum += corners[0] + corners[1] + corners[2] + corners[3];
          continue;
        }
        for (double corner : corners) {
          if (!any || corner > sum) sum = corner;
          any = true;
        }
      }
    }
    return max ? sum : sum / std::max(count, 1.0);
  }

  const nn::RoiAlignAttrs& attrs_;
  const TensorView &x_, &rois_, &images_, &out_;
};

}  // namespace

Kernel RefRoiAlign() {
  return {.op = "nn.roi_align", .name = "ref.roi_align", .run = [](const RunArgs& args) {
            return DispatchFloat(args.inputs[0].dtype, [&](auto tag) {
              return Aligner<typename decltype(tag)::type>(args).Run();
            });
          }};
}

}  // namespace tenon::kernels
