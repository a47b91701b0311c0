#include "kernels/strings/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "kernels/reference/dispatch.h"
#include "kernels/strings/string_list.h"

namespace tenon::kernels {
namespace {

// Digits without a point, and the exponent of the first one.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

// The parts of a text such as 1.25e-07.
Decimal ParseScientific(std::string_view text) {
  const size_t e = text.find('e');
  Decimal decimal;
  for (const char c : text.substr(0, e)) {
    if (c != '.') decimal.digits += c;
  }
  size_t sign = e + 1;
  if (text[sign] == '+') ++sign;
  std::from_chars(text.data() + sign, text.data() + text.size(), decimal.exponent);
  return decimal;
}

// The fewest digits that read as `value` again in the type T.
template <typename T>
Decimal ShortestDigits(T value) {
  std::array<char, 64> buffer;
  if constexpr (std::is_floating_point_v<T>) {
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::scientific);
    return ParseScientific({buffer.data(), static_cast<size_t>(end.ptr - buffer.data())});
  } else {
    const auto wide = static_cast<float>(value);
    for (int precision = 0;; ++precision) {
      const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), wide,
                                     std::chars_format::scientific, precision);
      const std::string_view text(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
      float read = 0;
      std::from_chars(text.data(), text.data() + text.size(), read);
      if (precision > 8 || static_cast<float>(static_cast<T>(read)) == wide) {
        return ParseScientific(text);
      }
    }
  }
}

// NumPy's text of a float: positional from 1e-4 up to 1e16.
template <typename T>
std::string FloatText(T value) {
  const auto wide = static_cast<double>(static_cast<Compute<T>>(value));
  if (std::isnan(wide)) return "nan";
  const std::string sign = std::signbit(wide) ? "-" : "";
  if (std::isinf(wide)) return sign + "inf";
  if (wide == 0) return sign + "0.0";
  const double size = std::abs(wide);
  Decimal d = ShortestDigits(static_cast<T>(static_cast<Compute<T>>(size)));
  const auto count = static_cast<int>(d.digits.size());
  if (size < 1e-4 || size >= 1e16) {
    std::string text = sign + d.digits.substr(0, 1);
    if (count > 1) text += "." + d.digits.substr(1);
    const std::string power = std::to_string(std::abs(d.exponent));
    return text + (d.exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (d.exponent < 0) {
    return sign + "0." + std::string(static_cast<size_t>(-d.exponent - 1), '0') + d.digits;
  }
  if (count <= d.exponent + 1) {
    d.digits.append(static_cast<size_t>(d.exponent + 1 - count), '0');
    return sign + d.digits + ".0";
  }
  const auto whole = static_cast<size_t>(d.exponent + 1);
  return sign + d.digits.substr(0, whole) + "." + d.digits.substr(whole);
}

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// Reads the whole of `text`, as T.
template <typename T>
bool ReadWhole(std::string_view text, T& value) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (std::is_floating_point_v<T> && end.ec == std::errc::result_out_of_range &&
      end.ptr == text.data() + text.size()) {
    // Too large is infinite and too small is 0, as in other casts.
    value = static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
    return true;
  }
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

bool ParseBool(std::string_view text, bool& value) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  value = lower == "true" || lower == "1";
  return value || lower == "false" || lower == "0";
}

}  // namespace

std::string NumberText(const TensorView& x, int64_t i) {
  if (x.dtype == DType::kBool) return x.as<bool>()[i] ? "True" : "False";
  std::string text;
  (void)DispatchNumber(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kIsFloat<T>) {
      text = FloatText(x.as<T>()[i]);
    } else {
      text = std::to_string(x.as<T>()[i]);
    }
    return KernelStatus::Ok();
  });
  return text;
}

bool ReadNumber(std::string_view text, const TensorView& out, int64_t i) {
  text = WithoutBlanks(text);
  if (out.dtype == DType::kBool) return ParseBool(text, out.as<bool>()[i]);
  return DispatchNumber(out.dtype,
                        [&](auto tag) {
                          using T = typename decltype(tag)::type;
                          bool read = false;
                          if constexpr (kIsFloat<T> && !std::is_floating_point_v<T>) {
                            float wide = 0;
                            read = ReadWhole(text, wide);
                            out.as<T>()[i] = static_cast<T>(wide);
                          } else {
                            T value{};
                            read = ReadWhole(text, value);
                            out.as<T>()[i] = value;
                          }
                          return read ? KernelStatus::Ok() : KernelStatus::Invalid("");
                        })
      .ok();
}

KernelStatus WriteNumbers(std::span<const TensorView> operands, StringList& made) {
  for (int64_t i = 0; i < operands[0].numel(); ++i) {
    if (KernelStatus status = made.Add(NumberText(operands[0], i)); !status.ok()) return status;
  }
  return KernelStatus::Ok();
}

}  // namespace tenon::kernels
