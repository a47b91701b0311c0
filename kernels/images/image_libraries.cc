// Formats of images that libraries of the system decode. Each is left out of a build without its
// library.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "kernels/images/image_file.h"

#ifdef TENON_HAVE_JPEG
#include <csetjmp>
// Need <cstdio> before them.
#include <jpeglib.h>
//
#include <jerror.h>
#endif
#ifdef TENON_HAVE_PNG
#include <png.h>
#endif
#ifdef TENON_HAVE_WEBP
#include <webp/decode.h>
#endif
#ifdef TENON_HAVE_TIFF
#include <tiffio.h>
#endif
#ifdef TENON_HAVE_OPENJPEG
#include <openjpeg-2.5/openjpeg.h>
#endif

namespace tenon::kernels {
namespace {

// What decoders get, and what they say.
struct ImageSource {
  std::span<const uint8_t> file;
  size_t at = 0;
  std::string error{};

  // Copies bytes and moves on; fewer at the end of the file.
  size_t Take(void* to, size_t count) {
    count = std::min(count, file.size() - std::min(at, file.size()));
    if (count > 0) std::memcpy(to, file.data() + at, count);
    at += count;
    return count;
  }
};

[[maybe_unused]] KernelStatus WrongImage(std::string_view format, const std::string& what) {
  return KernelStatus::Invalid("the " + std::string(format) +
                               " file is wrong: " + (what.empty() ? "it cannot be read" : what) +
                               " (expected a whole image)");
}

[[maybe_unused]] KernelStatus NoLibrary(std::string_view format, std::string_view package) {
  return KernelStatus::Unsupported("this build reads no " + std::string(format) + " (expected " +
                                   std::string(package) + " where it is built)");
}

#ifdef TENON_HAVE_JPEG

// The library reports errors by a call that must not return.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  std::array<char, JMSG_LENGTH_MAX> message;
};

void OnJpegError(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  (*jpeg->err->format_message)(jpeg, errors->message.data());
  std::longjmp(errors->back, 1);
}
void OnJpegMessage(j_common_ptr /*jpeg*/) {}
// Level -1 is a warning that pixels are damaged, other levels are traces. Bytes between markers
// that belong to none do no harm.
void OnJpegWarning(j_common_ptr jpeg, int level) {
  if (level < 0 && jpeg->err->msg_code != JWRN_EXTRANEOUS_DATA) OnJpegError(jpeg);
}

// Reads the header, and the pixels where `pixels` is not null. Has no object with a destructor,
// because longjmp passes it.
bool ReadJpeg(jpeg_decompress_struct& jpeg, JpegErrors& errors, std::span<const uint8_t> file,
              RgbImage* pixels) {
  if (setjmp(errors.back) != 0) return false;
  if (pixels == nullptr) {
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, file.data(), file.size());
    jpeg_read_header(&jpeg, TRUE);
    return true;
  }
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels->pixels.data() + size_t{jpeg.output_scanline} * jpeg.output_width * 3;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  return true;
}

#endif

#ifdef TENON_HAVE_PNG

void OnPngError(png_structp png, png_const_charp message) {
  static_cast<ImageSource*>(png_get_error_ptr(png))->error = message;
  png_longjmp(png, 1);
}
void OnPngWarning(png_structp /*png*/, png_const_charp /*message*/) {}
void ReadPngBytes(png_structp png, png_bytep to, size_t count) {
  if (static_cast<ImageSource*>(png_get_io_ptr(png))->Take(to, count) != count) {
    png_error(png, "it ends too early");
  }
}

// As ReadJpeg.
bool ReadPng(png_structp png, png_infop info, ImageSource& source, RgbImage* pixels) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  if (pixels == nullptr) {
    png_set_read_fn(png, &source, ReadPngBytes);
    png_read_info(png, info);
    return true;
  }
  png_set_scale_16(png);
  png_set_expand(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != static_cast<size_t>(pixels->width) * 3) {
    png_error(png, "it has other channels than color and transparency");
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < pixels->height; ++y) {
      png_read_row(png, pixels->pixels.data() + y * pixels->width * 3, nullptr);
    }
  }
  return true;
}

#endif

#ifdef TENON_HAVE_TIFF

ImageSource& SourceOf(thandle_t handle) { return *static_cast<ImageSource*>(handle); }

tmsize_t ReadTiffBytes(thandle_t handle, void* to, tmsize_t count) {
  return static_cast<tmsize_t>(SourceOf(handle).Take(to, static_cast<size_t>(count)));
}
tmsize_t WriteTiffBytes(thandle_t, void*, tmsize_t) { return -1; }
toff_t SeekTiff(thandle_t handle, toff_t offset, int whence) {
  ImageSource& source = SourceOf(handle);
  const toff_t base = whence == SEEK_CUR ? source.at : whence == SEEK_END ? source.file.size() : 0;
  source.at = static_cast<size_t>(base + offset);
  return source.at;
}
int CloseTiff(thandle_t) { return 0; }
toff_t SizeOfTiff(thandle_t handle) { return SourceOf(handle).file.size(); }
int OnTiffError(TIFF*, void* source, const char* /*module*/, const char* format, va_list values) {
  std::array<char, 256> message;
  std::vsnprintf(message.data(), message.size(), format, values);
  static_cast<ImageSource*>(source)->error = message.data();
  return 1;
}
int OnTiffWarning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

