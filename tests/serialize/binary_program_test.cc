// Binary modules that also hold a program.
#include "ir/serialize/binary_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "ir/base/inline_xxhash.h"
#include "ir/core/context/context.h"
#include "ir/serialize/format.h"
#include "tests/serialize/binary_file.h"

namespace tenon {
namespace {

using test::FullText;
using test::NumberAt;
using test::Parsed;
using test::Seal;
using test::SetNumberAt;
using test::Written;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BinaryProgramTest : public ::testing::Test {
 protected:
  BinaryProgramTest()
      : module_(Parsed(context_, "%0 = x.a() {v = 1 : i64} : () -> tensor<2xf32>\n")),
        lowered_(Parsed(context_,
                        "%0 = k.call() {v = \"low\"} : () -> tensor<2xf32>\n"
                        "k.end(%0) : (tensor<2xf32>) -> ()\n")) {}

  std::string WrittenProgram(std::vector<BinaryProgram::Data> data,
                             std::vector<BinaryProgram::Packed> packed = {}) {
    BinaryProgram program;
    program.packed = std::move(packed);
    program.module = lowered_.get();
    program.facts = {"isa", "", std::string("\0\xff", 2)};
    program.data = std::move(data);
    std::string bytes;
    const absl::Status status = WriteBinaryProgram(*module_, program, [&](std::string_view piece) {
      bytes += piece;
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    return bytes;
  }
  std::string MessageOf(const std::string& bytes) {
    const absl::StatusOr<FoundProgram> found =
        FindBinaryProgram(context_, bytes, {.verify = false});
    return found.ok() ? "" : std::string(found.status().message());
  }
  // The position of the entry of a section in the table; 0 if there is none.
  static size_t EntryOf(const std::string& bytes, binary::Section kind) {
    for (uint64_t i = 0; i < NumberAt(bytes, binary::kSectionCountAt, 4); ++i) {
      const size_t at = binary::kHeaderBytes + i * binary::kSectionBytes;
      if (NumberAt(bytes, at, 4) == static_cast<uint64_t>(kind)) return at;
    }
    return 0;
  }

  Context context_;
  OwnedOp module_, lowered_;
};

TEST_F(BinaryProgramTest, HoldsBothModulesFactsAndData) {
  const std::vector<std::byte> first(100, std::byte{1}), second(3, std::byte{2});
  const std::string bytes = WrittenProgram(
      {{7, "a", first}, {8, std::string("b\0", 2), second}, {9, "", first}, {9, "none", {}}});
  EXPECT_TRUE(LooksLikeBinaryProgram(bytes));
  const absl::StatusOr<OwnedOp> module = test::ReadBack(context_, bytes);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(FullText(**module), FullText(*module_));
  const absl::StatusOr<OwnedOp> lowered = ReadBinaryProgram(context_, bytes, {.verify = false});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(FullText(**lowered), FullText(*lowered_));
  const absl::StatusOr<FoundProgram> found = FindBinaryProgram(context_, bytes);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->found);
  EXPECT_THAT(found->facts, ElementsAre("isa", "", std::string("\0\xff", 2)));
  ASSERT_EQ(found->data.size(), 4u);
  for (const FoundProgram::Data& data : found->data) {
    EXPECT_EQ(static_cast<size_t>(data.bytes.data() - bytes.data()) % binary::kDataAlignment, 0u);
    EXPECT_EQ(data.checksum, XXH3_64bits(data.bytes.data(), data.bytes.size()));
  }
  EXPECT_EQ(found->data[0].user, 7u);
  EXPECT_EQ(found->data[0].bytes, std::string(100, 1));
  EXPECT_EQ(found->data[1].name, std::string("b\0", 2));
  EXPECT_EQ(found->data[1].bytes, std::string(3, 2));
  // Of the same bytes once.
  EXPECT_EQ(found->data[2].bytes.data(), found->data[0].bytes.data());
  EXPECT_THAT(found->data[3].bytes, IsEmpty());
}

TEST_F(BinaryProgramTest, AModuleWithoutAProgramHasNone) {
  const std::string bytes = Written(*module_);
  EXPECT_FALSE(LooksLikeBinaryProgram(bytes));
  const absl::StatusOr<FoundProgram> found = FindBinaryProgram(context_, bytes);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->found);
  EXPECT_THAT(std::string(ReadBinaryProgram(context_, bytes).status().message()),
              HasSubstr("a module without a program"));
}

TEST_F(BinaryProgramTest, WrongPlacesAreErrorsWithTheirPosition) {
  const std::vector<std::byte> data(100, std::byte{1});
  const std::string whole = WrittenProgram({{7, "a", data}});
  const size_t entry = EntryOf(whole, binary::Section::kProgramData);
  ASSERT_NE(entry, 0u);
  const size_t table = NumberAt(whole, entry + 8, 8);
  // Not aligned, behind the file, too large for it, and so large that the end has no number.
  for (const auto& [at, value] : {std::pair<size_t, uint64_t>(0, 65),
                                  {0, (whole.size() / 64 + 1) * 64},
                                  {8, whole.size()},
                                  {8, ~uint64_t{0}}}) {
    std::string wrong = whole;
    SetNumberAt(wrong, table + at, 8, value);
    Seal(wrong);
    EXPECT_THAT(MessageOf(wrong), HasSubstr("at byte " + std::to_string(table) +
                                            ": data of the program that is not in the file"));
  }
  // A number of data that is not there: the last byte of the uses.
  std::string number = whole;
  const size_t uses = EntryOf(whole, binary::Section::kProgramUse);
  number[NumberAt(whole, uses + 8, 8) + NumberAt(whole, uses + 16, 8) - 1] = 1;
  Seal(number);
  EXPECT_THAT(MessageOf(number), HasSubstr("there is no data of the program of this number"));
  // One of the sections is unknown to the reader.
  std::string partial = whole;
  SetNumberAt(partial, entry, 4, 60);
  Seal(partial);
  EXPECT_THAT(MessageOf(partial), HasSubstr("some sections of a program, and not all of them"));
}

// Constants of either module, each with the checksum of its bytes.
TEST_F(BinaryProgramTest, ConstantsHaveChecksums) {
  std::string large = "%0 = x.a() {v = dense<\"0x";
  for (int i = 0; i < 8000; ++i) large += i % 3 == 0 ? "01" : "A7";
  module_ = Parsed(context_, large + "\"> : tensor<2000xf32>} : () -> tensor<2000xf32>\n");
  const std::string whole = WrittenProgram({});
  const absl::StatusOr<FoundProgram> found = FindBinaryProgram(context_, whole);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->constants.size(), 1u);
  const FoundProgram::Checked& constant = found->constants.front();
  EXPECT_EQ(constant.bytes.size(), 8000u);
  EXPECT_EQ(constant.bytes.substr(0, 2), "\x01\xA7");
  EXPECT_EQ(constant.checksum, XXH3_64bits(constant.bytes.data(), constant.bytes.size()));
  // Another number of checksums.
  std::string fewer = whole;
  const size_t sums = EntryOf(whole, binary::Section::kBlobSums);
  ASSERT_NE(sums, 0u);
  SetNumberAt(fewer, sums + 16, 8, 0);
  Seal(fewer);
  EXPECT_THAT(MessageOf(fewer), HasSubstr("not one checksum for each constant"));
}

// 2000 numbers that are in the file only in panels of 16, the last one with padding.
class PackedConstantTest : public BinaryProgramTest {
 protected:
  PackedConstantTest() {
    std::string text = "%0 = x.a() {v = dense<\"0x";
    for (int i = 0; i < 2000; ++i) {
      text += fmt::format("{:02X}{:02X}803F", i % 256, i / 256);
      numbers_.push_back(0x3F800000u + static_cast<uint32_t>(i));
    }
    module_ = Parsed(context_, text + "\"> : tensor<50x40xf32>} : () -> tensor<50x40xf32>\n");
    module_->Walk([&](Operation* op) {
      if (op->name() == "x.a") constant_ = op->discardable_attrs().Get("v");
    });
    for (int begin = 0; begin < 40; begin += 16) {
      for (int row = 0; row < 50; ++row) {
        for (int j = begin; j < begin + 16; ++j)
          packed_.push_back(j < 40 ? numbers_[static_cast<size_t>(row * 40 + j)] : 0);
      }
    }
    order_ = {
        4,
        {{0, 0, {{16, 1, 1}, {50, 40, 16}, {2, 16, 800}}}, {32, 1600, {{8, 1, 1}, {50, 40, 16}}}}};
    whole_ =
        WrittenProgram({{7, "w", std::as_bytes(std::span(packed_))}}, {{constant_, 0, order_}});
  }

