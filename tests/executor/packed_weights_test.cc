// Packed weights: shared in memory, kept on disk.
#include "executor/weights/packed_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "ir/core/constants/blob.h"
#include "tests/executor/mapped_weights.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A folder of the test's own, and what writing and reading the cache in it says.
class PackedWeightsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("packed_weights_" + std::to_string(getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<PackedWeights> Make(std::vector<SourceFile> files = {}, bool on_disk = true,
                                      bool verify = false) {
    PackedWeights::Options options;
    options.verify_weights = verify;
    options.files = std::move(files);
    if (on_disk) options.cache_folder = folder_ / "cache";
    options.warn = [this](const std::string& message) {
      const std::lock_guard<std::mutex> lock(mutex_);
      warnings_.push_back(message);
    };
    return std::make_unique<PackedWeights>(std::move(options));
  }

  // "Packs" by negating.
  static kernels::PackedBytes Negated(PackedWeights& store, const Tensor& w,
                                      std::string_view layout = "negated") {
    return store.Pack(std::span(&w, 1), layout, w.num_bytes(), [&](std::byte* bytes) {
      for (int64_t i = 0; i < w.numel(); ++i) {
        const float value = -w.as<float>()[i];
        std::memcpy(bytes + i * static_cast<int64_t>(sizeof(value)), &value, sizeof(value));
      }
      return true;
    });
  }
  static void ExpectNegated(const kernels::PackedBytes& packed, const Tensor& w) {
    ASSERT_NE(packed, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(packed.get()) % 64, 0u);
    for (int64_t i = 0; i < w.numel(); ++i) {
      float value;
      std::memcpy(&value, packed.get() + i * static_cast<int64_t>(sizeof(value)), sizeof(value));
      ASSERT_EQ(value, -w.as<float>()[i]) << i;
    }
  }
  // A start with one constant: how many were packed for it.
  int64_t Start(const Tensor& w) {
    const std::unique_ptr<PackedWeights> store = Make();
    ExpectNegated(Negated(*store, w), w);
    store->Save();
    return store->stats().packed;
  }
  // The cache files, without the notes on source files.
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_ / "cache")) {
      if (entry.path().extension() == ".weights") files.push_back(entry.path());
      EXPECT_NE(entry.path().extension(), ".tmp");
    }
    return files;
  }

  fs::path folder_;
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

TEST_F(PackedWeightsTest, EqualConstantsAreOne) {
  const std::unique_ptr<PackedWeights> store = Make({}, false);
  const Tensor a = Weights(1), copy = Weights(1), other = Weights(2);
  // Differs where no sample is taken.
  const Tensor nearly = Weights(1);
  nearly.as<float>()[100] = 0;
  const kernels::PackedBytes packed = Negated(*store, a);
  ExpectNegated(packed, a);
  EXPECT_EQ(Negated(*store, a), packed);
  EXPECT_EQ(Negated(*store, copy), packed);
  ExpectNegated(Negated(*store, other), other);
  ExpectNegated(Negated(*store, nearly), nearly);
  EXPECT_NE(Negated(*store, a, "another layout"), packed);
  EXPECT_EQ(store->stats().shared, 2);
}

TEST_F(PackedWeightsTest, WhatCouldNotBeFilledIsNotKept) {
  const std::unique_ptr<PackedWeights> store = Make({}, true);
  const Tensor w = Weights(1);
  EXPECT_EQ(
      store->Pack(std::span(&w, 1), "negated", w.num_bytes(), [](std::byte*) { return false; }),
      nullptr);
  store->Save();
  EXPECT_TRUE(Files().empty());
  ExpectNegated(Negated(*store, w), w);
}

TEST_F(PackedWeightsTest, NothingIsKeptThatNobodyHas) {
  const std::unique_ptr<PackedWeights> store = Make({}, false);
  const Tensor a = Weights(1);
  const std::weak_ptr<const std::byte> packed = Negated(*store, a);
  EXPECT_TRUE(packed.expired());
  ExpectNegated(Negated(*store, a), a);
  EXPECT_EQ(store->stats().packed, 2);
}

