// A small dialect "t" and shorthands for tests of ir/core.
#ifndef TENON_TESTS_IR_TEST_IR_H_
#define TENON_TESTS_IR_TEST_IR_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"

namespace tenon::test {

// Registers dialect "t": t.source () -> any, t.binary (any, any) -> any, t.tagged with attributes,
// t.groups with optional and variadic operands, t.region, t.branch and t.end (terminators), and a
// module.
void RegisterTestDialect(Context& context);

class TestIr {
 public:
  TestIr();
  ~TestIr();

  Type f32() { return Type::Scalar(context, DType::kF32); }
  Type tensor(std::initializer_list<int64_t> dims, DType dtype = DType::kF32);
  Operation* Make(std::string_view name, std::vector<Value> operands, std::vector<Type> results,
                  unsigned regions = 0, std::vector<Block*> successors = {});
  Operation* Add(Block* block, std::string_view name, std::vector<Value> operands,
                 std::vector<Type> results, unsigned regions = 0,
                 std::vector<Block*> successors = {});
  // All diagnostics so far, formatted.
  std::vector<std::string> messages;

  Context context;
  OwnedOp module;
  Block* body;
};

}  // namespace tenon::test

#endif  // TENON_TESTS_IR_TEST_IR_H_
