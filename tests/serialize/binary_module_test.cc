#include "ir/serialize/binary_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "ir/serialize/format.h"
#include "tests/serialize/binary_file.h"

namespace tenon {
namespace {

using test::FullText;
using test::NumberAt;
using test::Parsed;
using test::ReadBack;
using test::Seal;
using test::SetNumberAt;
using test::Written;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(TENON_SOURCE_DIR) / "tests/serialize/fixtures";

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// A constant of `n` different numbers, as text.
std::string LargeConstant(int n) {
  std::string bytes;
  for (int i = 0; i < n; ++i) {
    const auto value = static_cast<float>(i);
    char raw[4];
    std::memcpy(raw, &value, 4);
    for (const char c : raw) {
      constexpr char kHex[] = "0123456789ABCDEF";
      bytes += kHex[static_cast<uint8_t>(c) >> 4];
      bytes += kHex[static_cast<uint8_t>(c) & 15];
    }
  }
  const std::string type = "tensor<" + std::to_string(n) + "xf32>";
  return "x.a() {v = dense_resource<w> : " + type +
         "} : () -> ()\n{-# dialect_resources: { builtin: { w: \"0x40000000" + bytes +
         "\" } } #-}\n";
}

std::string Message(const absl::StatusOr<OwnedOp>& module) {
  return module.ok() ? "" : std::string(module.status().message());
}

// Reads in a new Context without dialects, where all of them are allowed.
std::string TextOf(std::string_view bytes) {
  Context context;
  context.set_allow_unregistered_dialects(true);
  const absl::StatusOr<OwnedOp> module = ReadBack(context, bytes);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? FullText(**module) : "";
}

TEST(BinaryModuleTest, HoldsEverything) {
  Context context;
  const OwnedOp module = Parsed(context, Contents(kFixtures / "v1/everything.mlir"));
  ASSERT_NE(module, nullptr);
  const std::string bytes = Written(*module);
  EXPECT_TRUE(LooksLikeBinaryModule(bytes));
  EXPECT_EQ(TextOf(bytes), FullText(*module));
  const absl::StatusOr<OwnedOp> again = ReadBack(context, bytes);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Written(**again), bytes);
}

// To make the file of a new version, run with TENON_WRITE_FIXTURES=1. Files of old versions stay.
TEST(BinaryModuleTest, ReadsFilesOfAllVersions) {
  int count = 0;
  for (const fs::directory_entry& version : fs::directory_iterator(kFixtures)) {
    for (const fs::directory_entry& text : fs::directory_iterator(version.path())) {
      if (text.path().extension() != ".mlir") continue;
      ++count;
      Context context;
      const OwnedOp module = Parsed(context, Contents(text.path()));
      ASSERT_NE(module, nullptr);
      const fs::path file = fs::path(text.path()).replace_extension(".tnb");
      const bool newest = version.path().filename() == "v" + std::to_string(binary::kVersion);
      if (newest && std::getenv("TENON_WRITE_FIXTURES") != nullptr)
        std::ofstream(file, std::ios::binary) << Written(*module);
      EXPECT_EQ(TextOf(Contents(file)), FullText(*module)) << file;
      if (newest) {
        EXPECT_EQ(Contents(file), Written(*module)) << "other bytes need a new version";
      }
    }
  }
  EXPECT_GE(count, static_cast<int>(binary::kVersion));
}

TEST(BinaryModuleTest, KeepsNamesOfValues) {
  Context context;
  const OwnedOp module = Parsed(context, R"(
%sum = x.a() ({
^bb0(%first: f32, %1: f32):
  x.b(%first, %1, %later) : (f32, f32, f32) -> ()
}) : () -> f32
%later, %5 = x.c(%sum) : (f32) -> (f32, f32)
)");
  const absl::StatusOr<OwnedOp> again = ReadBack(context, Written(*module));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Print(**again), Print(*module));
  EXPECT_THAT(Print(**again), HasSubstr("%sum = x.a"));
  EXPECT_THAT(Print(**again), HasSubstr("%first: f32"));
}

