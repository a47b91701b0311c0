// SHA-256 (FIPS 180-4). Names and keys of cache files use it, so that nobody can construct two
// sources with the same key.
#ifndef TENON_EXECUTOR_WEIGHTS_SHA256_H_
#define TENON_EXECUTOR_WEIGHTS_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenon {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  Sha256();
  void Update(std::span<const std::byte> bytes);
  // Ends the message. Requires that Update is not called afterward.
  Digest Finish();
  // Uses portable code only, for tests of the processor's instructions.
  void set_portable() { use_instructions_ = false; }

 private:
  void Blocks(const uint8_t* data, size_t count);

  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> buffer_{};
  size_t buffered_ = 0;
  uint64_t total_ = 0;
  bool use_instructions_;
};

Digest Sha256Of(std::span<const std::byte> bytes);
Digest Sha256Of(const std::string& text);
// Lower-case hexadecimal digits.
std::string Hex(const Digest& digest);

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHTS_SHA256_H_
