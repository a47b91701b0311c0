// Images of files: each format, and files that are cut or changed.
#include "kernels/images/image_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace tenon::kernels {
namespace {

using ::testing::HasSubstr;

// Two by two pixels: red, green; blue, white. As hexadecimal digits.
constexpr std::string_view kBmp =
    "424d460000000000000036000000280000000200000002000000010018000000000010000000c40e0000c40e"
    "00000000000000000000ff0000ffffff00000000ff00ff000000";
constexpr std::string_view kJpeg =
    "ffd8ffe000104a46494600010100000100010000ffdb00430002010101010102010101020202020204030202"
    "02020504040304060506060605060606070908060709070606080b08090a0a0a0a0a06080b0c0b0a0c090a0a"
    "0affdb004301020202020202050303050a0706070a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
    "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0affc000110800020002030111000211010311"
    "01ffc4001f0000010501010101010100000000000000000102030405060708090a0bffc400b5100002010303"
    "020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f024"
    "33627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a63646566"
    "6768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7"
    "b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffc400"
    "1f0100030101010101010101010000000000000102030405060708090a0bffc400b511000201020404030407"
    "05040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a"
    "162434e125f11718191a262728292a35363738393a434445464748494a535455565758595a63646566676869"
    "6a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9"
    "bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9faffda000c030100"
    "02110311003f00fd60ff0082707c08f81fe25ff8278fc05f11788be0d785350d4350f82fe16b9bfbfbdf0edb"
    "4b35cccfa4dab3c923b2167766258b124924935e878a3e1ef00e17c4ccee850ca70d08431989518aa1492495"
    "69a49250b2496892d123e3f11c17c1d9fd79e6799e5b87af89aedd4ab56a51a73a952a4df34ea549ca2e539c"
    "e4dca739372949b6db6cffd9";
constexpr std::string_view kJpeg2000 =
    "0000000c6a5020200d0a870a00000014667479706a703220000000006a7032200000002d6a70326800000016"
    "6968647200000002000000020003070700000000000f636f6c7201000000000010000000996a703263ff4fff"
    "51002f0000000000020000000200000000000000000000000200000002000000000000000000030701010701"
    "01070101ff52000c00000001000104040001ff5c00074040484850ff64002500014372656174656420627920"
    "4f70656e4a5045472076657273696f6e20322e352e34ff90000a00000000001e0001ff9380808093f30200df"
    "cfc00400a7e00200ffd9";
constexpr std::string_view kPng =
    "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a730000001649444154789c63"
    "f8cfc0c0f09f819181e1ffffff0c001ef604fd09ed343e0000000049454e44ae426082";
constexpr std::string_view kPnm = "50360a3220320a3235350aff000000ff000000ffffffff";
constexpr std::string_view kTiff =
    "49492a00080000000a0000010400010000000200000001010400010000000200000002010300030000008600"
    "000003010300010000000100000006010300010000000200000011010400010000008c000000150103000100"
    "00000300000016010400010000000200000017010400010000000c0000001c01030001000000010000000000"
    "0000080008000800ff000000ff000000ffffffff";
constexpr std::string_view kWebp =
    "524946462c000000574542505650384c1f0000002f014000001f201048de1f3a8df9171014fc1fddfc47640f"
    "e0060c11fd0f0100";

struct ImageCase {
  std::string_view name, digits;
  int error;  // of a channel
};

constexpr ImageCase kImages[] = {
    {"BMP", kBmp, 0}, {"JPEG", kJpeg, 40}, {"JPEG 2000", kJpeg2000, 0}, {"PNG", kPng, 0},
    {"PNM", kPnm, 0}, {"TIFF", kTiff, 0},  {"WebP", kWebp, 0},
};

std::vector<uint8_t> BytesOfDigits(std::string_view digits) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// Decodes both parts. They agree in whether the size can be read.
KernelStatus DecodeBoth(std::span<const uint8_t> file, RgbImage& image) {
  RgbImage size;
  KernelStatus of_size = DecodeImageFile(file, ImagePart::kSize, size);
  KernelStatus of_pixels = DecodeImageFile(file, ImagePart::kPixels, image);
  if (of_pixels.ok()) {
    EXPECT_TRUE(of_size.ok()) << of_size.message();
    EXPECT_EQ(size.height, image.height);
    EXPECT_EQ(size.width, image.width);
    EXPECT_EQ(image.pixels.size(), static_cast<size_t>(image.height * image.width) * 3);
  }
  return of_pixels;
}

TEST(ImageFiles, EachFormat) {
  constexpr uint8_t kPixels[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255};
  for (const ImageCase& c : kImages) {
    RgbImage image;
    const KernelStatus status = DecodeBoth(BytesOfDigits(c.digits), image);
    if (status.code() == KernelStatus::Code::kUnsupported) continue;  // a build without the library
    ASSERT_TRUE(status.ok()) << c.name << ": " << status.message();
    ASSERT_EQ(image.height, 2) << c.name;
    ASSERT_EQ(image.width, 2) << c.name;
    for (size_t i = 0; i < std::size(kPixels); ++i) {
      EXPECT_LE(std::abs(image.pixels[i] - kPixels[i]), c.error) << c.name << " at " << i;
    }
  }
}

TEST(ImageFiles, CutAndChangedFilesEndInErrorsOrImages) {
  for (const ImageCase& c : kImages) {
    const std::vector<uint8_t> file = BytesOfDigits(c.digits);
    for (size_t size = 0; size < file.size(); ++size) {
      RgbImage image;
      // A copy of its own, so that a sanitizer sees its end.
      const std::vector<uint8_t> cut(file.begin(),
                                     file.begin() + static_cast<std::ptrdiff_t>(size));
      (void)DecodeBoth(cut, image);
    }
    for (size_t at = 0; at < file.size(); ++at) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::vector<uint8_t> changed = file;
        changed[at] = static_cast<uint8_t>(changed[at] ^ change);
        RgbImage image;
        RgbImage size;
        // Large sizes are asked for, and only their pixels would take memory.
        if (!DecodeImageFile(changed, ImagePart::kSize, size).ok()) continue;
        if (size.height * size.width < 1 << 20) (void)DecodeBoth(changed, image);
      }
    }
  }
}

TEST(ImageFiles, WhatIsWrong) {
  const auto error = [](std::string_view text) {
    RgbImage image;
    const std::vector<uint8_t> file(text.begin(), text.end());
    return std::string(DecodeImageFile(file, ImagePart::kPixels, image).message());
  };
  EXPECT_THAT(error("GIF89a"), HasSubstr("no image of a known format"));
  EXPECT_THAT(error("P5 99999 99999 255 "), HasSubstr("(expected 1 to 2^28)"));
  EXPECT_THAT(error("P5 9999 9999 255 "), HasSubstr("ends in its pixels"));
  EXPECT_THAT(error("P5 0 1 255 "), HasSubstr("(expected 1 to 2^28)"));
  EXPECT_THAT(error("P5 1 1 70000 a"), HasSubstr("(expected 1 to 65535)"));
  EXPECT_THAT(error("P2 1 1 9 10"), HasSubstr("missing or wrong sample"));
  EXPECT_THAT(error("BM"), HasSubstr("ends in its header"));
}

}  // namespace
}  // namespace tenon::kernels
