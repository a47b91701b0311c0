// Bytes as numbers, with bounds. Internal to ir/serialize.
#ifndef TENON_IR_SERIALIZE_BYTE_READER_H_
#define TENON_IR_SERIALIZE_BYTE_READER_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tenon::binary {

inline uint32_t LoadU32(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}
inline uint64_t LoadU64(const char* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}
static_assert(std::endian::native == std::endian::little, "files are little-endian");

// Reads from a section. Behind its end, and behind a number that no writer writes, everything is 0
// and ok() is false.
class ByteReader {
 public:
  ByteReader() = default;
  // `offset`: the position of `bytes` in the file, for messages.
  ByteReader(std::string_view bytes, uint64_t offset)
      : begin_(reinterpret_cast<const uint8_t*>(bytes.data())),
        at_(begin_),
        end_(begin_ + bytes.size()),
        offset_(offset) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  uint64_t position() const { return offset_ + static_cast<uint64_t>(at_ - begin_); }

  uint8_t Byte() {
    if (at_ == end_) return Wrong();
    return *at_++;
  }
  uint64_t Varint() {
    if (at_ != end_ && *at_ < 0x80) [[likely]]
      return *at_++;
    return LongVarint();
  }
  int64_t Signed() {
    const uint64_t value = Varint();
    return static_cast<int64_t>((value >> 1) ^ (0 - (value & 1)));
  }
  double Double() {
    const std::string_view bytes = Raw(sizeof(double));
    return bytes.empty() ? 0 : std::bit_cast<double>(LoadU64(bytes.data()));
  }
  // Empty if there are fewer bytes.
  std::string_view Raw(uint64_t size) {
    if (size > left()) {
      Wrong();
      return {};
    }
    const std::string_view bytes(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    return bytes;
  }
  // A number of things that take at least `bytes` bytes each.
  uint64_t Count(uint64_t bytes = 1) {
    const uint64_t count = Varint();
    return count <= left() / bytes ? count : Wrong();
  }

 private:
  uint8_t Wrong() {
    ok_ = false;
    at_ = end_;
    return 0;
  }
  uint64_t LongVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return Wrong();
      const uint8_t byte = *at_++;
      if (shift == 63 && byte > 1) return Wrong();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return Wrong();
  }

  const uint8_t* begin_ = nullptr;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint64_t offset_ = 0;
  bool ok_ = true;
};

}  // namespace tenon::binary

#endif  // TENON_IR_SERIALIZE_BYTE_READER_H_