TEST(BinaryModuleTest, RefusesOtherVersions) {
  Context context;
  std::string bytes = Written(*Parsed(context, "x.a() : () -> ()"));
  for (const uint32_t version : {0u, binary::kVersion + 1, 4294967295u}) {
    SetNumberAt(bytes, binary::kVersionAt, 4, version);
    const std::string message = Message(ReadBack(context, bytes));
    EXPECT_THAT(message, HasSubstr("version " + std::to_string(version) + " of the binary format"));
    EXPECT_THAT(message, HasSubstr("reads versions 1 to " + std::to_string(binary::kVersion)));
  }
}

TEST(BinaryModuleTest, RefusesDamagedFiles) {
  Context context;
  const std::string bytes = Written(*Parsed(context, LargeConstant(100)));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(Message(ReadBack(context, bytes.substr(0, size))), "") << size;
  EXPECT_THAT(Message(ReadBack(context, bytes + "x")), HasSubstr("its header says"));
  EXPECT_THAT(Message(ReadBack(context, bytes.substr(0, bytes.size() - 1))), HasSubstr("cut off"));
  const size_t structure = NumberAt(bytes, binary::kStructureSizeAt, 8);
  for (size_t i = 0; i < structure; ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_NE(Message(ReadBack(context, damaged)), "") << i;
  }
}

// With a right checksum: no change may crash, and most are found.
TEST(BinaryModuleTest, SurvivesHostileFiles) {
  Context context;
  const OwnedOp module = Parsed(context, Contents(kFixtures / "v1/everything.mlir"));
  const std::string bytes = Written(*module);
  const size_t structure = NumberAt(bytes, binary::kStructureSizeAt, 8);
  int refused = 0;
  for (size_t i = 0; i < structure; ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      if (NumberAt(damaged, binary::kStructureSizeAt, 8) == structure) Seal(damaged);
      Context other;
      other.set_allow_unregistered_dialects(true);
      const absl::StatusOr<OwnedOp> read = ReadBack(other, damaged);
      refused += !read.ok();
      if (read.ok()) {
        EXPECT_FALSE(FullText(**read).empty());
      }
    }
  }
  EXPECT_GT(refused, static_cast<int>(structure));
}

TEST(BinaryModuleTest, EqualConstantsLieOnceAndAligned) {
  Context context;
  const OwnedOp module = Parsed(context, Contents(kFixtures / "v1/everything.mlir"));
  const std::string bytes = Written(*module);
  const size_t structure = NumberAt(bytes, binary::kStructureSizeAt, 8);
  const size_t floats = (structure + 63) / 64 * 64;
  const size_t bools = floats + 320;
  EXPECT_EQ(bytes.size(), bools + 300);
  EXPECT_EQ(NumberAt(bytes, floats + 4, 4), 0x3f800000u);
}

// The pages of the constant cannot be read.
TEST(BinaryModuleTest, LooksAtNoBytesOfConstants) {
  Context context;
  std::string bytes = Written(*Parsed(context, LargeConstant(4096)));
  constexpr size_t kPage = 4096;
  const size_t begin = bytes.size() - 4 * 4096;
  ASSERT_EQ(begin % 64, 0u);
  const size_t structure_pages = (begin + kPage - 1) / kPage;
  const size_t size = (structure_pages + 4) * kPage;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::shared_ptr<void> owner(memory, [size](void* p) { munmap(p, size); });
  char* const at = static_cast<char*>(memory) + structure_pages * kPage - begin;
  ASSERT_LE(begin, structure_pages * kPage);
  std::memcpy(at, bytes.data(), bytes.size());
  ASSERT_EQ(mprotect(static_cast<char*>(memory) + structure_pages * kPage, 4 * kPage, PROT_NONE),
            0);
  ReadBinaryOptions options;
  options.owner = owner;
  const absl::StatusOr<OwnedOp> module =
      ReadBinaryModule(context, std::string_view(at, bytes.size()), options);
  ASSERT_TRUE(module.ok()) << module.status();
  const Attribute value = (*module)->region().front().front()->attr("v");
  EXPECT_EQ(value.blob()->size(), 4u * 4096);
  ASSERT_EQ(mprotect(static_cast<char*>(memory) + structure_pages * kPage, 4 * kPage, PROT_READ),
            0);
  EXPECT_EQ(value.ElementAsInt(4095), 4095);
}

