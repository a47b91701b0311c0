// Golden files as binary modules: text to binary and back is the identity.
#include <gtest/gtest.h>

#include <string>

#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "ir/serialize/binary_module.h"
#include "tests/fuzz/mutator.h"

namespace tenon::fuzz {
namespace {

TEST(BinaryFuzzTest, GoldenFilesAreTheSameBehindABinaryFile) {
  Context context, other;
  for (Context* one : {&context, &other}) {
    RegisterAllDialects(*one);
    one->set_allow_unregistered_dialects(true);
  }
  int count = 0;
  for (const std::string& text : GoldenCorpus()) {
    ParseOptions parse;
    parse.verify = false;
    const absl::StatusOr<OwnedOp> module = ParseModule(context, text, parse);
    if (!module.ok()) continue;
    std::string bytes;
    ASSERT_TRUE(WriteBinaryModule(**module, [&](std::string_view piece) {
                  bytes += piece;
                  return absl::OkStatus();
                }).ok());
    ReadBinaryOptions options;
    options.verify = false;
    const absl::StatusOr<OwnedOp> read = ReadBinaryModule(other, bytes, options);
    ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
    for (const bool generic : {false, true}) {
      const PrintOptions print{generic, true, false};
      ASSERT_EQ(Print(**read, print), Print(**module, print));
    }
    ++count;
  }
  EXPECT_GT(count, 500);
}

}  // namespace
}  // namespace tenon::fuzz
