// Programs as files: SaveProgram and LoadProgram, and the programs that use them.
#include "frontends/cpp/files/saved_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "fmt/format.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"
#include "ir/base/check.h"
#include "ir/base/inline_xxhash.h"
#include "ir/dialect/core_ops.h"
#include "ir/serialize/binary_program.h"
#include "ir/serialize/format.h"
#include "tests/api/program_fixture.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

// Weights in a branch and in a function that is called; a dimension without a size.
constexpr char kSavedProgram[] = R"ir(
core.parameter() <{sym_name = "w", type = f32, value = dense<0.5> : tensor<128x160xf32>}> : () -> ()
func.func() <{function_type = (tensor<?x128xf32, ["N", ""]>, tensor<i1>) -> tensor<?x160xf32, ["N", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x128xf32, ["N", ""]>, %c: tensor<i1>):
  %w = core.get_parameter() <{name = @w}> : () -> tensor<128x160xf32>
  %0 = ten.matmul(%x, %w) : (tensor<?x128xf32, ["N", ""]>, tensor<128x160xf32>) -> tensor<?x160xf32, ["N", ""]>
  %r = ctl.if(%c) ({
    %v = core.constant() <{value = dense<0.25> : tensor<160x160xf32>}> : () -> tensor<160x160xf32>
    %1 = ten.matmul(%0, %v) : (tensor<?x160xf32, ["N", ""]>, tensor<160x160xf32>) -> tensor<?x160xf32, ["N", ""]>
    ctl.yield(%1) : (tensor<?x160xf32, ["N", ""]>) -> ()
  }, {
    %1 = func.call(%0) <{callee = @side}> : (tensor<?x160xf32, ["N", ""]>) -> tensor<?x160xf32, ["N", ""]>
    ctl.yield(%1) : (tensor<?x160xf32, ["N", ""]>) -> ()
  }) : (tensor<i1>) -> tensor<?x160xf32, ["N", ""]>
  func.return(%r) : (tensor<?x160xf32, ["N", ""]>) -> ()
}) : () -> ()
func.func() <{function_type = (tensor<?x160xf32, ["N", ""]>) -> tensor<?x160xf32, ["N", ""]>, sym_name = "side"}> ({
^bb0(%x: tensor<?x160xf32, ["N", ""]>):
  %v = core.constant() <{value = dense<0.125> : tensor<160x160xf32>}> : () -> tensor<160x160xf32>
  %0 = ten.matmul(%x, %v) : (tensor<?x160xf32, ["N", ""]>, tensor<160x160xf32>) -> tensor<?x160xf32, ["N", ""]>
  func.return(%0) : (tensor<?x160xf32, ["N", ""]>) -> ()
}) : () -> ()
)ir";

Tensor Ramp(int64_t rows, int64_t columns, float scale = 1) {
  const int64_t shape[] = {rows, columns};
  Tensor tensor = Tensor::Make(DType::kF32, shape);
  for (int64_t i = 0; i < tensor.numel(); ++i)
    tensor.as<float>()[i] = scale * static_cast<float>(i % 97 - 48) / 64;
  return tensor;
}

std::vector<Tensor> InputsOf(int64_t rows, bool branch) {
  Tensor condition = Tensor::Make(DType::kBool, {});
  *condition.as<bool>() = branch;
  return {Ramp(rows, 128), condition};
}

void ExpectSameBits(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].type_text(), expected[i].type_text());
    EXPECT_EQ(std::memcmp(actual[i].data(), expected[i].data(), actual[i].num_bytes()), 0) << i;
  }
}

// All elements of all constants, in the order of the program.
std::string BytesOfConstants(const Model& model) {
  std::string bytes;
  model.module()->Walk([&](Operation* op) {
    if (const auto constant = DynCast<core::ConstantOp>(op)) {
      const std::span<const std::byte> raw = constant.value().raw_bytes();
      bytes.append(reinterpret_cast<const char*>(raw.data()), raw.size());
    }
  });
  return bytes;
}

class SavedProgramTest : public ProgramFixture {
 protected:
  std::string Path(const std::string& name = "model.tnp") { return (folder_ / name).string(); }