TEST_F(PackedWeightsTest, TheNextStartMapsThem) {
  const Tensor a = Weights(1), b = Weights(2);
  {
    const std::unique_ptr<PackedWeights> store = Make();
    ExpectNegated(Negated(*store, a), a);
    ExpectNegated(Negated(*store, b), b);
    store->Save();
  }
  ASSERT_EQ(Files().size(), 1u);
  const std::unique_ptr<PackedWeights> store = Make();
  ExpectNegated(Negated(*store, a), a);
  ExpectNegated(Negated(*store, b), b);
  EXPECT_EQ(store->stats().packed, 0);
  EXPECT_EQ(store->stats().from_disk, 2);
  EXPECT_EQ(store->stats().from_disk_bytes, a.num_bytes() + b.num_bytes());
  // Other values and other layouts are not taken for them, and are added.
  const Tensor c = Weights(3);
  ExpectNegated(Negated(*store, c), c);
  store->Save();
  const std::unique_ptr<PackedWeights> third = Make();
  ExpectNegated(Negated(*third, a), a);
  ExpectNegated(Negated(*third, c), c);
  EXPECT_EQ(third->stats().from_disk, 2);
  EXPECT_THAT(warnings_, IsEmpty());
}

// Bytes at any place of the file are changed, and the file is cut off and lengthened.
TEST_F(PackedWeightsTest, DamagedFilesAreReplaced) {
  const Tensor a = Weights(1, 1000);
  ASSERT_EQ(Start(a), 1);
  ASSERT_EQ(Start(a), 0);
  const fs::path file = Files()[0];
  const auto size = static_cast<std::streamoff>(fs::file_size(file));
  // Header, index, and places among the entries.
  const std::streamoff index_end = 64 + 48;
  for (std::streamoff at = 0; at < size - 100; at += at < index_end ? 4 : 500) {
    if (at >= index_end && at < 128) continue;  // padding
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(at);
    stream.write("\xa5\x5a", 2);
    stream.close();
    EXPECT_EQ(Start(a), 1) << at;
    EXPECT_EQ(Start(a), 0) << at;
    EXPECT_EQ(warnings_.size(), 1u) << at;
    warnings_.clear();
  }
  for (const std::streamoff length : {std::streamoff{0}, std::streamoff{10}, size / 2, size + 1}) {
    fs::resize_file(file, static_cast<uintmax_t>(length));
    EXPECT_EQ(Start(a), 1) << length;
    EXPECT_EQ(Start(a), 0) << length;
    EXPECT_EQ(warnings_.size(), 1u) << length;
    warnings_.clear();
  }
  std::ofstream(file) << "something else entirely, long enough to have a header in it .........";
  EXPECT_EQ(Start(a), 1);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("is no cache of packed weights")));
}

// One bit of the entries, with the time of modification put back.
TEST_F(PackedWeightsTest, ABitThatFlipsIsNoticed) {
  const Tensor a = Weights(1, 1000);
  ASSERT_EQ(Start(a), 1);
  const fs::path file = Files()[0];
  for (const std::streamoff at :
       {std::streamoff{128}, std::streamoff{2000}, std::streamoff{4000}}) {
    const auto time = fs::last_write_time(file);
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const auto byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(at);
    stream.put(byte);
    stream.close();
    fs::last_write_time(file, time);
    EXPECT_EQ(Start(a), 1) << at;
    EXPECT_EQ(Start(a), 0) << at;
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("its contents have another checksum")));
    warnings_.clear();
  }
}

