// Weights in fewer bits are made of a model's file without the file in memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "frontends/cpp/tenon.h"
#include "ir/core/constants/blob.h"
#include "ir/core/constants/constant_bytes.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"
#include "kernels/cpu/gemm/bf16.h"
#include "tests/executor/mapped_weights.h"
#include "tests/executor/peak_memory.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSize = 1024, kLayers = 16;
constexpr size_t kLayerBytes = static_cast<size_t>(kSize * kSize) * sizeof(float);

// How the matrices lie in the file.
enum class Storage : uint8_t { kRows, kColumns, kParts };

// Products one after the other, whose weights are all of `file` or of a copy of it on the heap.
absl::StatusOr<Model> Layers(const MappedWeights& file, Storage storage, int64_t layers,
                             bool of_file) {
  auto context = std::make_shared<Context>();
  RegisterAllDialects(*context);
  const std::string x = fmt::format("tensor<1x{}xf32>", kSize);
  const std::string w = fmt::format("tensor<{0}x{0}xf32>", kSize);
  std::string text = fmt::format(
      "func.func() <{{function_type = ({0}) -> {0}, sym_name = \"main\"}}> ({{\n^bb0(%x0: {0}):\n",
      x);
  for (int64_t i = 0; i < layers; ++i) {
    text +=
        fmt::format("%w{0} = core.constant() <{{value = dense<{0}.5> : {1}}}> : () -> {1}\n", i, w);
    text += fmt::format(
        "%x{0} = ten.matmul(%x{1}, %w{1}) <{{transpose_b = {2}}}> : ({3}, {4}) -> {3}\n", i + 1, i,
        storage == Storage::kColumns, x, w);
  }
  text += fmt::format("func.return(%x{}) : ({}) -> ()\n}}) : () -> ()\n", layers, x);
  TENON_ASSIGN_OR_RETURN(OwnedOp module, ParseModule(*context, text));
  size_t at = 64;
  module->Walk([&](Operation* op) {
    if (op->name() != "core.constant") return;
    const Type type = op->result(0).type();
    const std::span<const std::byte> bytes = file.source.bytes.subspan(at, kLayerBytes);
    at += kLayerBytes;
    if (storage == Storage::kParts) {
      const auto joined = JoinBlobs(kSize, {Blob::OfFile(bytes.first(kLayerBytes / 4), nullptr),
                                            Blob::OfFile(bytes.subspan(kLayerBytes / 4), nullptr)});
      op->SetAttr("value", of_file ? DeferredElements(*context, type, joined)
                                   : Attribute::Elements(*context, type, joined->Whole()));
    } else {
      op->SetAttr("value",
                  Attribute::Elements(*context, type,
                                      of_file ? Blob::OfFile(bytes, nullptr) : Blob::Copy(bytes)));
    }
  });
  context->ReleaseUnusedBlobs();
  return Model(context, std::move(module), {file.source});
}

// A file whose numbers are in [-1/2, 1/2).
void WriteLayers(const fs::path& path, int64_t layers) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(std::string(64, 'h').data(), 64);
  std::vector<float> row(static_cast<size_t>(kSize));
  uint32_t state = 1;
  for (int64_t i = 0; i < layers * kSize; ++i) {
    for (float& value : row) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
    }
    out.write(reinterpret_cast<const char*>(row.data()),
              static_cast<std::streamsize>(row.size() * sizeof(float)));
  }
}

struct Case {
  Precision precision;
  Storage storage;
};