  // kSavedProgram with replaceable @w, optimized.
  Model MakeModel() {
    LoadOptions load;
    load.replaceable = {"w"};
    absl::StatusOr<Model> model = LoadFromBytes(kSavedProgram, "program.mlir", load);
    TENON_CHECK(model.ok() && Optimize(*model).ok());
    return *std::move(model);
  }

  std::vector<Tensor> RunOf(const Program& program, const std::vector<Tensor>& inputs) {
    absl::StatusOr<std::vector<Tensor>> outputs = program.Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
  }
};

TEST_F(SavedProgramTest, GivesTheBitsOfTheCompiledProgramAndPacksNothing) {
  int models = 0;
  size_t replaced = 0, packed = 0;
  for (const auto& entry : fs::directory_iterator(TENON_SOURCE_DIR "/tests/models")) {
    if (!fs::exists(entry.path() / "model.onnx")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    absl::StatusOr<Model> model = Load((entry.path() / "model.onnx").string());
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<Sample> sample =
        ReadInputs(model->main(), (entry.path() / "test_data_set_0").string());
    ASSERT_TRUE(sample.ok()) << sample.status();
    ASSERT_TRUE(Optimize(*model).ok());
    const absl::StatusOr<Program> compiled = Compile(*model, {.threads = 1});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    SaveProgramReport written;
    const absl::Status saved =
        SaveProgram(*model, Path(), {.runs = {sample->inputs}, .threads = 1}, &written);
    ASSERT_TRUE(saved.ok()) << saved;
    replaced += written.replaced_bytes;
    LoadProgramReport report;
    const absl::StatusOr<Program> loaded = LoadProgram(Path(), {.threads = 1}, &report);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_THAT(report.lowered_again, IsEmpty());
    ExpectSameBits(RunOf(*loaded, sample->inputs), RunOf(*compiled, sample->inputs));
    EXPECT_EQ(report.weights->stats().packed, 0);
    EXPECT_EQ(loaded->num_instructions(), compiled->num_instructions());
    // The model in the file has the bytes of all weights, also of those that are in it packed.
    const absl::StatusOr<Model> read = Load(Path());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(BytesOfConstants(*read), BytesOfConstants(*model));
    const absl::StatusOr<Program> again = Compile(*read, {.threads = 1});
    ASSERT_TRUE(again.ok()) << again.status();
    ExpectSameBits(RunOf(*again, sample->inputs), RunOf(*compiled, sample->inputs));
    packed += written.weight_bytes;
    ++models;
  }
  EXPECT_GE(models, 10);
  // Most weights are in the files once.
  EXPECT_GT(replaced, packed / 2);
}

TEST_F(SavedProgramTest, HoldsWhatItsRunsPackInBranchesAndFunctions) {
  const Model model = MakeModel();
  const absl::StatusOr<Program> compiled = Compile(model, {.threads = 1});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  SaveProgramReport saved;
  ASSERT_TRUE(SaveProgram(model, Path(), {.runs = {InputsOf(4, true)}, .threads = 1}, &saved).ok());
  EXPECT_EQ(saved.weights, 2u);
  LoadProgramReport report;
  const absl::StatusOr<Program> loaded = LoadProgram(Path(), {.threads = 1}, &report);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  // Other sizes use the same weights; the branch that has not run packs its own.
  for (const int64_t rows : {4, 9}) {
    ExpectSameBits(RunOf(*loaded, InputsOf(rows, true)), RunOf(*compiled, InputsOf(rows, true)));
    EXPECT_EQ(report.weights->stats().packed, 0);
  }
  ExpectSameBits(RunOf(*loaded, InputsOf(5, false)), RunOf(*compiled, InputsOf(5, false)));
  EXPECT_EQ(report.weights->stats().packed, 1);
  EXPECT_EQ(report.weights->stats().from_disk, 2);
}

TEST_F(SavedProgramTest, WithoutRunsThePackingIsLeftToTheFirstRun) {
  const Model model = MakeModel();
  ASSERT_TRUE(SaveProgram(model, Path()).ok());
  LoadProgramReport report;
  const absl::StatusOr<Program> loaded = LoadProgram(Path(), {}, &report);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  RunOf(*loaded, InputsOf(4, true));
  EXPECT_EQ(report.weights->stats().packed, 2);
}

TEST_F(SavedProgramTest, ParametersAreReplacedInALoadedProgram) {
  const Model model = MakeModel();
  ASSERT_TRUE(SaveProgram(model, Path(), {.runs = {InputsOf(4, true)}, .threads = 1}).ok());
  absl::StatusOr<Program> compiled = Compile(model, {.threads = 1});
  absl::StatusOr<Program> loaded = LoadProgram(Path(), {.threads = 1});
  ASSERT_TRUE(compiled.ok() && loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->parameters().size(), 1u);
  const std::vector<ParameterValue> values = {{"w", Ramp(128, 160, 3)}};
  ASSERT_TRUE(compiled->ReplaceParameters(values).ok());
  ASSERT_TRUE(loaded->ReplaceParameters(values).ok());
  ExpectSameBits(RunOf(*loaded, InputsOf(4, true)), RunOf(*compiled, InputsOf(4, true)));
}

TEST_F(SavedProgramTest, IsTheModelForEverythingElse) {
  const Model model = MakeModel();
  ASSERT_TRUE(SaveProgram(model, Path(), {.runs = {InputsOf(4, true)}}).ok());
  EXPECT_TRUE(IsSavedProgram(Path()));
  EXPECT_EQ(RunProgram("ir-opt " + Path()), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("sym_name = \"main\""));
  EXPECT_THAT(out_, Not(HasSubstr("kernel.call")));
  // A module that is written from it holds no program.
  EXPECT_EQ(RunProgram("ir-opt " + Path() + " -o " + Path("module.tnb")), 0) << err_;
  EXPECT_FALSE(IsSavedProgram(Path("module.tnb")));
  const absl::StatusOr<Program> none = LoadProgram(Path("module.tnb"));
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("holds no program"));
}

