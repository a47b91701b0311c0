// The formats of images, and those that need no library: BMP and PNM.
#include "kernels/images/image_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>

namespace tenon::kernels {
namespace {

using ImageBytes = std::span<const uint8_t>;

constexpr int64_t kMaxPixels = int64_t{1} << 28;

bool BeginsWith(ImageBytes file, std::string_view magic, size_t at = 0) {
  return file.size() >= at + magic.size() &&
         std::equal(magic.begin(), magic.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

struct ImageFormat {
  std::string_view magic;
  KernelStatus (*decode)(ImageBytes file, ImagePart part, RgbImage& image);
};

constexpr std::string_view kJp2("\0\0\0\x0cjP  \r\n\x87\n", 12);

constexpr std::array<ImageFormat, 14> kImageFormats = {{
    {"BM", DecodeBmp},
    {"\xff\xd8\xff", DecodeJpeg},
    {kJp2, DecodeJpeg2000},
    {"\xff\x4f\xff\x51", DecodeJpeg2000},
    {"\x89PNG\r\n\x1a\n", DecodePng},
    {std::string_view("II*\0", 4), DecodeTiff},
    {std::string_view("MM\0*", 4), DecodeTiff},
    {"P1", DecodePnm},
    {"P2", DecodePnm},
    {"P3", DecodePnm},
    {"P4", DecodePnm},
    {"P5", DecodePnm},
    {"P6", DecodePnm},
    {"RIFF", DecodeWebp},
}};

KernelStatus WrongBmp(std::string_view what) {
  return KernelStatus::Invalid("the BMP file " + std::string(what) + " (expected a whole image)");
}

// A little-endian number of a BMP file, whose bytes are there.
uint32_t NumberAt(ImageBytes file, size_t at, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | file[at + i];
  return value;
}

// A channel of a pixel of 16 or 32 bits.
uint8_t MaskedChannel(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const uint64_t most = mask >> shift;
  return static_cast<uint8_t>((uint64_t{(pixel & mask) >> shift} * 255 + most / 2) / most);
}

struct BmpHeader {
  size_t pixels = 0, palette = 0;  // where they begin
  size_t colors = 0, entry = 4;    // of the palette: how many, and bytes of each
  int64_t bits = 0;
  bool from_top = false;
  std::array<uint32_t, 3> masks = {};  // of pixels of 16 and 32 bits
};

KernelStatus ReadBmpHeader(ImageBytes file, BmpHeader& header, RgbImage& image) {
  if (file.size() < 26) return WrongBmp("ends in its header");
  const size_t size = NumberAt(file, 14, 4);
  const bool old = size == 12;
  if ((!old && size < 40) || size > file.size() - 14) return WrongBmp("has a wrong header");
  int64_t width = 0, height = 0;
  uint32_t compression = 0, colors = 0;
  if (old) {
    width = NumberAt(file, 18, 2);
    height = NumberAt(file, 20, 2);
    header.bits = NumberAt(file, 24, 2);
    header.entry = 3;
  } else {
    width = static_cast<int32_t>(NumberAt(file, 18, 4));
    height = static_cast<int32_t>(NumberAt(file, 22, 4));
    header.bits = NumberAt(file, 28, 2);
    compression = NumberAt(file, 30, 4);
    colors = NumberAt(file, 46, 4);
  }
  header.pixels = NumberAt(file, 10, 4);
  header.palette = 14 + size;
  if (header.pixels < header.palette) return WrongBmp("has its pixels inside of its header");
  header.from_top = height < 0;
  if (KernelStatus status = image.SetSize(height < 0 ? -height : height, width); !status.ok()) {
    return status;
  }
  const bool masked = (compression == 3 || compression == 6) && !old;
  if (compression != 0 && !masked)
    return KernelStatus::Unsupported("a BMP file is compressed (expected none)");
  header.masks = header.bits == 16 ? std::array<uint32_t, 3>{0x7c00, 0x3e0, 0x1f}
                                   : std::array<uint32_t, 3>{0xff0000, 0xff00, 0xff};
  if (masked) {
    // The masks follow a header of 40 bytes, and are a part of longer ones: the same place.
    if (file.size() < 66) return WrongBmp("ends in its header");
    for (size_t i = 0; i < 3; ++i) header.masks[i] = NumberAt(file, 54 + 4 * i, 4);
  }
  switch (header.bits) {
    case 1:
    case 4:
    case 8:
      header.colors = std::min<size_t>(colors == 0 ? 256 : colors, size_t{1} << header.bits);
      if (header.colors * header.entry > file.size() - header.palette) {
        header.colors = (file.size() - header.palette) / header.entry;
      }
      return KernelStatus::Ok();
    case 16:
    case 24:
    case 32:
      return KernelStatus::Ok();
    default:
      return KernelStatus::Invalid("the BMP file has " + std::to_string(header.bits) +
                                   " bits for a pixel (expected 1, 4, 8, 16, 24 or 32)");
  }
}

// Sets the pixel at `to` to color `index` of the palette.
bool TakeColor(ImageBytes file, const BmpHeader& header, size_t index, uint8_t* to) {
  if (index >= header.colors) return false;
  const size_t at = header.palette + index * header.entry;
  for (size_t i = 0; i < 3; ++i) to[i] = file[at + 2 - i];
  return true;
}

// The numbers of a PNM file.
class PnmReader {
 public:
  explicit PnmReader(ImageBytes file) : file_(file) {}

  // Reads a number behind blanks and comments; -1 without one.
  int64_t Number() {
    SkipBlanks();
    int64_t value = -1;
    while (at_ < file_.size() && file_[at_] >= '0' && file_[at_] <= '9' && value < kMaxPixels) {
      value = std::max<int64_t>(value, 0) * 10 + (file_[at_++] - '0');
    }
    return value;
  }
  // A digit of P1, whose digits need no blanks between them; -1 without one.
  int64_t Digit() {
    SkipBlanks();
    return at_ < file_.size() && (file_[at_] == '0' || file_[at_] == '1') ? file_[at_++] - '0' : -1;
  }
  // The bytes behind one blank.
  ImageBytes Rest() { return file_.subspan(std::min(at_ + 1, file_.size())); }

 private:
  void SkipBlanks() {
    for (; at_ < file_.size(); ++at_) {
      if (file_[at_] == '#') {
        while (at_ < file_.size() && file_[at_] != '\n') ++at_;
        if (at_ == file_.size()) return;
      } else if (file_[at_] != ' ' && (file_[at_] < '\t' || file_[at_] > '\r')) {
        return;
      }
    }
  }

  ImageBytes file_;
  size_t at_ = 2;
};

// The samples of a PNM file, one after the other.
class PnmSamples {
 public:
  PnmSamples(PnmReader& reader, char kind, int64_t most, int64_t width)
      : reader_(reader), kind_(kind), most_(most), width_(width), rest_(reader.Rest()) {}

  // Returns the next sample, 0 to 255; -1 if there is none.
  int64_t Next() {
    int64_t value = -1;
    if (kind_ == '1') {
      value = reader_.Digit();
    } else if (kind_ == '2' || kind_ == '3') {
      value = reader_.Number();
    } else if (kind_ == '4') {
      const auto byte = static_cast<size_t>(row_ * ((width_ + 7) / 8) + column_ / 8);
      if (byte < rest_.size()) value = rest_[byte] >> (7 - column_ % 8) & 1;
      if (++column_ == width_) {
        column_ = 0;
        ++row_;
      }
    } else if (most_ < 256) {
      if (at_ < rest_.size()) value = rest_[at_++];
    } else if (at_ + 1 < rest_.size()) {
      value = rest_[at_] << 8 | rest_[at_ + 1];
      at_ += 2;
    }
    if (value < 0 || value > most_) return -1;
    // Ones are black in bit maps.
    if (kind_ == '1' || kind_ == '4') return value == 0 ? 255 : 0;
    return (value * 255 + most_ / 2) / most_;
  }

 private:
  PnmReader& reader_;
  char kind_;
  int64_t most_, width_, row_ = 0, column_ = 0;
  ImageBytes rest_;
  size_t at_ = 0;
};

}  // namespace

KernelStatus RgbImage::SetSize(int64_t new_height, int64_t new_width) {
  if (new_height <= 0 || new_width <= 0 || new_height > kMaxPixels / new_width) {
    return KernelStatus::Invalid("the image has " + std::to_string(new_height) + " x " +
                                 std::to_string(new_width) + " pixels (expected 1 to 2^28)");
  }
  height = new_height;
  width = new_width;
  return KernelStatus::Ok();
}

KernelStatus DecodeImageFile(ImageBytes file, ImagePart part, RgbImage& image) {
  for (const ImageFormat& format : kImageFormats) {
    if (BeginsWith(file, format.magic)) return format.decode(file, part, image);
  }
  return KernelStatus::Invalid(
      "the bytes are no image of a known format (expected BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or "
      "WebP)");
}

KernelStatus DecodeBmp(ImageBytes file, ImagePart part, RgbImage& image) {
  BmpHeader header;
  if (KernelStatus status = ReadBmpHeader(file, header, image); !status.ok()) return status;
  if (part == ImagePart::kSize) return KernelStatus::Ok();
  const auto width = static_cast<size_t>(image.width), height = static_cast<size_t>(image.height);
  const auto bits = static_cast<size_t>(header.bits);
  const size_t stride = (width * bits + 31) / 32 * 4;
  if (header.pixels > file.size() || stride * height > file.size() - header.pixels) {
    return WrongBmp("ends in its pixels");
  }
  image.MakePixels();
  for (size_t y = 0; y < height; ++y) {
    const size_t row = header.pixels + (header.from_top ? y : height - 1 - y) * stride;
    uint8_t* to = image.pixels.data() + y * width * 3;
    for (size_t x = 0; x < width; ++x, to += 3) {
      if (bits <= 8) {
        const size_t bit = x * bits;
        const size_t index =
            file[row + bit / 8] >> (8 - bits - bit % 8) & ((size_t{1} << bits) - 1);
        if (!TakeColor(file, header, index, to)) return WrongBmp("has a color outside its palette");
        continue;
      }
      const uint32_t pixel = NumberAt(file, row + x * bits / 8, bits / 8);
      for (size_t i = 0; i < 3; ++i) to[i] = MaskedChannel(pixel, header.masks[i]);
    }
  }
  return KernelStatus::Ok();
}

KernelStatus DecodePnm(ImageBytes file, ImagePart part, RgbImage& image) {
  PnmReader reader(file);
  const char kind = static_cast<char>(file[1]);
  const int64_t width = reader.Number(), height = reader.Number();
  if (KernelStatus status = image.SetSize(height, width); !status.ok()) return status;
  const bool bitmap = kind == '1' || kind == '4';
  const int64_t most = bitmap ? 1 : reader.Number();
  if (most < 1 || most > 65535) {
    return KernelStatus::Invalid("the PNM file has samples up to " + std::to_string(most) +
                                 " (expected 1 to 65535)");
  }
  if (part == ImagePart::kSize) return KernelStatus::Ok();
  // Each sample takes a bit at least, so that a short file cannot ask for much memory.
  if (width * height / 8 > static_cast<int64_t>(file.size())) {
    return KernelStatus::Invalid("the PNM file ends in its pixels (expected a whole image)");
  }
  image.MakePixels();
  PnmSamples samples(reader, kind, most, width);
  const bool color = kind == '3' || kind == '6';
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    for (size_t channel = 0; channel < 3; ++channel) {
      if (channel > 0 && !color) {
        image.pixels[i + channel] = image.pixels[i];
        continue;
      }
      const int64_t sample = samples.Next();
      if (sample < 0) {
        return KernelStatus::Invalid("the PNM file has a missing or wrong sample (expected 0 to " +
                                     std::to_string(most) + ")");
      }
      image.pixels[i + channel] = static_cast<uint8_t>(sample);
    }
  }
  return KernelStatus::Ok();
}

}  // namespace tenon::kernels