// A file with a hole of 3 GB before its constant.
TEST(BinaryModuleTest, ReadsBeyondTwoGigabytes) {
  Context context;
  std::string bytes = Written(*Parsed(context, LargeConstant(128)));
  constexpr size_t kFar = size_t{3} << 30, kBytes = 512;
  const std::string constant = bytes.substr(bytes.size() - kBytes);
  const size_t structure = NumberAt(bytes, binary::kStructureSizeAt, 8);
  bytes.resize(structure);
  const size_t blobs = NumberAt(bytes, binary::kHeaderBytes + 3 * binary::kSectionBytes + 8, 8);
  SetNumberAt(bytes, blobs, 8, kFar);
  Seal(bytes);
  SetNumberAt(bytes, binary::kFileSizeAt, 8, kFar + kBytes);
  void* const memory = mmap(nullptr, kFar + kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ReadBinaryOptions options;
  options.owner = std::shared_ptr<void>(memory, [](void* p) { munmap(p, kFar + kBytes); });
  std::memcpy(memory, bytes.data(), bytes.size());
  std::memcpy(static_cast<char*>(memory) + kFar, constant.data(), kBytes);
  const absl::StatusOr<OwnedOp> module = ReadBinaryModule(
      context, std::string_view(static_cast<char*>(memory), kFar + kBytes), options);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->region().front().front()->attr("v").ElementAsInt(127), 127);
}

Dialect DialectOf(std::initializer_list<std::pair<const char*, const char*>> attrs) {
  OpDef def;
  def.name = "t.op";
  for (const auto& [name, fallback] : attrs) {
    AttrDef attr;
    attr.name = name;
    attr.required = false;
    attr.default_text = fallback;
    def.attrs.push_back(attr);
  }
  Dialect dialect;
  dialect.name = "t";
  dialect.ops.push_back(def);
  return dialect;
}

TEST(BinaryModuleTest, OpsMayHaveOtherAttributesThanInTheFile) {
  Context first, more, fewer, none;
  ASSERT_TRUE(first.RegisterDialect(DialectOf({{"b", ""}, {"c", ""}})).ok());
  ASSERT_TRUE(
      more.RegisterDialect(DialectOf({{"a", "7 : i64"}, {"b", ""}, {"c", ""}, {"d", ""}})).ok());
  ASSERT_TRUE(fewer.RegisterDialect(DialectOf({{"b", ""}})).ok());
  const std::string text = "\"t.op\"() <{c = 1 : i64}> {d = 2 : i64, e = 3 : i64} : () -> ()";
  const std::string bytes = Written(*Parsed(first, text));
  const auto op_in = [&](Context& context, std::string_view file) {
    context.set_allow_unregistered_dialects(true);
    const absl::StatusOr<OwnedOp> module = ReadBack(context, file);
    return module.ok() ? FullText(*(*module)->region().front().front()) : Message(module);
  };
  EXPECT_EQ(op_in(first, bytes),
            "\"t.op\"() <{c = 1 : i64}> {d = 2 : i64, e = 3 : i64} : () -> () loc(unknown)");
  EXPECT_EQ(op_in(more, bytes),
            "\"t.op\"() <{a = 7 : i64, c = 1 : i64, d = 2 : i64}> {e = 3 : i64} : () -> () "
            "loc(unknown)");
  EXPECT_THAT(op_in(fewer, bytes), HasSubstr("op 't.op' has no attribute 'c'"));
  EXPECT_EQ(op_in(none, bytes),
            "\"t.op\"() <{c = 1 : i64}> {d = 2 : i64, e = 3 : i64} : () -> () loc(unknown)");
  const std::string unregistered = Written(*Parsed(none, text));
  EXPECT_EQ(op_in(first, unregistered), op_in(first, bytes));
}

TEST(BinaryModuleTest, UnknownOpsAndDialectsAreNamed) {
  Context context;
  const std::string bytes = Written(*Parsed(context, "x.a() : () -> ()"));
  Context strict;
  EXPECT_THAT(Message(ReadBack(strict, bytes)),
              HasSubstr("m.tnb: unknown dialect 'x' of op 'x.a'"));
  const std::string misspelled = Written(*Parsed(context, "ten.rleu() : () -> ()"));
  Context known;
  RegisterAllDialects(known);
  EXPECT_THAT(Message(ReadBack(known, misspelled)),
              HasSubstr("unknown op 'ten.rleu' in dialect 'ten'; did you mean 'ten.relu'?"));
}

