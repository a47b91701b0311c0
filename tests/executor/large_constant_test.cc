// Constants that programs hold only until they are packed.
#include "executor/weights/large_constant.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "executor/weights/packed_weights.h"
#include "fmt/format.h"
#include "ir/core/constants/blob.h"
#include "ir/core/constants/constant_bytes.h"
#include "ir/core/constants/deferred_blob.h"
#include "tests/executor/mapped_weights.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// A folder for a cache of packed weights.
class CacheFolder {
 public:
  CacheFolder()
      : path_(fs::path(::testing::TempDir()) / ("large_constants_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
  }
  ~CacheFolder() { fs::remove_all(path_); }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  const fs::path& path() const { return path_; }
  std::shared_ptr<PackedWeights> Start(std::vector<SourceFile> files = {}) const {
    PackedWeights::Options options;
    options.files = std::move(files);
    options.cache_folder = path_ / "cache";
    options.warn = [](const std::string& message) { ADD_FAILURE() << message; };
    return std::make_shared<PackedWeights>(std::move(options));
  }

 private:
  fs::path path_;
};

// Values that tell rows and columns apart.
float ValueAt(int64_t i) { return static_cast<float>(i % 23 - 11) * 0.03125f; }

// How a constant is stored.
struct Storage {
  size_t misalignment = 0;  // in bytes
  bool joined = false;      // of a fourth and the rest of each row
};

// A module whose i-th large constant lies in memory of the test's own.
class Constants {
 public:
  Constants(std::string_view text, Storage storage) {
    absl::StatusOr<OwnedOp> parsed = ParseModule(*context, text);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    if (!parsed.ok()) return;
    module = *std::move(parsed);
    module->Walk([&](Operation* op) {
      if (op->name() != "core.constant") return;
      const Type type = op->result(0).type();
      const auto n = type.num_elements();
      auto memory = std::make_shared<std::vector<float>>(static_cast<size_t>(n) + 1);
      auto* bytes = reinterpret_cast<std::byte*>(memory->data()) + storage.misalignment;
      const int64_t columns = type.dim(1).constant();
      const int64_t first = storage.joined ? columns / 4 : columns;
      const int64_t rows = n / columns;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t row = i / columns, column = i % columns;
        const int64_t at = column < first ? row * first + column
                                          : rows * first + row * (columns - first) + column - first;
        const float value = ValueAt(i);
        std::memcpy(bytes + at * 4, &value, sizeof(value));
      }
      const std::span<const std::byte> all(bytes, static_cast<size_t>(n) * 4);
      const auto split = static_cast<size_t>(rows * first) * 4;
      std::vector<ConstantBytes> parts = {Blob::Borrow(all.first(split), memory)};
      if (storage.joined) parts.push_back(Blob::Borrow(all.subspan(split), memory));
      op->SetAttr("value", storage.joined ? DeferredElements(*context, type,
                                                             JoinBlobs(static_cast<size_t>(rows),
                                                                       std::move(parts)))
                                          : Attribute::Elements(*context, type, parts[0].stored()));
      memory_.push_back(memory);
    });
    context->ReleaseUnusedBlobs();
  }
  bool alive(size_t i) const { return !memory_.at(i).expired(); }
  void DestroyModule() {
    module = nullptr;
    context->ReleaseUnusedBlobs();
  }

  std::shared_ptr<Context> context = NewTestContext();
  OwnedOp module;

 private:
  std::vector<std::weak_ptr<const void>> memory_;
};

// x * w, with a number of rows that is not known before the run.
std::string Product() {
  return Function(R"(%x: tensor<?x160xf32, ["M", ""]>)",
                  R"((tensor<?x160xf32, ["M", ""]>) -> tensor<?x192xf32, ["M", ""]>)", R"ir(
  %w = core.constant() <{value = dense<0.5> : tensor<160x192xf32>}> : () -> tensor<160x192xf32>
  %0 = ten.matmul(%x, %w) : (tensor<?x160xf32, ["M", ""]>, tensor<160x192xf32>) -> tensor<?x192xf32, ["M", ""]>
  func.return(%0) : (tensor<?x192xf32, ["M", ""]>) -> ()
)ir");
}