TEST_F(SavedProgramTest, AnotherInstructionSetLowersAgainAndSaysSo) {
  const std::string model = TENON_SOURCE_DIR "/tests/models/resnet_bn.eager.ts17/";
  ASSERT_EQ(RunProgram("ir-run " + model + "model.onnx --runs=1 --save-program=" + Path()), 0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("packed weights"));
  const std::string run = "ir-run " + Path() + " --runs=1 --check=" + model + "test_data_set_0";
  EXPECT_EQ(RunProgram(run), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("the program runs as it was saved"));
  EXPECT_EQ(RunProgram(run, "TENON_ISA=portable"), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("warning: the program is lowered again: it was saved for the "
                              "instruction set"));
  EXPECT_THAT(out_, HasSubstr("lowered again"));
  // And the other way round.
  ASSERT_EQ(RunProgram("ir-run " + model + "model.onnx --runs=1 --save-program=" + Path("old.tnp"),
                       "TENON_ISA=portable"),
            0)
      << err_;
  EXPECT_EQ(RunProgram("ir-run " + Path("old.tnp") + " --runs=1"), 0) << err_;
  EXPECT_EQ(RunProgram("ir-bench " + Path() + " --rounds=1 --time=1"), 0) << err_;
}

TEST_F(SavedProgramTest, OptionsThatDecideWhatIsSavedAreRefused) {
  ASSERT_TRUE(SaveProgram(MakeModel(), Path()).ok());
  for (const char* option : {"-O2", "--precision=int8", "--reference", "--fast-math"}) {
    EXPECT_EQ(RunProgram("ir-run " + Path() + " " + option), 2) << option;
    EXPECT_THAT(err_, HasSubstr("has no effect on a saved program")) << option;
  }
}

