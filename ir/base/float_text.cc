#include "ir/base/float_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fmt/format.h"
#include "ir/base/element_access.h"

namespace tenon {
namespace {

// LLVM's APFloat::toString cuts the exact decimal expansion in two steps, the first of which
// truncates; printing the same bytes needs the same steps, hence this small unsigned integer.
class BigInt {
 public:
  explicit BigInt(uint64_t value)
      : words_{static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)} {
    Trim();
  }
  bool is_zero() const { return words_.empty(); }
  unsigned bits() const {
    return words_.empty()
               ? 0
               : static_cast<unsigned>(32 * (words_.size() - 1)) + std::bit_width(words_.back());
  }
  void Multiply(uint32_t factor) {
    uint64_t carry = 0;
    for (uint32_t& word : words_) {
      carry += uint64_t{word} * factor;
      word = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) words_.push_back(static_cast<uint32_t>(carry));
  }
  // Divides in place and returns the remainder.
  uint32_t Divide(uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = words_.size(); i-- > 0;) {
      rest = (rest << 32) | words_[i];
      words_[i] = static_cast<uint32_t>(rest / divisor);
      rest %= divisor;
    }
    Trim();
    return static_cast<uint32_t>(rest);
  }

 private:
  void Trim() {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
  }
  std::vector<uint32_t> words_;
};

struct Decimal {
  std::string digits;  // least significant first, no zero at the front of the string
  int exponent = 0;    // of the least significant digit
};

void RoundToPrecision(Decimal& d, unsigned precision) {
  size_t count = d.digits.size();
  if (count <= precision) return;
  size_t first = count - precision;
  if (d.digits[first - 1] < '5') {
    while (first < count && d.digits[first] == '0') ++first;
  } else {
    for (size_t i = first; i < count; ++i) {
      if (d.digits[i] != '9') {
        ++d.digits[i];
        break;
      }
      ++first;
    }
    if (first == count) {
      d.digits = "1";
      d.exponent += static_cast<int>(first);
      return;
    }
  }
  d.exponent += static_cast<int>(first);
  d.digits.erase(0, first);
}

// |value|, finite and not zero, cut to `precision` digits.
Decimal ToDecimal(double value, unsigned precision) {
  int exp2 = 0;
  double fraction = std::frexp(std::fabs(value), &exp2);
  uint64_t significand = static_cast<uint64_t>(std::ldexp(fraction, 53));
  exp2 -= 53;
  int zeros = std::countr_zero(significand);
  significand >>= zeros;
  exp2 += zeros;

  BigInt number(significand);
  Decimal d;
  if (exp2 > 0) {
    for (int i = 0; i < exp2; i += 16) number.Multiply(1u << std::min(16, exp2 - i));
  } else if (exp2 < 0) {
    for (int i = 0; i < -exp2; i += 13) {  // 5^13 fits 32 bits
      uint32_t factor = 1;
      for (int j = i; j < std::min(i + 13, -exp2); ++j) factor *= 5;
      number.Multiply(factor);
    }
    d.exponent = exp2;
  }
  unsigned bits = number.bits();
  unsigned bits_required = (precision * 196 + 58) / 59;
  if (bits > bits_required) {
    unsigned removable = (bits - bits_required) * 59 / 196;
    d.exponent += static_cast<int>(removable);
    for (; removable >= 9; removable -= 9) number.Divide(1000000000);
    for (; removable > 0; --removable) number.Divide(10);
  }
  bool trailing = true;
  while (!number.is_zero()) {
    uint32_t digit = number.Divide(10);
    if (trailing && digit == 0) {
      ++d.exponent;
    } else {
      trailing = false;
      d.digits += static_cast<char>('0' + digit);
    }
  }
  RoundToPrecision(d, precision);
  return d;
}

std::string Scientific(const Decimal& d, unsigned fill, char e, size_t exponent_digits) {
  std::string out(1, d.digits.back());
  out += '.';
  out.append(d.digits.rbegin() + 1, d.digits.rend());
  if (d.digits.size() == 1 && fill == 0) out += '0';
  if (fill + 1 > d.digits.size()) out.append(fill + 1 - d.digits.size(), '0');
  int exponent = d.exponent + static_cast<int>(d.digits.size()) - 1;
  out += e;
  out += exponent < 0 ? '-' : '+';
  std::string digits = std::to_string(std::abs(exponent));
  if (digits.size() < exponent_digits) digits.insert(0, "0");
  return out + digits;
}

std::string Shortest(double value, unsigned precision) {
  Decimal d = ToDecimal(value, precision);
  int count = static_cast<int>(d.digits.size());
  bool scientific;
  if (d.exponent >= 0) {
    scientific = d.exponent > 3 || count + d.exponent > static_cast<int>(precision);
  } else {
    int most_significant = d.exponent + count - 1;
    scientific = most_significant < 0 && -most_significant > 3;
  }
  if (scientific) return Scientific(d, 0, 'E', 1);
  std::string digits(d.digits.rbegin(), d.digits.rend());
  if (d.exponent >= 0) return digits + std::string(d.exponent, '0');
  int whole = d.exponent + count;
  if (whole > 0) return digits.substr(0, whole) + "." + digits.substr(whole);
  return "0." + std::string(-whole, '0') + digits;
}

uint64_t BitsOf(DType dtype, double value) {
  std::byte bytes[8] = {};
  StoreFromDouble(dtype, value, bytes);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, 8);
  return bits;
}

}  // namespace

bool AppendFloat(std::string& out, DType dtype, double value) {
  if (std::isfinite(value)) {
    if (std::signbit(value)) out += '-';
    if (value == 0) {
      out += "0.000000e+00";
      return false;
    }
    std::string text = Scientific(ToDecimal(value, 6), 6, 'e', 2);
    if (BitsOf(dtype, std::strtod(text.c_str(), nullptr)) == BitsOf(dtype, std::fabs(value))) {
      out += text;
      return false;
    }
    text = Shortest(value, 2 + SignificandBits(dtype) * 59 / 196);
    if (text.find('.') != std::string::npos) {
      out += text;
      return false;
    }
    if (std::signbit(value)) out.pop_back();
  }
  out += fmt::format("0x{:X}", BitsOf(dtype, value));
  return true;
}

}  // namespace tenon