// A seal that is not there, or damaged, costs reading the file once.
TEST_F(PackedWeightsTest, FilesWithoutASealAreChecked) {
  const Tensor a = Weights(1, 1000);
  ASSERT_EQ(Start(a), 1);
  const fs::path seal = Files()[0].string() + ".seal";
  ASSERT_TRUE(fs::exists(seal));
  fs::remove(seal);
  EXPECT_EQ(Start(a), 0);
  EXPECT_TRUE(fs::exists(seal));
  std::ofstream(seal) << "x";
  EXPECT_EQ(Start(a), 0);
  EXPECT_GT(fs::file_size(seal), 1u);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(PackedWeightsTest, NobodyElseReadsOrWritesTheFiles) {
  const Tensor a = Weights(1, 1000);
  ASSERT_EQ(Start(a), 1);
  const auto mode = [](const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  };
  EXPECT_EQ(mode(folder_ / "cache"), 0700u);
  for (const auto& entry : fs::directory_iterator(folder_ / "cache"))
    EXPECT_EQ(mode(entry.path()), 0600u) << entry.path();
}

TEST_F(PackedWeightsTest, FilesThatOthersCanWriteAreReplaced) {
  const Tensor a = Weights(1, 1000);
  ASSERT_EQ(Start(a), 1);
  const fs::path file = Files()[0];
  for (const fs::perms more : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(file, more, fs::perm_options::add);
    EXPECT_EQ(Start(a), 1);
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("can be written by other users")));
    warnings_.clear();
    EXPECT_EQ(Start(a), 0);
  }
}

TEST_F(PackedWeightsTest, AFolderThatOthersCanWriteIsNotUsed) {
  const Tensor a = Weights(1, 1000);
  for (const fs::perms more : {fs::perms::group_write, fs::perms::others_write}) {
    fs::create_directories(folder_ / "cache");
    fs::permissions(folder_ / "cache", fs::perms::owner_all | more);
    EXPECT_EQ(Start(a), 1);
    EXPECT_EQ(Start(a), 1);
    EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
    EXPECT_EQ(warnings_.size(), 2u);
    EXPECT_THAT(warnings_[0], HasSubstr("can be written by other users"));
    warnings_.clear();
  }
}

// Links and FIFOs under the names of cache files and notes.
TEST_F(PackedWeightsTest, OnlyRegularFilesAreRead) {
  const fs::path model = folder_ / "model.onnx", elsewhere = folder_ / "elsewhere";
  fs::create_directories(folder_);
  WriteWeights(model, 5);
  const auto start = [&] {
    MappedWeights mapped(model);
    mapped.source.changed_ns -= 10'000'000'000;
    const std::unique_ptr<PackedWeights> store = Make({mapped.source});
    ExpectNegated(Negated(*store, mapped.weights), mapped.weights);
    store->Save();
    return store->stats().packed;
  };
  ASSERT_EQ(start(), 1);
  std::vector<fs::path> names;
  for (const auto& entry : fs::directory_iterator(folder_ / "cache")) names.push_back(entry.path());
  ASSERT_EQ(names.size(), 3u);  // entries, their seal, the note
  for (const fs::path& name : names) {
    for (const bool link : {false, true}) {
      if (link) {
        fs::rename(name, elsewhere);
        fs::create_symlink(elsewhere, name);
      } else {
        fs::remove(name);
        ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
      }
      EXPECT_EQ(start(), name.extension() == ".weights" ? 1 : 0) << name << link;
      EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(name))) << name << link;
      EXPECT_EQ(start(), 0) << name << link;
    }
  }
}

