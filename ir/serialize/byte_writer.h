// Numbers as bytes. Internal to ir/serialize.
#ifndef TENON_IR_SERIALIZE_BYTE_WRITER_H_
#define TENON_IR_SERIALIZE_BYTE_WRITER_H_

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::binary {

// Appends to a string. Little-endian.
class ByteWriter {
 public:
  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  void Byte(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  template <typename Tag>
  void Put(Tag tag) {
    Byte(static_cast<uint8_t>(tag));
  }
  // Seven bits a byte, the lowest first; the highest bit says that more follow.
  void Varint(uint64_t value) {
    while (value >= 0x80) {
      Byte(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    Byte(static_cast<uint8_t>(value));
  }
  // Small numbers of either sign are short.
  void Signed(int64_t value) {
    Varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void U32(uint32_t value) { Fixed(value, 4); }
  void U64(uint64_t value) { Fixed(value, 8); }
  void Double(double value) { U64(std::bit_cast<uint64_t>(value)); }
  void Raw(std::string_view bytes) { bytes_.append(bytes); }

 private:
  void Fixed(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) Byte(static_cast<uint8_t>(value >> (8 * i)));
  }

  std::string bytes_;
};

}  // namespace tenon::binary

#endif  // TENON_IR_SERIALIZE_BYTE_WRITER_H_
