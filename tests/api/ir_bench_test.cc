// The program ir-bench: exit status, JSON, other engines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/api/program_fixture.h"

namespace tenon {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kNegation[] = R"ir(
func.func() <{function_type = (tensor<?x3xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]>, sym_name = "main"}> ({
^bb0(%a: tensor<?x3xf32, ["N", ""]>):
  %0 = ten.neg(%a) : (tensor<?x3xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]>
  func.return(%0) : (tensor<?x3xf32, ["N", ""]>) -> ()
}) : () -> ()
)ir";

class IrBench : public ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    model_ = Write("negation.ir", kNegation);
    // A Python that runs another script than the one it is given, and one without packages.
    fake_ = Script("fake", "exec python3 -B " TENON_SOURCE_DIR "/tests/api/fake_peer.py \"$@\"");
    bare_ = Script("bare", "exec python3 -I -S -B \"$@\"");
  }

  int Run(const std::string& arguments, const std::string& environment = "") {
    return RunProgram("ir-bench --warmup=1 " + arguments, environment);
  }
  int RunFake(const std::string& arguments, const std::string& environment = "", int rounds = 2) {
    return Run(fmt::format("{} --against=onnxruntime --rounds={} --python={} {}", model_, rounds,
                           fake_, arguments),
               environment);
  }
  std::string Script(const std::string& name, const std::string& command) {
    std::string path = Write(name, "#!/bin/sh\n" + command + "\n");
    chmod(path.c_str(), 0755);
    return path;
  }

  std::string model_, fake_, bare_;
};

TEST_F(IrBench, TimesAModel) {
  ASSERT_EQ(Run("tests/models/vit.eager.ts17/model.onnx --rounds=2 --json=" +
                (folder_ / "report.json").string() + " --dim batch=3"),
            0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("median"));
  const json report = json::parse(ReadFile(folder_ / "report.json"), nullptr, false);
  ASSERT_FALSE(report.is_discarded());
  EXPECT_EQ(report["inputs"], json::array({"pixel_values: 3x3x32x32xf32"}));
  EXPECT_EQ(report["rounds"], 2);
  EXPECT_GT(report["machine"]["gflops"].get<double>(), 0);
  EXPECT_GT(report["machine"]["read_gbps"].get<double>(), 0);
  // Three times 17 tokens: at least the products of two layers of 32 with an inner size of 64.
  EXPECT_GT(report["cost"]["flops"].get<double>(), 2.0 * 3 * 17 * 2 * (4 * 32 * 32 + 2 * 32 * 64));
  EXPECT_LT(report["cost"]["flops"].get<double>(), 4.0 * 3 * 17 * 2 * (4 * 32 * 32 + 2 * 32 * 64));
  EXPECT_GT(report["cost"]["bytes"].get<double>(), 4.0 * 2 * (4 * 32 * 32 + 2 * 32 * 64));
  EXPECT_GT(report["cost"]["bound_ms"].get<double>(), 0);
  ASSERT_EQ(report["engines"].size(), 1);
  const json& ms = report["engines"][0]["ms"];
  EXPECT_GT(ms["min"].get<double>(), 0);
  EXPECT_LE(ms["min"], ms["median"]);
  EXPECT_LE(ms["median"], ms["p90"]);
  EXPECT_LE(ms["p90"], ms["p99"]);
}