TEST_F(SavedProgramTest, AnotherBuildLowersAgain) {
  const Model model = MakeModel();
  ASSERT_TRUE(SaveProgram(model, Path(), {.runs = {InputsOf(4, true)}, .threads = 1}).ok());
  // The same file with another fact.
  Context& context = model.context();
  BinaryProgram other;
  other.module = model.module();
  other.facts = {"isa", "none"};
  std::string bytes;
  ASSERT_TRUE(WriteBinaryProgram(*model.module(), other, [&](std::string_view piece) {
                bytes += piece;
                return absl::OkStatus();
              }).ok());
  const absl::StatusOr<FoundProgram> found = FindBinaryProgram(context, bytes);
  ASSERT_TRUE(found.ok() && found->found);
  std::string warning;
  LoadProgramOptions options;
  options.threads = 1;
  options.on_diagnostic = [&](const Context& from, const Diagnostic& diagnostic) {
    warning += FormatDiagnostic(from, diagnostic);
  };
  LoadProgramReport report;
  const absl::StatusOr<Program> loaded = LoadProgram(Write("other.tnp", bytes), options, &report);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(warning, HasSubstr("other.tnp: warning: the program is lowered again: it was saved "
                                 "for the instruction set none"));
  EXPECT_THAT(report.lowered_again, HasSubstr("none"));
  const absl::StatusOr<Program> compiled = Compile(model, {.threads = 1});
  ExpectSameBits(RunOf(*loaded, InputsOf(4, true)), RunOf(*compiled, InputsOf(4, true)));
}

TEST_F(SavedProgramTest, PackedWeightsOfAnotherSizeArePackedAnew) {
  const Model model = MakeModel();
  ASSERT_TRUE(SaveProgram(model, Path(), {.runs = {InputsOf(4, true)}, .threads = 1}).ok());
  std::string bytes = ReadFile(Path());
  // The size of each data becomes 64, and the checksum of the structure is right.
  uint64_t structure = 0;
  std::memcpy(&structure, &bytes[binary::kStructureSizeAt], 8);
  for (uint32_t i = 0; i < 13; ++i) {
    const char* const section = &bytes[binary::kHeaderBytes + i * binary::kSectionBytes];
    uint32_t kind = 0;
    uint64_t offset = 0;
    std::memcpy(&kind, section, 4);
    std::memcpy(&offset, section + 8, 8);
    if (kind != static_cast<uint32_t>(binary::Section::kProgramData)) continue;
    const uint64_t small = 64;
    std::memcpy(&bytes[offset + 8], &small, 8);
  }
  const uint64_t checksum = XXH3_64bits(&bytes[binary::kCheckedFrom],
                                        static_cast<size_t>(structure) - binary::kCheckedFrom);
  std::memcpy(&bytes[binary::kChecksumAt], &checksum, 8);
  LoadProgramOptions options;
  options.threads = 1;
  std::string warning;
  options.on_diagnostic = [&](const Context& from, const Diagnostic& diagnostic) {
    warning += FormatDiagnostic(from, diagnostic);
  };
  const absl::StatusOr<Program> loaded = LoadProgram(Write("small.tnp", bytes), options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const absl::StatusOr<Program> compiled = Compile(model, {.threads = 1});
  ExpectSameBits(RunOf(*loaded, InputsOf(4, true)), RunOf(*compiled, InputsOf(4, true)));
  EXPECT_THAT(warning, HasSubstr("packed weights of the file have 64 bytes"));
  options.verify_weights = true;
  const absl::StatusOr<Program> verified = LoadProgram(Path("small.tnp"), options);
  EXPECT_THAT(std::string(verified.status().message()), HasSubstr("packed weights at byte"));
}

// A small program with a packed weight and a constant that no kernel packs.
constexpr char kSmallProgram[] = R"ir(
func.func() <{function_type = (tensor<2x8xf32>) -> tensor<2x40xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2x8xf32>):
  %w = core.constant() <{value = dense<"WEIGHT"> : tensor<8x40xf32>}> : () -> tensor<8x40xf32>
  %b = core.constant() <{value = dense<"BIAS"> : tensor<2x40xf32>}> : () -> tensor<2x40xf32>
  %0 = ten.matmul(%x, %w) : (tensor<2x8xf32>, tensor<8x40xf32>) -> tensor<2x40xf32>
  %1 = ten.add(%0, %b) : (tensor<2x40xf32>, tensor<2x40xf32>) -> tensor<2x40xf32>
  func.return(%1) : (tensor<2x40xf32>) -> ()
}) : () -> ()
)ir";