#endif

#ifdef TENON_HAVE_OPENJPEG

OPJ_SIZE_T ReadJpeg2000Bytes(void* to, OPJ_SIZE_T count, void* source) {
  const size_t taken = static_cast<ImageSource*>(source)->Take(to, count);
  return taken == 0 ? static_cast<OPJ_SIZE_T>(-1) : taken;
}
OPJ_OFF_T SkipJpeg2000Bytes(OPJ_OFF_T count, void* source) {
  auto* from = static_cast<ImageSource*>(source);
  const auto left = static_cast<OPJ_OFF_T>(from->file.size() - from->at);
  if (count < 0 || left == 0) return -1;
  from->at += static_cast<size_t>(std::min(count, left));
  return std::min(count, left);
}
OPJ_BOOL SeekJpeg2000(OPJ_OFF_T to, void* source) {
  auto* from = static_cast<ImageSource*>(source);
  if (to < 0 || to > static_cast<OPJ_OFF_T>(from->file.size())) return OPJ_FALSE;
  from->at = static_cast<size_t>(to);
  return OPJ_TRUE;
}
void OnJpeg2000Error(const char* message, void* source) {
  std::string& error = static_cast<ImageSource*>(source)->error;
  error = message;
  while (!error.empty() && error.back() == '\n') error.pop_back();
}

// A component as 8 bits.
uint8_t SampleOf(const opj_image_comp_t& component, size_t at) {
  int64_t value = component.data[at];
  if (component.sgnd != 0) value += int64_t{1} << (component.prec - 1);
  const int64_t most = (int64_t{1} << component.prec) - 1;
  return static_cast<uint8_t>((std::clamp<int64_t>(value, 0, most) * 255 + most / 2) / most);
}

KernelStatus TakeJpeg2000(const opj_image_t& decoded, RgbImage& image) {
  const size_t colors = decoded.numcomps >= 3 ? 3 : 1;
  for (size_t i = 0; i < colors; ++i) {
    const opj_image_comp_t& component = decoded.comps[i];
    if (component.data == nullptr || component.w != static_cast<OPJ_UINT32>(image.width) ||
        component.h != static_cast<OPJ_UINT32>(image.height) || component.prec < 1 ||
        component.prec > 31) {
      return WrongImage("JPEG 2000", "its components have different sizes");
    }
  }
  if (decoded.color_space != OPJ_CLRSPC_SRGB && decoded.color_space != OPJ_CLRSPC_GRAY &&
      decoded.color_space != OPJ_CLRSPC_UNSPECIFIED && decoded.color_space != OPJ_CLRSPC_UNKNOWN) {
    return KernelStatus::Unsupported("the JPEG 2000 file has no colors of RGB (expected them)");
  }
  image.MakePixels();
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = SampleOf(decoded.comps[colors == 3 ? i % 3 : 0], i / 3);
  }
  return KernelStatus::Ok();
}

#endif

}  // namespace

KernelStatus DecodeJpeg([[maybe_unused]] std::span<const uint8_t> file,
                        [[maybe_unused]] ImagePart part, [[maybe_unused]] RgbImage& image) {
#ifdef TENON_HAVE_JPEG
  jpeg_decompress_struct jpeg = {};
  JpegErrors errors = {};
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = OnJpegError;
  errors.manager.output_message = OnJpegMessage;
  errors.manager.emit_message = OnJpegWarning;
  KernelStatus status;
  bool read = ReadJpeg(jpeg, errors, file, nullptr);
  if (read) status = image.SetSize(jpeg.image_height, jpeg.image_width);
  if (read && status.ok() && part == ImagePart::kPixels) {
    image.MakePixels();
    read = ReadJpeg(jpeg, errors, file, &image);
  }
  jpeg_destroy_decompress(&jpeg);
  return read ? std::move(status) : WrongImage("JPEG", errors.message.data());
#else
  return NoLibrary("JPEG", "libjpeg-dev");
#endif
}

KernelStatus DecodePng([[maybe_unused]] std::span<const uint8_t> file,
                       [[maybe_unused]] ImagePart part, [[maybe_unused]] RgbImage& image) {
#ifdef TENON_HAVE_PNG
  ImageSource source{.file = file};
  png_structp png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, OnPngError, OnPngWarning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) {
    png_destroy_read_struct(&png, nullptr, nullptr);
    return KernelStatus::OutOfMemory("no memory to read a PNG file");
  }
  KernelStatus status;
  bool read = ReadPng(png, info, source, nullptr);
  if (read) status = image.SetSize(png_get_image_height(png, info), png_get_image_width(png, info));
  if (read && status.ok() && part == ImagePart::kPixels) {
    image.MakePixels();
    read = ReadPng(png, info, source, &image);
  }
  png_destroy_read_struct(&png, &info, nullptr);
  return read ? std::move(status) : WrongImage("PNG", source.error);