TEST(BinaryModuleTest, VerifiesWhatItReads) {
  Context context;
  RegisterAllDialects(context);
  const std::string bytes = Written(*Parsed(context, "ten.relu() : () -> ()"));
  EXPECT_TRUE(ReadBack(context, bytes).ok());
  EXPECT_FALSE(ReadBinaryModule(context, bytes).ok());
}

// Puts a section of an unknown kind at the end of the structure.
std::string WithSection(const std::string& bytes, uint32_t kind, uint32_t flags) {
  using namespace binary;  // NOLINT(google-build-using-namespace): numbers of the format
  const uint64_t count = NumberAt(bytes, kSectionCountAt, 4);
  const size_t table = kHeaderBytes + count * kSectionBytes;
  std::string entry(kSectionBytes, '\0'), changed = bytes.substr(0, table);
  for (uint64_t i = 0; i < count; ++i) {
    const size_t at = kHeaderBytes + i * kSectionBytes + 8;
    SetNumberAt(changed, at, 8, NumberAt(changed, at, 8) + kSectionBytes);
  }
  SetNumberAt(entry, 0, 4, kind);
  SetNumberAt(entry, 4, 4, flags);
  SetNumberAt(entry, 8, 8, bytes.size() + kSectionBytes);
  SetNumberAt(entry, 16, 8, 5);
  changed += entry + bytes.substr(table) + "other";
  SetNumberAt(changed, kSectionCountAt, 4, count + 1);
  SetNumberAt(changed, kStructureSizeAt, 8, changed.size());
  Seal(changed);
  return changed;
}

TEST(BinaryModuleTest, SkipsOptionalSectionsOnly) {
  Context context;
  const std::string bytes = Written(*Parsed(context, "x.a() : () -> ()"));
  EXPECT_TRUE(ReadBack(context, WithSection(bytes, 77, binary::kOptional)).ok());
  EXPECT_THAT(Message(ReadBack(context, WithSection(bytes, 77, 0))),
              HasSubstr("a section of the unknown kind 77"));
  EXPECT_THAT(Message(ReadBack(context, WithSection(bytes, 1, 0))), HasSubstr("two sections"));
}

TEST(BinaryModuleTest, LimitsNestingAndParts) {
  Context context;
  const OwnedOp module = Parsed(context, "x.a() : () -> ()");
  Operation* const op = module->region().front().front();
  Attribute deep = Attribute::Unit(context), wide = deep;
  for (int i = 0; i < 300; ++i) deep = Attribute::Array(context, {&deep, 1});
  for (int i = 0; i < 40; ++i) {
    const Attribute twice[] = {wide, wide};
    wide = Attribute::Array(context, twice);
  }
  for (const Attribute value : {deep, wide}) {
    op->SetAttr("v", value);
    const absl::StatusOr<OwnedOp> read = ReadBack(context, Written(*module));
    EXPECT_EQ(read.status().code(), absl::StatusCode::kResourceExhausted) << read.status();
  }
  EXPECT_THAT(Message(ReadBack(context, Written(*module))), HasSubstr("so many parts"));
}

TEST(BinaryModuleTest, RefusesWhatTextHasNoFormFor) {
  Context context;
  const OwnedOp module = Parsed(context, "%0 = x.a() : () -> f32\nx.b(%0) : (f32) -> ()");
  Operation* const user = module->region().front().back();
  const auto write = [](const Operation& what) {
    return WriteBinaryModule(what, [](std::string_view) { return absl::OkStatus(); });
  };
  EXPECT_THAT(std::string(write(*user).message()), HasSubstr("is no builtin.module"));
  user->set_operand(0, Value());
  EXPECT_THAT(std::string(write(*module).message()),
              HasSubstr("op 'x.b' has no value for operand 0"));
  const OwnedOp other = Parsed(context, "%0 = x.a() : () -> f32");
  user->set_operand(0, other->region().front().front()->result());
  EXPECT_THAT(std::string(write(*module).message()), HasSubstr("from outside of the module"));
  user->set_operand(0, module->region().front().front()->result());
}

TEST(BinaryModuleTest, TheErrorOfTheSinkStopsWriting) {
  Context context;
  const OwnedOp module = Parsed(context, LargeConstant(100));
  int calls = 0;
  const absl::Status status = WriteBinaryModule(*module, [&](std::string_view) {
    ++calls;
    return absl::UnavailableError("full");
  });
  EXPECT_EQ(status, absl::UnavailableError("full"));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tenon