// Row 0 of x picks row `row` of w.
void ExpectProduct(absl::StatusOr<std::vector<Tensor>> out, int64_t row) {
  ASSERT_TRUE(out.ok()) << out.status();
  const float* y = out->at(0).as<float>();
  for (int64_t j = 0; j < 192; ++j) ASSERT_EQ(y[j], ValueAt(row * 192 + j)) << j;
}
Tensor Pick(int64_t rows, int64_t row) {
  Tensor x = Tensor::Make(DType::kF32, std::vector<int64_t>{rows, 160});
  std::memset(x.data(), 0, x.num_bytes());
  x.as<float>()[row] = 1;
  return x;
}

TEST(LargeConstant, IsGivenUpByItsLastReader) {
  auto memory = std::make_shared<std::vector<float>>(100, 1.0f);
  const std::weak_ptr<const void> alive = memory;
  float* const data = memory->data();
  const std::vector<int64_t> shape = {100};
  LargeConstant constant(Tensor::Borrow(DType::kF32, shape, data, std::move(memory)), 2);
  EXPECT_EQ(constant.data(), data);
  constant.Done();
  Tensor held = constant.Hold();
  ASSERT_TRUE(held);
  constant.Done();
  EXPECT_FALSE(constant.Hold());
  EXPECT_EQ(held.as<float>()[99], 1.0f);
  EXPECT_FALSE(alive.expired());
  held = Tensor();
  EXPECT_TRUE(alive.expired());
  // The address stays: it says that there is a constant.
  EXPECT_EQ(constant.data(), data);
}

class LargeConstantsOfPrograms : public ::testing::TestWithParam<Storage> {};

TEST_P(LargeConstantsOfPrograms, AreGivenUpOncePacked) {
  Constants constants(Product(), GetParam());
  absl::StatusOr<Program> program = CompileModule(constants.context, constants.module.get(), false);
  ASSERT_TRUE(program.ok()) << program.status();
  constants.DestroyModule();
  EXPECT_TRUE(constants.alive(0));
  Session first = program->NewSession(), second = program->NewSession();
  // Nothing is packed for no rows.
  EXPECT_TRUE(first.Run(std::vector{Tensor::Make(DType::kF32, std::vector<int64_t>{0, 160})}).ok());
  EXPECT_TRUE(constants.alive(0));
  ExpectProduct(first.Run(std::vector{Pick(3, 17)}), 17);
  EXPECT_FALSE(constants.alive(0));
  // Other shapes and sessions have what is packed.
  for (const int64_t rows : {1, 3, 40, 200}) {
    ExpectProduct(first.Run(std::vector{Pick(rows, 159)}), 159);
    ExpectProduct(second.Run(std::vector{Pick(rows, 5)}), 5);
  }
  EXPECT_TRUE(first.Run(std::vector{Tensor::Make(DType::kF32, std::vector<int64_t>{0, 160})}).ok());
}

TEST_P(LargeConstantsOfPrograms, StayWithTheModule) {
  Constants constants(Product(), GetParam());
  const OwnedOp copy(Clone(*constants.module));
  absl::StatusOr<Program> first = CompileModule(constants.context, constants.module.get(), false);
  ASSERT_TRUE(first.ok()) << first.status();
  ExpectProduct(first->Run(std::vector{Pick(3, 17)}), 17);
  EXPECT_TRUE(constants.alive(0));
  // Another program of the same constants, now that the first has given them up.
  absl::StatusOr<Program> second = CompileModule(constants.context, copy.get(), false);
  ASSERT_TRUE(second.ok()) << second.status();
  ExpectProduct(second->Run(std::vector{Pick(3, 18)}), 18);
  ExpectProduct(first->Run(std::vector{Pick(4, 19)}), 19);
}

// Programs that share a store, one of which gives the constant up before the other packs it.
TEST_P(LargeConstantsOfPrograms, ArePackedAgainForAnotherProgram) {
  Constants constants(Product(), GetParam()), equal(Product(), GetParam());
  const auto store = std::make_shared<PackedWeights>(PackedWeights::Options());
  const auto compile = [&](Constants& of) {
    absl::StatusOr<Program> program =
        CompileModule(of.context, of.module.get(), false, nullptr, 1, store);
    EXPECT_TRUE(program.ok()) << program.status();
    of.DestroyModule();
    return *std::move(program);
  };
  const Program first = compile(constants), second = compile(equal);
  ExpectProduct(first.Run(std::vector{Pick(3, 17)}), 17);
  EXPECT_FALSE(constants.alive(0));
  EXPECT_TRUE(equal.alive(0));
  ExpectProduct(second.Run(std::vector{Pick(3, 18)}), 18);
  EXPECT_FALSE(equal.alive(0));
}