// The text of f32 elements that differ from each other.
std::string HexFloats(int count) {
  std::string hex = "0x";
  for (int i = 0; i < count; ++i) {
    const float value = static_cast<float>(i % 251 - 125) / 32;
    std::array<unsigned char, 4> bytes;
    std::memcpy(bytes.data(), &value, 4);
    for (const unsigned char byte : bytes) hex += fmt::format("{:02X}", byte);
  }
  return hex;
}

// A flip of any byte is refused if the weights are verified, or changes nothing: it lies in the
// padding between constants. Without the verification it may also change weights, and nothing else.
TEST_F(SavedProgramTest, AFlippedByteIsRefusedOrOneOfAWeight) {
  const std::string text = absl::StrReplaceAll(
      kSmallProgram, {{"WEIGHT", HexFloats(8 * 40)}, {"BIAS", HexFloats(2 * 40)}});
  absl::StatusOr<Model> model = LoadFromBytes(text, "small.mlir");
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<Tensor> inputs = {Ramp(2, 8)};
  SaveProgramReport saved;
  ASSERT_TRUE(SaveProgram(*model, Path(), {.runs = {inputs}, .threads = 1}, &saved).ok());
  ASSERT_EQ(saved.weights, 1u);
  const std::string whole = ReadFile(Path());
  const absl::StatusOr<FoundProgram> found = FindBinaryProgram(model->context(), whole);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->constants.size(), 1u);  // the other one is packed
  std::vector<bool> is_weight(whole.size());
  const auto mark = [&](std::string_view bytes) {
    std::fill_n(is_weight.begin() + (bytes.data() - whole.data()), bytes.size(), true);
  };
  for (const FoundProgram::Checked& constant : found->constants) mark(constant.bytes);
  for (const FoundProgram::Data& data : found->data) mark(data.bytes);
  const absl::StatusOr<Program> program = LoadProgram(Path(), {.threads = 1});
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<Tensor> expected = RunOf(*program, inputs);
  uint64_t structure = 0;
  std::memcpy(&structure, &whole[binary::kStructureSizeAt], 8);
  int refused = 0, kept = 0, changed = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    // Behind the header and the table of sections a sample: its bytes are alike.
    if (at > 400 && at % (is_weight[at] ? 29 : 5) != 0) continue;
    SCOPED_TRACE(at);
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
    const std::string path = Write("flipped.tnp", flipped);
    const absl::StatusOr<Program> verified =
        LoadProgram(path, {.threads = 1, .verify_weights = true});
    const absl::StatusOr<Program> trusted = LoadProgram(path, {.threads = 1});
    EXPECT_EQ(verified.ok(), !is_weight[at] && trusted.ok());
    if (!trusted.ok()) {
      EXPECT_LT(at, structure);
      ++refused;
      continue;
    }
    const std::vector<Tensor> outputs = RunOf(*trusted, inputs);
    if (is_weight[at]) {
      EXPECT_EQ(outputs[0].type_text(), expected[0].type_text());
      ++changed;
    } else {
      ExpectSameBits(outputs, expected);
      ++kept;
    }
  }
  EXPECT_GT(refused, 400);
  EXPECT_GT(kept, 0);
  EXPECT_GT(changed, 30);
}

