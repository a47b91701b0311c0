#include "tests/fuzz/sealed.h"

#include <cstdint>
#include <cstring>

#include "ir/base/inline_xxhash.h"
#include "ir/serialize/format.h"

namespace tenon::fuzz {

std::string Sealed(std::string bytes) {
  using namespace binary;  // NOLINT(google-build-using-namespace): numbers of the format
  if (bytes.size() < kHeaderBytes) return bytes;
  const uint64_t size = bytes.size();
  uint64_t structure = 0;
  std::memcpy(&structure, &bytes[kStructureSizeAt], sizeof(structure));
  if (structure < kHeaderBytes || structure > size) structure = size;
  std::memcpy(&bytes[kFileSizeAt], &size, sizeof(size));
  std::memcpy(&bytes[kStructureSizeAt], &structure, sizeof(structure));
  const uint64_t checksum =
      XXH3_64bits(bytes.data() + kCheckedFrom, static_cast<size_t>(structure) - kCheckedFrom);
  std::memcpy(&bytes[kChecksumAt], &checksum, sizeof(checksum));
  return bytes;
}

}  // namespace tenon::fuzz