class CompressedMemory : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().precision == Precision::kBf16 && !kernels::cpu::HasBf16()) {
      GTEST_SKIP() << "the CPU has no bf16 products";
    }
    folder_ = fs::path(::testing::TempDir()) / fmt::format("compressed_memory_{}", getpid());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  absl::StatusOr<std::vector<float>> Run(const MappedWeights& file, int64_t layers, bool of_file,
                                         bool cached) const {
    TENON_ASSIGN_OR_RETURN(Model model, Layers(file, GetParam().storage, layers, of_file));
    OptimizeOptions options;
    options.precision = GetParam().precision;
    OptimizeReport report;
    TENON_RETURN_IF_ERROR(Optimize(model, options, &report));
    EXPECT_EQ(report.precision, GetParam().precision);
    CompileOptions compile = {.threads = 1};
    if (cached) compile.weight_cache = folder_ / "cache";
    TENON_ASSIGN_OR_RETURN(const Program program, Compile(std::move(model), compile));
    const Tensor x = Tensor::Make(DType::kF32, std::vector<int64_t>{1, kSize});
    std::fill_n(x.as<float>(), kSize, 0.0f);
    x.as<float>()[3] = 1;
    TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> y, program.Run(std::vector{x}));
    const float* const first = y.at(0).as<float>();
    return std::vector<float>(first, first + kSize);
  }

  fs::path folder_;
};

// Whatever the weights lie in, they are the same numbers.
TEST_P(CompressedMemory, OfAFileAsOfTheHeap) {
  WriteLayers(folder_ / "weights", 1);
  const MappedWeights file(folder_ / "weights");
  const absl::StatusOr<std::vector<float>> of_file = Run(file, 1, true, false);
  const absl::StatusOr<std::vector<float>> of_heap = Run(file, 1, false, false);
  ASSERT_TRUE(of_file.ok()) << of_file.status();
  ASSERT_TRUE(of_heap.ok()) << of_heap.status();
  EXPECT_EQ(*of_file, *of_heap);
  // Row 3 of the matrix, in fewer bits.
  const auto* w = reinterpret_cast<const float*>(file.source.bytes.data() + 64);
  for (int64_t j = 0; j < kSize; j += 5) {
    int64_t at = 3 * kSize + j;
    if (GetParam().storage == Storage::kColumns) at = j * kSize + 3;
    if (GetParam().storage == Storage::kParts) {
      at =
          j < kSize / 4 ? 3 * kSize / 4 + j : kSize * kSize / 4 + 3 * kSize * 3 / 4 + j - kSize / 4;
    }
    EXPECT_NEAR(of_file->at(static_cast<size_t>(j)), w[at], 0.005) << j;
  }
}

// The most that is resident at a time, from the file to the first run, is little more than the
// compressed weights; also where a cache has them packed.
TEST_P(CompressedMemory, PeakIsThatOfTheCompressedWeights) {
  WriteLayers(folder_ / "weights", kLayers);
  fs::last_write_time(folder_ / "weights",
                      fs::last_write_time(folder_ / "weights") - std::chrono::hours(1));
  for (const bool cached : {false, true, true}) {
    const MappedWeights file(folder_ / "weights");
    const PeakMemory peak;
    if (!peak.added()) GTEST_SKIP() << "the system does not tell";
    ASSERT_TRUE(Run(file, kLayers, true, cached).ok());
    // Of int8 there is a factor of four bytes for each 32; 24 MiB are for what is read of the file
    // at a time, one layer in another form, and everything else.
    const size_t f32 = static_cast<size_t>(kLayers) * kLayerBytes;
    const size_t compressed =
        GetParam().precision == Precision::kBf16 ? f32 / 2 : f32 / 4 + f32 / 32;
    EXPECT_LE(*peak.added(), compressed + (size_t{24} << 20)) << "of " << f32;
  }
}

INSTANTIATE_TEST_SUITE_P(, CompressedMemory,
                         ::testing::Values(Case{Precision::kInt8, Storage::kRows},
                                           Case{Precision::kInt8, Storage::kColumns},
                                           Case{Precision::kInt8, Storage::kParts},
                                           Case{Precision::kBf16, Storage::kRows},
                                           Case{Precision::kBf16, Storage::kParts}));

}  // namespace
}  // namespace tenon