// A process that has run a program and waits. It tells what it needs of a mapped file.
class WaitingProcess {
 public:
  WaitingProcess(const std::string& path, const std::vector<Tensor>& inputs) {
    TENON_CHECK(pipe(ready_) == 0 && pipe(go_) == 0);
    process_ = fork();
    if (process_ != 0) return;
    {
      const absl::StatusOr<Program> loaded = LoadProgram(path, {.threads = 1});
      const char ok = loaded.ok() && loaded->Run(inputs).ok() ? 1 : 0;
      char unused = 0;
      if (write(ready_[1], &ok, 1) == 1) (void)!read(go_[0], &unused, 1);
    }
    _exit(0);
  }
  ~WaitingProcess() {
    const char done = 1;
    (void)!write(go_[1], &done, 1);
    waitpid(process_, nullptr, 0);
    for (const int end : {ready_[0], ready_[1], go_[0], go_[1]}) close(end);
  }
  bool HasRun() {
    char ok = 0;
    return read(ready_[0], &ok, 1) == 1 && ok == 1;
  }
  // The sum of a field of /proc/PID/smaps for the mappings of a file, in KiB.
  int64_t Sum(const std::string& field, const std::string& path) const {
    std::ifstream maps(fmt::format("/proc/{}/smaps", process_));
    int64_t sum = 0;
    bool of_file = false;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(' ') != std::string::npos && line.find('-') < line.find(' '))
        of_file = line.ends_with(path);
      if (of_file && line.starts_with(field + ":"))
        sum += std::stoll(line.substr(field.size() + 1));
    }
    return sum;
  }

 private:
  int ready_[2], go_[2];
  pid_t process_ = 0;
};

// Half of each page that both use counts for each.
TEST_F(SavedProgramTest, TwoProcessesShareTheirWeights) {
  ASSERT_TRUE(SaveProgram(MakeModel(), Path(), {.runs = {InputsOf(4, true)}, .threads = 1}).ok());
  WaitingProcess one(Path(), InputsOf(4, true)), other(Path(), InputsOf(4, true));
  ASSERT_TRUE(one.HasRun());
  ASSERT_TRUE(other.HasRun());
  for (const WaitingProcess* process : {&one, &other}) {
    const int64_t resident = process->Sum("Rss", Path());
    EXPECT_GT(resident, 100);  // KiB
    EXPECT_LE(process->Sum("Pss", Path()), resident * 6 / 10);
    EXPECT_EQ(process->Sum("Anonymous", Path()), 0);
  }
}

TEST_F(SavedProgramTest, TwoProcessesRunOneFile) {
  ASSERT_TRUE(SaveProgram(MakeModel(), Path(), {.runs = {InputsOf(4, true)}, .threads = 1}).ok());
  const std::string run = TENON_BINARY_DIR "/bin/ir-run " + Path() + " --runs=1 > ";
  const int status =
      std::system((run + Path("a") + " & one=$!; " + run + Path("b") + " && wait $one").c_str());
  EXPECT_EQ(status, 0);
  for (const char* name : {"a", "b"})
    EXPECT_THAT(ReadFile(Path(name)), HasSubstr("the program runs as it was saved"));
}

// Weights of the file are pages of the file, which processes share, and not memory of the process.
TEST_F(SavedProgramTest, WeightsAreMapped) {
  ASSERT_TRUE(SaveProgram(MakeModel(), Path(), {.runs = {InputsOf(4, true)}, .threads = 1}).ok());
  const absl::StatusOr<Program> loaded = LoadProgram(Path(), {.threads = 1});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  RunOf(*loaded, InputsOf(4, true));
  std::ifstream maps("/proc/self/smaps");
  int64_t resident = 0, copied = 0;
  bool of_file = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(' ') != std::string::npos && line.find('-') < line.find(' '))
      of_file = line.ends_with(Path());
    if (of_file && line.starts_with("Rss:")) resident += std::stoll(line.substr(4));
    if (of_file && line.starts_with("Anonymous:")) copied += std::stoll(line.substr(10));
  }
  EXPECT_GT(resident, 100);  // KiB: of two weights
  EXPECT_EQ(copied, 0);
}

// Two weights of 32 columns. A second reader of the first is inserted at READER.
constexpr char kTwoWeights[] = R"ir(
func.func() <{function_type = (tensor<2x64xf32>, tensor<1xi64>) -> (tensor<2x32xf32>, tensor<1x32xf32>), sym_name = "main"}> ({
^bb0(%x: tensor<2x64xf32>, %i: tensor<1xi64>):
  %w = core.constant() <{value = dense<"WEIGHT"> : tensor<64x32xf32>}> : () -> tensor<64x32xf32>
  %v = core.constant() <{value = dense<"OTHER"> : tensor<32x32xf32>}> : () -> tensor<32x32xf32>
  %0 = ten.matmul(%x, %w) : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
  %1 = ten.matmul(%0, %v) : (tensor<2x32xf32>, tensor<32x32xf32>) -> tensor<2x32xf32>
  %2 = ten.gather(%READER, %i) <{axis = 0 : i64}> : (tensor<READERx32xf32>, tensor<1xi64>) -> tensor<1x32xf32>
  func.return(%1, %2) : (tensor<2x32xf32>, tensor<1x32xf32>) -> ()
}) : () -> ()
)ir";

