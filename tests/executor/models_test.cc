// What holds of every model, whatever it computes: a run in the steady state allocates nothing, the
// arena is as small as can be, and results depend neither on the number of threads nor on sessions
// that run beside. Of tests/models, or of the folders that TENON_MODELS in the environment names
// (separated by colons): each has model.onnx and test_data_set_M below it, or folders with these.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "frontends/onnx/file/test_data.h"
#include "tests/executor/counting_allocator.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-4;

struct DataSet {
  std::string name;
  std::vector<Tensor> inputs, expected;
};

std::vector<fs::path> ModelFolders() {
  std::vector<fs::path> roots;
  const char* named = std::getenv("TENON_MODELS");
  std::istringstream text(named == nullptr ? "" : named);
  for (std::string root; std::getline(text, root, ':');) roots.emplace_back(root);
  if (roots.empty()) roots.push_back(fs::path(TENON_SOURCE_DIR) / "tests" / "models");
  std::vector<fs::path> folders;
  for (const fs::path& root : roots) {
    if (fs::exists(root / "model.onnx")) folders.push_back(root);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root, error)) {
      if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// prefix_0.pb, prefix_1.pb, …; a tensor that names a port goes there.
void ReadTensors(const fs::path& folder, const std::string& prefix,
                 std::span<const TensorSpec> ports, std::vector<Tensor>& tensors) {
  tensors.resize(ports.size());
  for (size_t n = 0;; ++n) {
    const fs::path path = folder / fmt::format("{}_{}.pb", prefix, n);
    if (!fs::exists(path)) break;
    absl::StatusOr<onnx::NamedTensor> read = onnx::ReadTensorProto(path.string());
    ASSERT_TRUE(read.ok()) << read.status();
    size_t slot = n;
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!read->name.empty() && ports[i].name == read->name) slot = i;
    }
    ASSERT_LT(slot, ports.size()) << path;
    tensors[slot] = Tensor::Copy(read->dtype, read->dims, read->blob->bytes().data());
  }
}

class ModelsTest : public ::testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    absl::StatusOr<Model> model = Load((GetParam() / "model.onnx").string());
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::Status optimized = Optimize(*model);
    ASSERT_TRUE(optimized.ok()) << optimized;
    model_.emplace(*std::move(model));
    Program program = CompileWith(1);
    for (const auto& entry : fs::directory_iterator(GetParam())) {
      DataSet& set = sets_.emplace_back();
      set.name = entry.path().filename().string();
      if (!set.name.starts_with("test_data_set_")) {
        sets_.pop_back();
        continue;
      }
      ReadTensors(entry.path(), "input", program.inputs(), set.inputs);
      ReadTensors(entry.path(), "output", program.outputs(), set.expected);
    }
    ASSERT_FALSE(sets_.empty());
  }
  Program CompileWith(int threads) const {
    absl::StatusOr<Program> program = Compile(*model_, {.threads = threads});
    EXPECT_TRUE(program.ok()) << program.status();
    return *std::move(program);
  }
  static std::string Wrong(const DataSet& set, const std::vector<Tensor>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (!set.expected[i]) continue;
      const Difference difference = Compare(results[i], set.expected[i], kTolerance, kTolerance);
      if (!difference.pass)
        return fmt::format("{}: result {}: {}", set.name, i, difference.problem);
    }
    return "";
  }

  std::optional<Model> model_;
  std::vector<DataSet> sets_;
};

TEST_P(ModelsTest, ResultsDoNotDependOnThreads) {
  for (int threads : {1, 2, 3}) {
    const Program program = CompileWith(threads);
    Session session = program.NewSession();
    for (int round = 0; round < 2; ++round) {
      for (const DataSet& set : sets_) {
        absl::StatusOr<std::vector<Tensor>> results = session.Run(set.inputs);
        ASSERT_TRUE(results.ok()) << results.status();
        EXPECT_EQ(Wrong(set, *results), "") << threads << " threads, round " << round;
      }
    }
  }
}

TEST_P(ModelsTest, ArenasAreAsSmallAsTheirBound) {
  const Program program = CompileWith(2);
  for (const DataSet& set : sets_) {
    Session session = program.NewSession();
    ASSERT_TRUE(session.Run(set.inputs).ok());
    EXPECT_EQ(session.stats().arena_bytes, session.stats().arena_bound_bytes) << set.name;
  }
}

TEST_P(ModelsTest, SessionsRunInParallel) {
  constexpr int kSessions = 4, kRounds = 3;
  const Program program = CompileWith(2);
  std::vector<std::string> wrong(kSessions);
  std::vector<std::thread> threads;
  for (int t = 0; t < kSessions; ++t) {
    threads.emplace_back([&, t] {
      Session session = program.NewSession();
      for (size_t i = 0; i < kRounds * sets_.size() && wrong[t].empty(); ++i) {
        const DataSet& set = sets_[(i + static_cast<size_t>(t)) % sets_.size()];
        absl::StatusOr<std::vector<Tensor>> results =
            t % 2 == 0 ? session.Run(set.inputs) : program.Run(set.inputs);
        wrong[t] = results.ok() ? Wrong(set, *results) : results.status().ToString();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

#ifdef TENON_COUNTS_ALLOCATIONS

// `run` once a data set, twice so that everything is prepared, and then counted.
template <typename F>
void ExpectNoAllocations(size_t sets, F run) {
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < sets; ++i) {
      const absl::Status status = run(i);
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  allocations::Count count;
  absl::Status status;
  for (size_t i = 0; i < 3 * sets && status.ok(); ++i) status = run(i % sets);
  count.Stop();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(count.ours(), 0) << "allocations in 3 runs of each data set";
}

TEST_P(ModelsTest, AllocatesNothingInTheSteadyState) {
  const Program program = CompileWith(2);
  Session session = program.NewSession();
  std::vector<std::vector<kernels::TensorView>> from(sets_.size()), to(sets_.size());
  std::vector<Tensor> memory;
  for (size_t i = 0; i < sets_.size(); ++i) {
    for (const Tensor& input : sets_[i].inputs) from[i].push_back(input.view());
    absl::StatusOr<std::vector<ResultShape>> shapes = session.OutputShapes(from[i]);
    ASSERT_TRUE(shapes.ok()) << shapes.status();
    for (const ResultShape& shape : *shapes)
      to[i].push_back(memory.emplace_back(Tensor::Make(shape.dtype, shape.shape)).view());
  }
  ExpectNoAllocations(sets_.size(), [&](size_t i) { return session.Run(from[i], to[i]); });
}

TEST_P(ModelsTest, AllocatesNothingWhenBound) {
  const Program program = CompileWith(2);
  Session session = program.NewSession();
  IoBinding binding(program);
  ExpectNoAllocations(sets_.size(), [&](size_t i) {
    {
      allocations::Pause pause;  // a tensor owns its list of extents
      for (size_t k = 0; k < sets_[i].inputs.size(); ++k) {
        if (absl::Status s = binding.BindInput(k, sets_[i].inputs[k]); !s.ok()) return s;
      }
    }
    return session.Run(binding);
  });
}

#else

TEST(ModelsAllocation, IsCounted) {
  GTEST_SKIP() << "sanitizers own the allocator, whose calls are counted";
}

#endif  // TENON_COUNTS_ALLOCATIONS

INSTANTIATE_TEST_SUITE_P(Folders, ModelsTest, ::testing::ValuesIn(ModelFolders()),
                         [](const auto& info) {
                           std::string name = info.param.filename().string();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace tenon