// What an earlier start has packed is mapped; nobody will read the constant then either.
TEST_P(LargeConstantsOfPrograms, AreGivenUpForWhatACacheHas) {
  const CacheFolder folder;
  const auto start = [&](int64_t packed, int64_t from_disk) {
    Constants constants(Product(), GetParam());
    const std::shared_ptr<PackedWeights> store = folder.Start();
    absl::StatusOr<Program> program =
        CompileModule(constants.context, constants.module.get(), false, nullptr, 1, store);
    ASSERT_TRUE(program.ok()) << program.status();
    constants.DestroyModule();
    EXPECT_TRUE(constants.alive(0));
    ExpectProduct(program->Run(std::vector{Pick(3, 17)}), 17);
    EXPECT_FALSE(constants.alive(0));
    ExpectProduct(program->Run(std::vector{Pick(40, 159)}), 159);
    EXPECT_EQ(store->stats().packed, packed);
    EXPECT_EQ(store->stats().from_disk, from_disk);
  };
  start(1, 0);
  start(0, 1);
  fs::remove_all(folder.path());
  start(1, 0);
}

TEST_P(LargeConstantsOfPrograms, AreGivenUpWhileOthersRun) {
  for (int round = 0; round < 20; ++round) {
    Constants constants(Product(), GetParam());
    absl::StatusOr<Program> program =
        CompileModule(constants.context, constants.module.get(), false);
    ASSERT_TRUE(program.ok()) << program.status();
    constants.DestroyModule();
    std::vector<std::thread> threads;
    for (int64_t t = 1; t <= 4; ++t) {
      threads.emplace_back([&, t] { ExpectProduct(program->Run(std::vector{Pick(t, t)}), t); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(constants.alive(0));
  }
}

// Packed by one instruction, read as it is by others: by address, by rows, as a result.
TEST_P(LargeConstantsOfPrograms, StayForThoseWhoReadThem) {
  const auto with = [](std::string_view type, std::string_view body, std::string_view results) {
    return Function(
        "%x: tensor<3x160xf32>, %i: tensor<2xi64>",
        "(tensor<3x160xf32>, tensor<2xi64>) -> (tensor<3x160xf32>, " + std::string(type) + ")",
        R"ir(
  %w = core.constant() <{value = dense<0.5> : tensor<160x160xf32>}> : () -> tensor<160x160xf32>
  %0 = ten.matmul(%x, %w) : (tensor<3x160xf32>, tensor<160x160xf32>) -> tensor<3x160xf32>
)ir" + std::string(body) +
            "  func.return(" + std::string(results) + ") : (tensor<3x160xf32>, " +
            std::string(type) + ") -> ()\n");
  };
  const std::string texts[] = {
      with("tensor<160x160xf32>",
           "%1 = ten.neg(%w) : (tensor<160x160xf32>) -> tensor<160x160xf32>\n", "%0, %1"),
      with("tensor<2x160xf32>",
           "%1 = ten.gather(%w, %i) <{axis = 0 : i64}> : (tensor<160x160xf32>, tensor<2xi64>) -> "
           "tensor<2x160xf32>\n",
           "%0, %1"),
      with("tensor<160x160xf32>", "", "%0, %w"),
  };
  for (const std::string& text : texts) {
    Constants constants(text, GetParam());
    absl::StatusOr<Program> program =
        CompileModule(constants.context, constants.module.get(), false);
    ASSERT_TRUE(program.ok()) << program.status();
    constants.DestroyModule();
    const std::vector<Tensor> inputs = {Pick(3, 17), Ints({2}, {2, 0})};
    for (int run = 0; run < 2; ++run) {
      absl::StatusOr<std::vector<Tensor>> out = program->NewSession().Run(inputs);
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_EQ((*out)[0].as<float>()[1], ValueAt(17 * 160 + 1));
      const int64_t row = (*out)[1].shape()[0] == 2 ? 2 : 0;
      const float sign = text.find("ten.neg") != std::string::npos ? -1.0f : 1.0f;
      EXPECT_EQ((*out)[1].as<float>()[3], sign * ValueAt(row * 160 + 3));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, LargeConstantsOfPrograms,
                         ::testing::Values(Storage{0, false}, Storage{1, false}, Storage{0, true},
                                           Storage{1, true}));

// Weights and bias joined of parts in a file: neither is put together but for what reads it, and
// the pages of the file do not stay.
TEST(LargeConstant, JoinedOfAFile) {
  const CacheFolder folder;
  const fs::path path = folder.path() / "weights";
  constexpr int64_t kRows = 8, kColumns = 20'480, kFirst = 4'096;
  WriteWeights(path, 1, (kRows + 1) * kColumns);
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  for (const bool cached : {false, true}) {
    const MappedWeights mapped(path);
    const auto* all = mapped.weights.as<const std::byte>();
    std::shared_ptr<Context> context = NewTestContext();
    absl::StatusOr<OwnedOp> module = ParseModule(
        *context, Function("%x: tensor<?x8xf32, [\"M\", \"\"]>",
                           "(tensor<?x8xf32, [\"M\", \"\"]>) -> tensor<?x20480xf32, [\"M\", \"\"]>",
                           R"ir(
  %w = core.constant() <{value = dense<0.5> : tensor<8x20480xf32>}> : () -> tensor<8x20480xf32>
  %b = core.constant() <{value = dense<0.5> : tensor<20480xf32>}> : () -> tensor<20480xf32>
  %0 = fused.linear(%x, %w, %b) <{activation = "none", alpha = 0.0 : f32, beta = 0.0 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0>, transpose_w = false}> : (tensor<?x8xf32, ["M", ""]>, tensor<8x20480xf32>, tensor<20480xf32>) -> tensor<?x20480xf32, ["M", ""]>
  func.return(%0) : (tensor<?x20480xf32, ["M", ""]>) -> ()
)ir"));
    ASSERT_TRUE(module.ok()) << module.status();
    module->get()->Walk([&](Operation* op) {
      if (op->name() != "core.constant") return;
      const Type type = op->result(0).type();
      const int64_t rows = type.rank() == 2 ? kRows : 1;
      const std::byte* at = type.rank() == 2 ? all : all + kRows * kColumns * 4;
      const auto first = static_cast<size_t>(rows * kFirst * 4);
      const auto rest = static_cast<size_t>(rows * (kColumns - kFirst) * 4);
      std::vector<ConstantBytes> parts = {Blob::OfFile({at, first}, nullptr),
                                          Blob::OfFile({at + first, rest}, nullptr)};
      op->SetAttr(
          "value",
          DeferredElements(*context, type, JoinBlobs(static_cast<size_t>(rows), std::move(parts))));
    });
    const size_t live = context->live_blob_bytes();
    const std::shared_ptr<PackedWeights> store = folder.Start({mapped.source});
    absl::StatusOr<Program> program =
        CompileModule(context, module->get(), false, nullptr, 1, store);
    ASSERT_TRUE(program.ok()) << program.status();
    const auto value = [](int64_t row, int64_t column) {
      const int64_t of_rows = column < kFirst
                                  ? row * kFirst + column
                                  : kRows * kFirst + row * (kColumns - kFirst) + column - kFirst;
      return static_cast<float>(1 + (row < kRows ? of_rows : kRows * kColumns + column));
    };
    for (const int64_t rows : {0, 1, 3}) {
      Tensor x = Tensor::Make(DType::kF32, std::vector<int64_t>{rows, kRows});
      std::memset(x.data(), 0, x.num_bytes());
      if (rows > 0) x.as<float>()[5] = 1;
      absl::StatusOr<std::vector<Tensor>> out = program->Run(std::vector{x});
      ASSERT_TRUE(out.ok()) << out.status();
      for (int64_t j = 0; rows > 0 && j < kColumns; j += 1023) {
        ASSERT_EQ((*out)[0].as<float>()[j], value(5, j) + value(kRows, j)) << j;
      }
    }
    EXPECT_EQ(context->live_blob_bytes(), live);
    EXPECT_EQ(store->stats().packed, cached ? 0 : 1);
    EXPECT_EQ(store->stats().from_disk, cached ? 1 : 0);
    // Of 180 pages: with each that is read the system maps up to 15 beside it, of other parts too.
    EXPECT_LE(mapped.resident_pages(), 90u);
  }
}

// Weights that are made of what is in a file, by a recipe. A start that finds them packed makes
// none; one whose recipe is another does.
TEST(LargeConstant, OfARecipeIsMadeOnceWhereACacheKeepsIt) {
  const CacheFolder folder;
  const fs::path path = folder.path() / "weights";
  constexpr int64_t kColumns = 192;
  WriteWeights(path, 1, 160 * kColumns);
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  const struct {
    float factor;
    int made;
  } starts[] = {{2, 1}, {2, 0}, {3, 1}, {2, 0}};
  for (const auto& start : starts) {
    const MappedWeights mapped(path);
    std::shared_ptr<Context> context = NewTestContext();
    absl::StatusOr<OwnedOp> module = ParseModule(*context, Product());
    ASSERT_TRUE(module.ok()) << module.status();
    int made = 0;
    module->get()->Walk([&](Operation* op) {
      if (op->name() != "core.constant") return;
      const std::shared_ptr<const Blob> source =
          Blob::OfFile({mapped.weights.as<const std::byte>(), mapped.weights.num_bytes()}, nullptr);
      op->SetAttr("value",
                  DeferredElements(*context, op->result(0).type(),
                                   std::make_shared<const DeferredBlob>(
                                       fmt::format("times {}", start.factor), std::vector{source},
                                       source->size(), [&made, source, &start](std::byte* to) {
                                         ++made;
                                         for (size_t at = 0; at < source->size(); at += 4) {
                                           float x;
                                           std::memcpy(&x, source->bytes().data() + at, 4);
                                           x *= start.factor;
                                           std::memcpy(to + at, &x, 4);
                                         }
                                         return true;
                                       })));
    });
    const size_t live = context->live_blob_bytes();
    absl::StatusOr<Program> program =
        CompileModule(context, module->get(), false, nullptr, 1, folder.Start({mapped.source}));
    ASSERT_TRUE(program.ok()) << program.status();
    made = 0;  // builds with checks read constants while they compile
    for (const int64_t rows : {1, 3}) {
      const Tensor x = Pick(rows, 17);
      absl::StatusOr<std::vector<Tensor>> out = program->Run(std::vector{x});
      ASSERT_TRUE(out.ok()) << out.status();
      for (int64_t j = 0; j < kColumns; j += 13) {
        ASSERT_EQ((*out)[0].as<float>()[j],
                  start.factor * static_cast<float>(1 + 17 * kColumns + j));
      }
    }
    EXPECT_EQ(made, start.made);
    EXPECT_EQ(context->live_blob_bytes(), live);
  }
}

// A run that lacks memory to make a constant fails, and the next one makes it: where it is packed,
// and where it is read as it is.
TEST(LargeConstant, IsMadeOnceThereIsMemory) {
  for (const bool packed : {true, false}) {
    SCOPED_TRACE(packed);
    std::shared_ptr<Context> context = NewTestContext();
    absl::StatusOr<OwnedOp> module = ParseModule(
        *context, packed ? Product()
                         : Function("%w: tensor<192x160xf32>",
                                    "(tensor<192x160xf32>) -> tensor<160x160xf32>", R"ir(
  %x = core.constant() <{value = dense<0.5> : tensor<160x192xf32>}> : () -> tensor<160x192xf32>
  %0 = ten.matmul(%x, %w) : (tensor<160x192xf32>, tensor<192x160xf32>) -> tensor<160x160xf32>
  func.return(%0) : (tensor<160x160xf32>) -> ()
)ir"));
    ASSERT_TRUE(module.ok()) << module.status();
    bool memory = true;
    module->get()->Walk([&](Operation* op) {
      if (op->name() != "core.constant") return;
      op->SetAttr("value",
                  DeferredElements(*context, op->result(0).type(),
                                   std::make_shared<const DeferredBlob>(
                                       "numbers", std::vector<std::shared_ptr<const Blob>>(),
                                       160 * 192 * 4, [&memory](std::byte* to) {
                                         for (int64_t i = 0; i < 160 * 192; ++i) {
                                           const float value = ValueAt(i);
                                           std::memcpy(to + i * 4, &value, 4);
                                         }
                                         return memory;
                                       })));
    });
    absl::StatusOr<Program> program = CompileModule(context, module->get(), false);
    ASSERT_TRUE(program.ok()) << program.status();
    memory = false;  // from here on: builds with checks read constants while they compile
    Session session = program->NewSession();
    Tensor x = Pick(3, 17);
    if (!packed) {
      x = Tensor::Make(DType::kF32, std::vector<int64_t>{192, 160});
      std::memset(x.data(), 0, x.num_bytes());
      for (int64_t i = 0; i < 160; ++i) x.as<float>()[i * 160 + i] = 1;
    }
    const absl::Status failed = session.Run(std::vector{x}).status();
    EXPECT_NE(failed.message().find("memory"), std::string_view::npos) << failed;
    memory = true;
    absl::StatusOr<std::vector<Tensor>> out = session.Run(std::vector{x});
    ASSERT_TRUE(out.ok()) << out.status();
    for (int64_t j = 0; j < 160; ++j) {
      ASSERT_EQ((*out)[0].as<float>()[j], ValueAt(packed ? 17 * 192 + j : j)) << j;
    }
  }
}

// A program whose weights are part of a file, started twice: the second run does not read them.
TEST(LargeConstant, OfAFileIsNotReadWhereACacheHasIt) {
  const CacheFolder folder;
  const fs::path path = folder.path() / "weights";
  WriteWeights(path, 1);
  // Files that were just written are read, to be sure of their contents.
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  for (const bool cached : {false, true}) {
    const MappedWeights mapped(path);
    std::shared_ptr<Context> context = NewTestContext();
    absl::StatusOr<OwnedOp> module = ParseModule(
        *context,
        Function("%x: tensor<1x250xf32>", "(tensor<1x250xf32>) -> tensor<1x400xf32>", R"ir(
  %w = core.constant() <{value = dense<0.5> : tensor<250x400xf32>}> : () -> tensor<250x400xf32>
  %0 = ten.matmul(%x, %w) : (tensor<1x250xf32>, tensor<250x400xf32>) -> tensor<1x400xf32>
  func.return(%0) : (tensor<1x400xf32>) -> ()
)ir"));
    ASSERT_TRUE(module.ok()) << module.status();
    auto owner = std::make_shared<int>();
    const std::weak_ptr<const void> alive = owner;
    const std::span<const std::byte> bytes = mapped.source.bytes.subspan(64);
    module->get()->Walk([&](Operation* op) {
      if (op->name() != "core.constant") return;
      op->SetAttr("value", Attribute::Elements(*context, op->result(0).type(),
                                               Blob::Borrow(bytes, std::move(owner))));
    });
    const std::shared_ptr<PackedWeights> store = folder.Start({mapped.source});
    absl::StatusOr<Program> program =
        CompileModule(context, module->get(), false, nullptr, 1, store);
    ASSERT_TRUE(program.ok()) << program.status();
    *module = nullptr;
    context->ReleaseUnusedBlobs();
    const size_t pages = mapped.resident_pages();
    Tensor x = Tensor::Make(DType::kF32, std::vector<int64_t>{1, 250});
    std::memset(x.data(), 0, x.num_bytes());
    x.as<float>()[249] = 1;
    absl::StatusOr<std::vector<Tensor>> out = program->Run(std::vector{x});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(store->stats().from_disk, cached ? 1 : 0);
    EXPECT_TRUE(alive.expired());
    EXPECT_LE(mapped.resident_pages(), pages);
    EXPECT_EQ((*out)[0].as<float>()[399], 100'000.0f);
  }
}

// A constant that is packed in a loop's body belongs to the program around as well.
TEST_P(LargeConstantsOfPrograms, OfRegions) {
  Constants constants(Function("%x: tensor<3x160xf32>, %n: tensor<i64>, %c: tensor<i1>",
                               "(tensor<3x160xf32>, tensor<i64>, tensor<i1>) -> tensor<3x160xf32>",
                               R"ir(
  %w = core.constant() <{value = dense<0.5> : tensor<160x160xf32>}> : () -> tensor<160x160xf32>
  %0 = ctl.if(%c) ({
    %1 = ten.matmul(%x, %w) : (tensor<3x160xf32>, tensor<160x160xf32>) -> tensor<3x160xf32>
    ctl.yield(%1) : (tensor<3x160xf32>) -> ()
  }, {
    ctl.yield(%x) : (tensor<3x160xf32>) -> ()
  }) : (tensor<i1>) -> tensor<3x160xf32>
  func.return(%0) : (tensor<3x160xf32>) -> ()
)ir"),
                      GetParam());
  absl::StatusOr<Program> program = CompileModule(constants.context, constants.module.get(), false);
  ASSERT_TRUE(program.ok()) << program.status();
  constants.DestroyModule();
  const bool yes = true, no = false;
  const std::vector<int64_t> scalar;
  const Tensor n = Tensor::Make(DType::kI64, scalar);
  const auto run = [&](bool condition) {
    return program->Run(
        std::vector{Pick(3, 7), n, Tensor::Copy(DType::kBool, scalar, condition ? &yes : &no)});
  };
  EXPECT_TRUE(run(false).ok());
  EXPECT_TRUE(constants.alive(0));
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<std::vector<Tensor>> out = run(true);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].as<float>()[1], ValueAt(7 * 160 + 1));
    EXPECT_FALSE(constants.alive(0));
  }
}

}  // namespace
}  // namespace tenon