// A weight that is also read as it is stays in the file as it is.
TEST_F(SavedProgramTest, OnlyWeightsThatEachReaderPacksAreInTheFileOnce) {
  Tensor position = Tensor::Make(DType::kI64, std::array<int64_t, 1>{1});
  *position.as<int64_t>() = 5;
  const std::vector<Tensor> inputs = {Ramp(2, 64), position};
  std::string text = absl::StrReplaceAll(
      kTwoWeights, {{"WEIGHT", HexFloats(64 * 32)}, {"OTHER", HexFloats(32 * 32)}});
  text = absl::StrReplaceAll(text, {{"%READER", "%w"}, {"<READERx", "<64x"}});
  absl::StatusOr<Model> model = LoadFromBytes(text, "two.mlir");
  ASSERT_TRUE(model.ok()) << model.status();
  SaveProgramReport saved;
  ASSERT_TRUE(SaveProgram(*model, Path(), {.runs = {inputs}, .threads = 1}, &saved).ok());
  EXPECT_EQ(saved.weights, 2u);
  EXPECT_EQ(saved.replaced, 1u);
  EXPECT_EQ(saved.replaced_bytes, sizeof(float) * 32 * 32);
  const absl::StatusOr<FoundProgram> found = FindBinaryProgram(model->context(), ReadFile(Path()));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->constants.size(), 1u);
  // Without runs nothing is packed, and both are as they are.
  ASSERT_TRUE(SaveProgram(*model, Path("plain.tnp"), {}, &saved).ok());
  EXPECT_EQ(saved.replaced, 0u);
  for (const std::string name : {"model.tnp", "plain.tnp"}) {
    const absl::StatusOr<Program> loaded = LoadProgram(Path(name), {.threads = 1});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const absl::StatusOr<Program> compiled = Compile(*model, {.threads = 1});
    ExpectSameBits(RunOf(*loaded, inputs), RunOf(*compiled, inputs));
  }
  // A file that is made of a saved program is the same file.
  const absl::StatusOr<Model> read = Load(Path());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(SaveProgram(*read, Path("again.tnp"), {.runs = {inputs}, .threads = 1}).ok());
  EXPECT_EQ(fs::file_size(Path("again.tnp")), fs::file_size(Path()));
}

// The kernels of another instruction set pack what they unpack.
TEST_F(SavedProgramTest, AnotherInstructionSetUnpacksTheWeights) {
  const std::string model = TENON_SOURCE_DIR "/tests/models/bert.eager.ts17/";
  ASSERT_EQ(RunProgram("ir-run " + model + "model.onnx --runs=1 --save-program=" + Path()), 0)
      << err_;
  const std::string run = "ir-run " + Path() + " --runs=1 --check=" + model + "test_data_set_0";
  EXPECT_EQ(RunProgram(run, "TENON_ISA=portable"), 0) << out_ << err_;
  EXPECT_THAT(out_, HasSubstr("PASS"));
}

TEST_F(SavedProgramTest, FilesThatAreNoProgramsAreErrors) {
  EXPECT_EQ(LoadProgram(Path("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(IsSavedProgram(Path("none")));
  const absl::StatusOr<Program> text = LoadProgram(Write("text.tnp", kSavedProgram));
  EXPECT_EQ(text.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SaveProgram(MakeModel(), Path("no/folder.tnp")).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(SaveProgram(MakeModel(), Path()).ok());
  const std::string whole = ReadFile(Path());
  const absl::StatusOr<Program> cut =
      LoadProgram(Write("cut.tnp", whole.substr(0, whole.size() / 2)));
  EXPECT_THAT(std::string(cut.status().message()), HasSubstr("it is cut off"));
}

}  // namespace
}  // namespace tenon
