// Decoding images of files in memory.
#ifndef TENON_KERNELS_IMAGES_IMAGE_FILE_H_
#define TENON_KERNELS_IMAGES_IMAGE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace tenon::kernels {

// An image of three channels of 8 bits, red, green and blue, row by row from the top.
struct RgbImage {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> pixels;  // empty where only the size was asked for

  // Sets the size. An error for no pixels, or for more than 2^28.
  KernelStatus SetSize(int64_t new_height, int64_t new_width);
  // Makes room for the pixels, which are black.
  void MakePixels() { pixels.assign(static_cast<size_t>(height * width) * 3, 0); }
};

// What is decoded: the whole image, or its size alone.
enum class ImagePart : uint8_t { kSize, kPixels };

// Decodes the image of a file, whose first bytes tell the format. An error says what is wrong with
// the file, or which library the build lacks.
KernelStatus DecodeImageFile(std::span<const uint8_t> file, ImagePart part, RgbImage& image);

// One format each. The file begins as files of the format do.
KernelStatus DecodeBmp(std::span<const uint8_t> file, ImagePart part, RgbImage& image);
KernelStatus DecodePnm(std::span<const uint8_t> file, ImagePart part, RgbImage& image);
KernelStatus DecodeJpeg(std::span<const uint8_t> file, ImagePart part, RgbImage& image);
KernelStatus DecodeJpeg2000(std::span<const uint8_t> file, ImagePart part, RgbImage& image);
KernelStatus DecodePng(std::span<const uint8_t> file, ImagePart part, RgbImage& image);
KernelStatus DecodeTiff(std::span<const uint8_t> file, ImagePart part, RgbImage& image);
KernelStatus DecodeWebp(std::span<const uint8_t> file, ImagePart part, RgbImage& image);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_IMAGES_IMAGE_FILE_H_
