// Binary modules that also hold their program, ready to run. Both are one file, which everything
// that reads binary modules reads as the module.
#ifndef TENON_IR_SERIALIZE_BINARY_PROGRAM_H_
#define TENON_IR_SERIALIZE_BINARY_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/base/element_order.h"
#include "ir/base/text_sink.h"
#include "ir/core/attribute.h"
#include "ir/core/operation.h"
#include "ir/serialize/binary_module.h"

namespace tenon {

// What a file holds beside its module. This layer gives the facts, users and names no meaning.
struct BinaryProgram {
  const Operation* module = nullptr;  // the lowered module, of the same Context; not null
  std::vector<std::string> facts;     // for what the program was made
  // Bytes that the program needs. The same bytes of several users are stored once.
  struct Data {
    uint64_t user = 0;                 // whose bytes they are
    std::string name;                  // tells the bytes of one user apart
    std::span<const std::byte> bytes;  // the caller's
  };
  std::vector<Data> data;  // in the order of the file
  // A constant of both modules whose bytes the file does not hold: they are unpacked from data.
  struct Packed {
    Attribute constant;  // large Elements of at least 8 bits each
    size_t data = 0;     // the position in `data`
    ElementOrder order;  // which must give exactly the bytes of the constant
  };
  std::vector<Packed> packed{};  // others keep their bytes
};

// Writes `module` as WriteBinaryModule does, and the program behind it. Constants that both have
// are stored once. Readers that do not know BinaryProgram::packed refuse a file that has any.
// Errors are those of WriteBinaryModule.
absl::Status WriteBinaryProgram(const Operation& module, const BinaryProgram& program,
                                TextSink sink);

// True if the file says that it holds a program. Nothing else is checked.
bool LooksLikeBinaryProgram(std::string_view bytes);

// What FindBinaryProgram returns. All views point into the file.
struct FoundProgram {
  bool found = false;                   // false: a binary module without a program
  std::vector<std::string_view> facts;  // BinaryProgram::facts
  // BinaryProgram::Data, as the file has it.
  struct Data {
    uint64_t user = 0;       // whose bytes they are
    std::string_view name;   // tells the bytes of one user apart
    std::string_view bytes;  // at a multiple of 64 in the file
    uint64_t checksum = 0;   // the XXH3-64 of the bytes, which nobody has compared
  };
  std::vector<Data> data;  // in the order of the file
  // A large constant of one of the two modules, other than those of BinaryProgram::packed.
  struct Checked {
    std::string_view bytes;  // at a multiple of 64 in the file
    uint64_t checksum = 0;   // the XXH3-64 of the bytes, which nobody has compared
  };
  std::vector<Checked> constants;  // in the order of the file
};
// Reads what a file says of its program, and checks the places of its data. Reads no byte of the
// data and nothing of the modules. Errors as for ReadBinaryModule.
absl::StatusOr<FoundProgram> FindBinaryProgram(Context& context, std::string_view bytes,
                                               const ReadBinaryOptions& options = {});
// Reads the lowered module in place of the other one. InvalidArgument for a file without a program;
// other errors and requirements are those of ReadBinaryModule.
absl::StatusOr<OwnedOp> ReadBinaryProgram(Context& context, std::string_view bytes,
                                          const ReadBinaryOptions& options = {});

}  // namespace tenon

#endif  // TENON_IR_SERIALIZE_BINARY_PROGRAM_H_