TEST_F(IrBench, ComparesWithAnEngine) {
  ASSERT_EQ(RunFake("--dim=N=5 --json=-", "", 9), 0) << err_;
  const json report = json::parse(out_, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << out_;
  EXPECT_EQ(report["agree"], true);
  const json& tenon = report["engines"][0];
  const json& other = report["engines"][1];
  EXPECT_EQ(tenon["name"], "tenon");
  EXPECT_EQ(other["name"], "onnxruntime");
  EXPECT_EQ(other["version"], "onnxruntime-1");
  EXPECT_EQ(other["load_ms"], 1.5);
  EXPECT_EQ(other["memory_mb"], 7);
  EXPECT_EQ(other["ms"]["median"], 0.25);
  EXPECT_EQ(other["outputs"][0]["max_abs_error"], 0);
  EXPECT_EQ(other["outputs"][0]["type"], "5x3xf32");
  // By round, what a run must read, over the round's median, over what the machine read.
  const auto ours = tenon["rounds_ms"].get<std::vector<double>>();
  const auto reads = report["machine"]["rounds_read_gbps"].get<std::vector<double>>();
  ASSERT_EQ(reads.size(), 9);
  std::vector<double> shares;
  for (size_t i = 0; i < reads.size(); ++i) {
    EXPECT_LE(reads[i], report["machine"]["read_gbps"].get<double>());
    shares.push_back(report["cost"]["bytes"].get<double>() / ours[i] / 1e6 / reads[i]);
  }
  std::sort(shares.begin(), shares.end());
  EXPECT_DOUBLE_EQ(report["share"]["read"]["median"].get<double>(), shares[4]);
  EXPECT_DOUBLE_EQ(report["share"]["read"]["high"].get<double>(), shares[7]);
  // Every time of theirs is 0.25: ratios follow from Tenon's rounds. Of nine values, the second and
  // the eighth enclose the median with a probability of 96 %.
  auto rounds = tenon["rounds_ms"].get<std::vector<double>>();
  ASSERT_EQ(rounds.size(), 9);
  std::sort(rounds.begin(), rounds.end());
  EXPECT_DOUBLE_EQ(other["ratio"]["median"].get<double>(), 0.25 / rounds[4]);
  EXPECT_DOUBLE_EQ(other["ratio"]["low"].get<double>(), 0.25 / rounds[7]);
  EXPECT_DOUBLE_EQ(other["ratio"]["high"].get<double>(), 0.25 / rounds[1]);
}

TEST_F(IrBench, TakesInputsFromAFolder) {
  ASSERT_EQ(Run("tests/models/bert.eager.ts17/model.onnx --rounds=1 --json=- "
                "--inputs tests/models/bert.eager.ts17/test_data_set_0"),
            0)
      << err_;
  const json report = json::parse(out_, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << out_;
  EXPECT_EQ(report["inputs"], json::array({"input_ids: 2x9xi64", "attention_mask: 2x9xi64"}));
  EXPECT_EQ(Run("tests/models/bert.eager.ts17/model.onnx --inputs " + folder_.string()), 2);
  EXPECT_THAT(err_, HasSubstr("input_0"));
}

TEST_F(IrBench, FindsOutputsThatDiffer) {
  EXPECT_EQ(RunFake("", "FAKE_PEER=wrong"), 1) << err_;
  EXPECT_THAT(out_, HasSubstr("DIFFERS"));
}

TEST_F(IrBench, SaysWhyAnEngineDoesNotRun) {
  EXPECT_EQ(RunFake("", "FAKE_PEER=fails"), 4);
  EXPECT_THAT(err_, HasSubstr("this model is not to its taste"));
  EXPECT_THAT(out_, HasSubstr("tenon"));  // the others run
  EXPECT_EQ(RunFake("", "FAKE_PEER=ends"), 4);
  EXPECT_THAT(err_, HasSubstr("its process ended"));
}

TEST_F(IrBench, SaysThatAnEngineIsNotInstalled) {
  for (const char* engine : {"onnxruntime", "openvino"}) {
    EXPECT_EQ(Run(model_ + " --rounds=1 --against=" + engine + " --python=" + bare_), 4);
    EXPECT_THAT(err_, HasSubstr(std::string(engine) + " is not installed"));
  }
  EXPECT_EQ(Run(model_ + " --rounds=1 --against=openvino --python=/nowhere/python"), 4);
  EXPECT_THAT(err_, HasSubstr("/nowhere/python"));
}

TEST_F(IrBench, RunsPinnedBesideABusyProcess) {
  ASSERT_EQ(Run(model_ + " --rounds=1 --pin --neighbour --json=-"), 0) << err_;
  const json report = json::parse(out_, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << out_;
  EXPECT_EQ(report["pinned"], true);
  EXPECT_EQ(report["neighbor"], true);
}

TEST_F(IrBench, ComparesWithItselfOnOneThread) {
  ASSERT_EQ(Run("tests/models/vit.eager.ts17/model.onnx --rounds=2 --turn=1 --threads=2 "
                "--neighbor=2.5 --against=one-thread --json=-"),
            0)
      << err_;
  const json report = json::parse(out_, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << out_;
  EXPECT_EQ(report["neighbor"], true);
  EXPECT_EQ(report["neighbor_ms"], 2.5);
  EXPECT_EQ(report["threads"], 2);
  EXPECT_EQ(report["agree"], true);
  ASSERT_EQ(report["engines"].size(), 2);
  const json& one = report["engines"][1];
  EXPECT_EQ(one["name"], "one-thread");
  EXPECT_EQ(one["rounds_ms"].size(), 2);
  EXPECT_FALSE(one["outputs"].empty());
  EXPECT_GT(one["ratio"]["median"].get<double>(), 0);
}

TEST_F(IrBench, RefusesWrongCommandLines) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no model"},
      {"a.onnx b.onnx", "two models"},
      {"a.onnx --tune", "unknown option '--tune'"},
      {"a.onnx -O7", "no level -O7"},
      {"a.onnx -O1 -O2", "two levels: -O1 and -O2 (expected one)"},
      {"a.onnx --rounds=3 --rounds=4", "--rounds is given twice: '3', then '4' (expected once)"},
      {"a.onnx --threads=0", "--threads is '0'"},
      {"a.onnx --rounds=many", "--rounds is 'many'"},
      {"a.onnx --time=-1", "--time is '-1'"},
      {"a.onnx --atol=nan", "--atol is 'nan'"},
      {"a.onnx --json", "--json needs a value"},
      {"a.onnx --json=/nowhere/a.json", "/nowhere/a.json: cannot be created"},
      {"a.onnx --json=tests", "tests: cannot be opened for writing: Is a directory"},
      {"a.onnx --thread=2", "did you mean '--threads'?"},
      {"a.onnx --precision=int4", "--precision is 'int4'"},
      {"a.onnx --pin=yes", "--pin takes no value"},
      {"a.onnx --against=tensorrt", "--against has 'tensorrt'"},
      {"a.onnx --neighbor=often", "--neighbor is 'often'"},
      {"a.onnx --neighbour=often", "--neighbour is 'often'"},
      {"a.onnx --turn=-1", "--turn"},
      {"a.onnx --against=openvino,openvino", "openvino twice"},
      {"a.onnx --dim=batch", "--dim has 'batch'"},
      {"a.onnx --dim=N=2,M=1,N=3", "--dim says that N is 3, and before that it is 2"},
      {"a.onnx --shape=N=2 --dim=N=3", "--dim says that N is 3, and before that it is 2"},
      {"a.onnx --dim=N=2 --inputs=somewhere", "one of them"},
      {"/nowhere/a.onnx", "/nowhere/a.onnx"},
  };
  for (const auto& [arguments, message] : cases) {
    EXPECT_EQ(Run(arguments), 2) << arguments;
    EXPECT_THAT(err_, HasSubstr(message)) << arguments;
  }
  EXPECT_EQ(Run(model_ + " --dim=M=2"), 2);
  EXPECT_THAT(err_, HasSubstr("(there are: N)"));
  EXPECT_EQ(Run(model_ + " --threads=1024 --pin"), 2);
  EXPECT_THAT(err_, HasSubstr("processors for 1024 threads"));
}

// From now on sched_getaffinity fails in this process and those that it starts, as it does where a
// container forbids it. (Not with EINVAL: OpenMP's runtime answers that with larger sets, without
// end.)
bool HideProcessors() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getaffinity, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {.len = static_cast<unsigned short>(std::size(filter)),  // NOLINT
                              .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Some containers forbid filters of system calls.
bool MayHideProcessors() {
  const pid_t child = fork();
  if (child == 0) _exit(HideProcessors() ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

TEST_F(IrBench, PinSaysWhyProcessorsAreNotKnown) {
  if (!MayHideProcessors()) GTEST_SKIP() << "no filters of system calls";
  EXPECT_EXIT(
      {
        if (!HideProcessors()) std::exit(1);
        const int status = Run(model_ + " --threads=1 --pin");
        std::fputs(err_.c_str(), stderr);
        std::exit(status);
      },
      ::testing::ExitedWithCode(2), "--pin: the system does not say .*: Operation not permitted");
}

TEST_F(IrBench, ExplainsItself) {
  EXPECT_EQ(Run("--help"), 0);
  EXPECT_THAT(out_, HasSubstr("--against"));
  EXPECT_EQ(Run("--version"), 0);
  EXPECT_THAT(out_, HasSubstr("ir-bench"));
}

TEST_F(IrBench, SaysWhyThereIsNoGpu) {
  const int status = Run(model_ + " --rounds=1 --dim=N=2 --device=cuda");
  if (status == 0) GTEST_SKIP() << "there is a device";
  EXPECT_EQ(status, 4) << err_;
  EXPECT_THAT(err_, HasSubstr("--device cuda: "));
}

}  // namespace
}  // namespace tenon
