// The reference kernel of image.decode.
#include <algorithm>

#include "kernels/images/image_file.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

// The brightness of ITU-R 601, rounded as image libraries do.
uint8_t GrayOf(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

KernelStatus RunDecodeImage(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  RgbImage decoded;
  KernelStatus status = DecodeImageFile({x.as<uint8_t>(), static_cast<size_t>(x.numel())},
                                        ImagePart::kPixels, decoded);
  if (!status.ok()) return status;
  if (out.shape[0] != decoded.height || out.shape[1] != decoded.width) {
    return KernelStatus::Internal("an image of another size than was planned");
  }
  auto* to = out.as<uint8_t>();
  const auto format = args.get<image::DecodeAttrs>().format;
  for (size_t i = 0; i < decoded.pixels.size(); i += 3) {
    const uint8_t* rgb = &decoded.pixels[i];
    if (format == image::DecodeFormat::kGrayscale) {
      *to++ = GrayOf(rgb);
    } else if (format == image::DecodeFormat::kRgb) {
      to = std::copy_n(rgb, 3, to);
    } else {
      to = std::reverse_copy(rgb, rgb + 3, to);
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefDecodeImage() {
  return {.op = "image.decode", .name = "ref.decode_image", .run = RunDecodeImage};
}

}  // namespace tenon::kernels