#else
  return NoLibrary("PNG", "libpng-dev");
#endif
}

KernelStatus DecodeWebp([[maybe_unused]] std::span<const uint8_t> file,
                        [[maybe_unused]] ImagePart part, [[maybe_unused]] RgbImage& image) {
#ifdef TENON_HAVE_WEBP
  int width = 0, height = 0;
  if (WebPGetInfo(file.data(), file.size(), &width, &height) == 0) return WrongImage("WebP", "");
  if (KernelStatus status = image.SetSize(height, width); !status.ok()) return status;
  if (part == ImagePart::kSize) return KernelStatus::Ok();
  image.MakePixels();
  const bool read = WebPDecodeRGBInto(file.data(), file.size(), image.pixels.data(),
                                      image.pixels.size(), 3 * width) != nullptr;
  return read ? KernelStatus::Ok() : WrongImage("WebP", "");
#else
  return NoLibrary("WebP", "libwebp-dev");
#endif
}

KernelStatus DecodeTiff([[maybe_unused]] std::span<const uint8_t> file,
                        [[maybe_unused]] ImagePart part, [[maybe_unused]] RgbImage& image) {
#ifdef TENON_HAVE_TIFF
  ImageSource source{.file = file};
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options, OnTiffError, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options, OnTiffWarning, nullptr);
  // "m": not mapped.
  TIFF* tiff = TIFFClientOpenExt("image", "rm", &source, ReadTiffBytes, WriteTiffBytes, SeekTiff,
                                 CloseTiff, SizeOfTiff, nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
  if (tiff == nullptr) return WrongImage("TIFF", source.error);
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
  KernelStatus status = image.SetSize(height, width);
  if (status.ok() && part == ImagePart::kPixels) {
    // As stored: colors are not multiplied by their transparency, and no tag turns the image.
    uint16_t extra_count = 0;
    const uint16_t* extra = nullptr;
    TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extra_count, &extra);
    if (extra_count > 0 && extra[0] == EXTRASAMPLE_UNASSALPHA) {
      std::vector<uint16_t> kinds(extra, extra + extra_count);
      kinds[0] = EXTRASAMPLE_ASSOCALPHA;
      TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, extra_count, kinds.data());
    }
    TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    std::vector<uint32_t> pixels(static_cast<size_t>(image.height * image.width));
    if (TIFFReadRGBAImageOriented(tiff, width, height, pixels.data(), ORIENTATION_TOPLEFT, 1) ==
        0) {
      status = WrongImage("TIFF", source.error);
    } else {
      image.MakePixels();
      for (size_t i = 0; i < pixels.size(); ++i) {
        image.pixels[3 * i] = static_cast<uint8_t>(TIFFGetR(pixels[i]));
        image.pixels[3 * i + 1] = static_cast<uint8_t>(TIFFGetG(pixels[i]));
        image.pixels[3 * i + 2] = static_cast<uint8_t>(TIFFGetB(pixels[i]));
      }
    }
  }
  TIFFClose(tiff);
  return status;
#else
  return NoLibrary("TIFF", "libtiff-dev");
#endif
}

KernelStatus DecodeJpeg2000([[maybe_unused]] std::span<const uint8_t> file,
                            [[maybe_unused]] ImagePart part, [[maybe_unused]] RgbImage& image) {
#ifdef TENON_HAVE_OPENJPEG
  ImageSource source{.file = file};
  opj_codec_t* codec = opj_create_decompress(file[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  opj_stream_t* stream = opj_stream_default_create(OPJ_TRUE);
  opj_set_error_handler(codec, OnJpeg2000Error, &source);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_stream_set_user_data(stream, &source, nullptr);
  opj_stream_set_user_data_length(stream, file.size());
  opj_stream_set_read_function(stream, ReadJpeg2000Bytes);
  opj_stream_set_skip_function(stream, SkipJpeg2000Bytes);
  opj_stream_set_seek_function(stream, SeekJpeg2000);
  opj_image_t* decoded = nullptr;
  KernelStatus status;
  bool read = opj_setup_decoder(codec, &parameters) == OPJ_TRUE &&
              opj_read_header(stream, codec, &decoded) == OPJ_TRUE;
  if (read) {
    status = image.SetSize(int64_t{decoded->y1} - decoded->y0, int64_t{decoded->x1} - decoded->x0);
  }
  if (read && status.ok() && part == ImagePart::kPixels) {
    read = opj_decode(codec, stream, decoded) == OPJ_TRUE;
    if (read) status = TakeJpeg2000(*decoded, image);
  }
  opj_image_destroy(decoded);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  return read ? std::move(status) : WrongImage("JPEG 2000", source.error);
#else
  return NoLibrary("JPEG 2000", "libopenjp2-7-dev");
#endif
}

}  // namespace tenon::kernels
