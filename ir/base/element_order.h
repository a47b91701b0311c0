// Where the elements of a tensor lie among other bytes: the order of a packed constant.
#ifndef TENON_IR_BASE_ELEMENT_ORDER_H_
#define TENON_IR_BASE_ELEMENT_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon {

// Copies that take each element of a tensor, once, from packed bytes. Packed bytes may also hold
// padding and other things. All numbers count elements.
struct ElementOrder {
  // A step along one axis of a part.
  struct Loop {
    int64_t count = 0;   // of steps
    int64_t plain = 0;   // how far a step goes in the tensor
    int64_t packed = 0;  // how far it goes in the packed bytes

    bool operator==(const Loop&) const = default;
  };
  // Some elements: one, repeated along each loop. No loop: one element.
  struct Part {
    int64_t plain = 0;   // the first one in the tensor
    int64_t packed = 0;  // and in the packed bytes
    std::vector<Loop> loops{};
  };

  static constexpr size_t kMaxLoops = 8;  // of a part

  size_t element_bytes = 0;  // 1, 2, 4 or 8
  std::vector<Part> parts{};

  // Returns the order as text, the same for the same copies.
  std::string Text() const;
};

// True if the copies read only from `packed_bytes` bytes, write only to `plain_bytes` bytes, and
// are as many as a tensor of this size has elements. Orders from files need this check. It does
// not find copies that write one element twice.
bool Fits(const ElementOrder& order, size_t plain_bytes, size_t packed_bytes);

// Writes the tensor of `plain_bytes` bytes. Elements that no copy writes become zeros. Requires
// Fits, and that the bytes do not overlap.
void Unpack(const ElementOrder& order, const std::byte* packed, std::byte* plain,
            size_t plain_bytes);
// The same for a part of the tensor: the bytes from `first` on. Requires that it begins and ends
// between elements.
void UnpackRange(const ElementOrder& order, const std::byte* packed, size_t first,
                 std::span<std::byte> plain);

}  // namespace tenon

#endif  // TENON_IR_BASE_ELEMENT_ORDER_H_