// A writer that was killed leaves a file that nobody has locked.
TEST_F(PackedWeightsTest, LeftoversAreRemoved) {
  const Tensor a = Weights(1, 1000);
  fs::create_directories(folder_ / "cache");
  fs::permissions(folder_ / "cache", fs::perms::owner_all);
  std::ofstream(folder_ / "cache" / "x.weights.1-1.tmp") << "half a file";
  ASSERT_EQ(Start(a), 1);
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(PackedWeightsTest, WritersAtOnce) {
  std::vector<std::thread> writers;
  for (int w = 0; w < 6; ++w) {
    writers.emplace_back([this, w] {
      for (int i = 0; i < 10; ++i) {
        const Tensor a = Weights(0, 5000), own = Weights(static_cast<float>(w), 5000);
        const std::unique_ptr<PackedWeights> store = Make();
        ExpectNegated(Negated(*store, a), a);
        ExpectNegated(Negated(*store, own, "layout " + std::to_string(i)), own);
        store->Save();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(PackedWeightsTest, AFolderThatCannotBeUsedIsAWarning) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "cache") << "a file where a folder should be";
  const std::unique_ptr<PackedWeights> store = Make();
  const Tensor a = Weights(1);
  ExpectNegated(Negated(*store, a), a);
  store->Save();
  EXPECT_FALSE(warnings_.empty());
}

void SetTime(const fs::path& path, time_t time) {
  const utimbuf times = {time, time};
  ASSERT_EQ(utime(path.c_str(), &times), 0);
}

TEST_F(PackedWeightsTest, SourceFilesAreKnownByTheirIdentity) {
  const fs::path model = folder_ / "model.onnx";
  WriteWeights(model, 5);
  SetTime(model, 1'000'000'000);
  // As if the file had changed some seconds ago, unless it is young.
  const auto start = [&](const fs::path& path, int64_t packed, bool young = false,
                         bool verify = false) {
    MappedWeights mapped(path);
    if (!young) mapped.source.changed_ns -= 10'000'000'000;
    const std::unique_ptr<PackedWeights> store = Make({mapped.source}, true, verify);
    const kernels::PackedBytes negated = Negated(*store, mapped.weights);
    store->Save();
    EXPECT_EQ(store->stats().packed, packed);
    // What is packed, or comes from the cache, is not resident as the source.
    EXPECT_LE(mapped.resident_pages(), 32u);
    ExpectNegated(negated, mapped.weights);
  };
  const auto notes = [&] {
    int64_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder_ / "cache"))
      count += entry.path().extension() == ".id";
    return count;
  };
  start(model, 1, /*young=*/true);
  EXPECT_EQ(notes(), 0);
  start(model, 0);
  start(model, 0);
  EXPECT_EQ(notes(), 1);
  ASSERT_EQ(Files().size(), 1u);
  // The same contents under another name, and at another time.
  fs::copy_file(model, folder_ / "copy.onnx");
  start(folder_ / "copy.onnx", 0);
  SetTime(model, 1'000'000'001);
  start(model, 0);
  EXPECT_EQ(Files().size(), 1u);
  EXPECT_EQ(notes(), 2);
  // Edited in place, of the same size, with its time put back.
  usleep(20'000);
  WriteWeights(model, 6);
  SetTime(model, 1'000'000'001);
  start(model, 1);
  start(model, 0);
  start(folder_ / "copy.onnx", 0);
  EXPECT_EQ(Files().size(), 2u);
  // Replaced by a file of the same size and time.
  WriteWeights(folder_ / "other.onnx", 7);
  SetTime(folder_ / "other.onnx", 1'000'000'001);
  fs::rename(folder_ / "other.onnx", model);
  start(model, 1);
  start(model, 0);
  EXPECT_THAT(warnings_, IsEmpty());
  // Another identity that happens to be equal: only verifying sees it.
  MappedWeights before(model);
  usleep(20'000);
  WriteWeights(model, 8);
  MappedWeights after(model);
  ASSERT_NE(after.source.changed_ns, before.source.changed_ns);
  after.source.changed_ns = before.source.changed_ns - 10'000'000'000;
  after.source.modified_ns = before.source.modified_ns;
  for (const bool verify : {true, false}) {
    const std::unique_ptr<PackedWeights> store = Make({after.source}, true, verify);
    ExpectNegated(Negated(*store, after.weights), after.weights);
    EXPECT_EQ(store->stats().packed, verify ? 1 : 0);
    store->Save();
  }
  // A damaged note.
  for (const auto& entry : fs::directory_iterator(folder_ / "cache")) {
    if (entry.path().extension() == ".id") std::ofstream(entry.path()) << "x";
  }
  start(folder_ / "copy.onnx", 0);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("is damaged or of another version")));
}

// Equal constants at two places of a file, as tied weights are: packed once, known by both.
TEST_F(PackedWeightsTest, EqualConstantsOfAFile) {
  const fs::path path = folder_ / "model.onnx";
  WriteWeights(path, 5);
  {
    std::ofstream out(path, std::ios::binary | std::ios::app);
    const Tensor again = Weights(5);
    out.write(again.as<char>(), static_cast<std::streamsize>(again.num_bytes()));
  }
  SetTime(path, 1'000'000'000);
  for (const bool cached : {false, true}) {
    const MappedWeights mapped(path);
    const auto part = [&](int64_t first) {
      return Tensor::Borrow(DType::kF32, std::vector<int64_t>{100'000},
                            mapped.weights.as<float>() + first, std::make_shared<int>());
    };
    const Tensor a = part(0), b = part(100'000);
    const std::unique_ptr<PackedWeights> store = Make({mapped.source});
    const kernels::PackedBytes packed = Negated(*store, a), other = Negated(*store, b);
    store->Save();
    ExpectNegated(packed, a);
    ExpectNegated(other, b);
    EXPECT_EQ(store->stats().packed, cached ? 0 : 1);
    EXPECT_EQ(store->stats().from_disk, cached ? 2 : 0);
  }
  EXPECT_THAT(warnings_, IsEmpty());
}

// Two products with equal weights, in programs that share a store.
TEST_F(PackedWeightsTest, ProgramsShareAStore) {
  const std::string text =
      Function("%x: tensor<40x96xf32>", "(tensor<40x96xf32>) -> tensor<40x96xf32>", R"ir(
  %w = core.constant() <{value = dense<0.0625> : tensor<96x96xf32>}> : () -> tensor<96x96xf32>
  %v = core.constant() <{value = dense<0.0625> : tensor<96x96xf32>}> : () -> tensor<96x96xf32>
  %0 = ten.matmul(%x, %w) : (tensor<40x96xf32>, tensor<96x96xf32>) -> tensor<40x96xf32>
  %1 = ten.matmul(%0, %v) : (tensor<40x96xf32>, tensor<96x96xf32>) -> tensor<40x96xf32>
  func.return(%1) : (tensor<40x96xf32>) -> ()
)ir");
  const auto run = [&](const std::shared_ptr<PackedWeights>& store) {
    absl::StatusOr<Program> program = CompileText(text, false, nullptr, 1, store);
    EXPECT_TRUE(program.ok()) << program.status();
    absl::StatusOr<std::vector<Tensor>> out = program->Run(std::vector{Ramp({40, 96})});
    EXPECT_TRUE(out.ok()) << out.status();
    return std::pair(*std::move(program), ValuesOf<float>((*out)[0]));
  };
  const std::shared_ptr<PackedWeights> cold = Make();
  const auto first = run(cold), second = run(cold);
  EXPECT_EQ(cold->stats().packed, 1);
  EXPECT_EQ(first.second, second.second);
  const std::shared_ptr<PackedWeights> warm = Make();
  EXPECT_EQ(run(warm).second, first.second);
  EXPECT_EQ(warm->stats().packed, 0);
  EXPECT_EQ(warm->stats().from_disk, 1);
}

// What a kernel has read of a large constant leaves the memory while it packs the rest.
TEST_F(PackedWeightsTest, PagesLeaveAsTheyArePacked) {
  const fs::path path = folder_ / "model.onnx";
  const int64_t n = 4'000'000;
  WriteWeights(path, 1, n);
  MappedWeights mapped(path);
  const std::shared_ptr<PackedWeights> store = Make({mapped.source}, /*on_disk=*/false);
  InstructionWeights weights(store, {{}, {mapped.weights, nullptr}}, /*instruction=*/0);
  kernels::Kernel kernel;
  kernel.unaligned_inputs = 0b10;
  std::vector<kernels::TensorView> views = {{}, mapped.weights.view()};
  PrepareWeights prepare(kernel, weights, views);
  constexpr int kFrom[] = {1};
  constexpr int64_t kPart = 400'000;
  // Beside the part at hand what the system maps around what is touched.
  const size_t most = mapped.weights.num_bytes() / 4096 / 3;
  const kernels::PackedBytes packed =
      prepare.Pack(kFrom, "copy", mapped.weights.num_bytes(), [&](std::byte* out) {
        for (int64_t first = 0; first < n; first += kPart) {
          const size_t begin = static_cast<size_t>(first) * sizeof(float);
          const size_t end = static_cast<size_t>(first + kPart) * sizeof(float);
          std::memcpy(out + begin, static_cast<const std::byte*>(views[1].data) + begin,
                      end - begin);
          EXPECT_LE(mapped.resident_pages(), most);
          prepare.Release(1, begin, end);
        }
      });
  ASSERT_NE(packed, nullptr);
  EXPECT_EQ(std::memcmp(packed.get(), Weights(1, n).data(), mapped.weights.num_bytes()), 0);
}

// Weights that lie anywhere in a model's file: packed, read as they are, by several instructions.
TEST(MisalignedConstants, GiveTheSameResults) {
  const std::string text =
      Function("%x: tensor<160x160xf32>, %i: tensor<3xi64>",
               "(tensor<160x160xf32>, tensor<3xi64>) -> (tensor<160x160xf32>, tensor<160x160xf32>, "
               "tensor<3x160xf32>)",
               R"ir(
  %w = core.constant() <{value = dense<0.5> : tensor<160x160xf32>}> : () -> tensor<160x160xf32>
  %v = core.constant() <{value = dense<0.5> : tensor<160x160xf32>}> : () -> tensor<160x160xf32>
  %u = core.constant() <{value = dense<0.5> : tensor<160x160xf32>}> : () -> tensor<160x160xf32>
  %0 = ten.matmul(%x, %w) : (tensor<160x160xf32>, tensor<160x160xf32>) -> tensor<160x160xf32>
  %1 = ten.add(%0, %w) : (tensor<160x160xf32>, tensor<160x160xf32>) -> tensor<160x160xf32>
  %2 = ten.matmul(%1, %v) : (tensor<160x160xf32>, tensor<160x160xf32>) -> tensor<160x160xf32>
  %3 = ten.matmul(%v, %x) : (tensor<160x160xf32>, tensor<160x160xf32>) -> tensor<160x160xf32>
  %4 = ten.gather(%u, %i) <{axis = 0 : i64}> : (tensor<160x160xf32>, tensor<3xi64>) -> tensor<3x160xf32>
  func.return(%2, %3, %4) : (tensor<160x160xf32>, tensor<160x160xf32>, tensor<3x160xf32>) -> ()
)ir");
  const std::vector<Tensor> inputs = {Ramp({160, 160}), Ints({3}, {159, 0, 7})};
  for (const bool reference : {false, true}) {
    std::vector<std::vector<float>> expected;
    for (const size_t misalignment : {size_t{0}, size_t{1}, size_t{2}}) {
      std::shared_ptr<Context> context = NewTestContext();
      absl::StatusOr<OwnedOp> module = ParseModule(*context, text);
      ASSERT_TRUE(module.ok()) << module.status();
      float first = 0;
      module->get()->Walk([&](Operation* op) {
        if (op->name() != "core.constant") return;
        const Tensor values = Weights(++first, 160 * 160);
        for (int64_t i = 0; i < values.numel(); ++i) values.as<float>()[i] *= 1e-4f;
        auto memory = std::make_shared<std::vector<std::byte>>(values.num_bytes() + 64);
        void* start = memory->data();
        size_t space = memory->size();
        std::align(32, values.num_bytes() + misalignment, start, space);
        auto* bytes = static_cast<std::byte*>(start) + misalignment;
        std::memcpy(bytes, values.data(), values.num_bytes());
        op->SetAttr("value",
                    Attribute::Elements(*context, op->result(0).type(),
                                        Blob::Borrow({bytes, values.num_bytes()}, memory)));
      });
      absl::StatusOr<Program> program = CompileModule(context, module->get(), reference);
      ASSERT_TRUE(program.ok()) << program.status();
      Session session = program->NewSession(), second = program->NewSession();
      for (Session* s : {&session, &second, &session}) {
        absl::StatusOr<std::vector<Tensor>> out = s->Run(inputs);
        ASSERT_TRUE(out.ok()) << out.status();
        std::vector<std::vector<float>> values;
        for (const Tensor& t : *out) values.push_back(ValuesOf<float>(t));
        if (expected.empty()) expected = values;
        EXPECT_EQ(values, expected) << misalignment;
      }
    }
  }
}

}  // namespace
}  // namespace tenon