  std::string ErrorOf(const std::string& bytes) {
    const absl::StatusOr<OwnedOp> module = test::ReadBack(context_, bytes);
    return module.ok() ? "" : std::string(module.status().message());
  }
  std::string Section(binary::Section kind) {
    const size_t at = EntryOf(whole_, kind);
    return whole_.substr(NumberAt(whole_, at + 8, 8), NumberAt(whole_, at + 16, 8));
  }

  std::vector<uint32_t> numbers_, packed_;
  Attribute constant_;
  ElementOrder order_;
  std::string whole_;
};

TEST_F(PackedConstantTest, IsInTheFileOnceAndReadAsItWas) {
  const std::string plain = WrittenProgram({{7, "w", std::as_bytes(std::span(packed_))}});
  EXPECT_LT(whole_.size() + 7900, plain.size());
  const absl::StatusOr<OwnedOp> module = test::ReadBack(context_, whole_);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(FullText(**module), FullText(*module_));
  // The checksum is that of the data.
  const absl::StatusOr<FoundProgram> found = FindBinaryProgram(context_, whole_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->constants, IsEmpty());
  EXPECT_EQ(found->data[0].bytes.size(), packed_.size() * 4);
  // Written again without a program, the constant is as every other.
  EXPECT_EQ(Written(**module), Written(*module_));
}

// Builds that do not know packed constants refuse the file.
TEST_F(PackedConstantTest, IsNotOptional) {
  const size_t at = EntryOf(whole_, binary::Section::kPackedBlobs);
  ASSERT_NE(at, 0u);
  EXPECT_EQ(NumberAt(whole_, at + 4, 4), 0u);
  std::string unknown = whole_;
  SetNumberAt(unknown, at, 4, 60);
  Seal(unknown);
  EXPECT_THAT(ErrorOf(unknown), HasSubstr("a section of the unknown kind 60"));
  // Skipped by a reader, the constant has no bytes.
  SetNumberAt(unknown, at + 4, 4, binary::kOptional);
  Seal(unknown);
  EXPECT_THAT(ErrorOf(unknown), HasSubstr("a constant of which the file has no bytes"));
}

TEST_F(PackedConstantTest, WrongOrdersAreErrors) {
  const size_t at = EntryOf(whole_, binary::Section::kPackedBlobs);
  const size_t section = NumberAt(whole_, at + 8, 8), size = NumberAt(whole_, at + 16, 8);
  int errors = 0;
  for (size_t i = 0; i < size; ++i) {
    for (const int value : {0, 1, 2, 5, 0x7f, 0x80, 0xff}) {
      std::string wrong = whole_;
      wrong[section + i] = static_cast<char>(value);
      Seal(wrong);
      const absl::StatusOr<OwnedOp> module = test::ReadBack(context_, wrong);
      // Another place inside of both sides is a constant of other numbers.
      if (module.ok()) {
        EXPECT_EQ(FullText(**module).size(), FullText(*module_).size());
      } else {
        EXPECT_THAT(std::string(module.status().message()), HasSubstr("damaged at byte"));
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 100);
  // Each constant is packed once.
  std::string cut = whole_;
  SetNumberAt(cut, at + 16, 8, size - 1);
  Seal(cut);
  EXPECT_THAT(ErrorOf(cut), HasSubstr("the order of a packed constant is cut off"));
}

}  // namespace
}  // namespace tenon
