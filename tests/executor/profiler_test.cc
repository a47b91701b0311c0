// Profiles of runs, and their forms.
#include "executor/profile/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/profile/profile_report.h"
#include "nlohmann/json.hpp"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// Two runs of a product and a norm, with times that are not measured.
void Fill(Profiler& profiler) {
  const int product = profiler.Add({.op = "fused.linear",
                                    .kernel = "cpu.fused_linear",
                                    .node = "/encoder/layer.0/query/MatMul",
                                    .shapes = "f32[1,768], f32[768,768] -> f32[1,768]",
                                    .cost = {.flops = 2e6, .bytes = 1e6}});
  const int norm = profiler.Add({.op = "nn.layer_norm",
                                 .kernel = "cpu.layer_norm",
                                 .node = "/encoder/layer.1/\"norm\"",
                                 .shapes = "f32[1,768] -> f32[1,768]",
                                 .cost = {.flops = 1e4, .bytes = 2e3}});
  for (int64_t run = 0; run < 2; ++run) {
    profiler.BeginRun();
    const int64_t start = run * 100000;
    profiler.Record(product, start, start + 40000 + run * 20000);
    profiler.Record(product, start + 60000, start + 65000);
    profiler.Record(norm, start + 70000, start + 71000);
    profiler.EndRun();
  }
}

// The header, whose times are measured, replaced.
std::string Masked(std::string text) {
  const size_t end = text.find('\n');
  return "..." + text.substr(end);
}

TEST(Profiler, Table) {
  Profiler profiler;
  Fill(profiler);
  const std::string table = ProfileTable(profiler);
  EXPECT_THAT(table, HasSubstr("profile: 2 runs of "));
  // The share depends on the measured length of the runs.
  std::string masked = Masked(table);
  for (size_t at = 0; (at = masked.find('%', at)) != std::string::npos; ++at) {
    size_t begin = at;
    while (masked[begin - 1] != ' ') --begin;
    size_t wide = begin;
    while (masked[wide - 1] == ' ') --wide;
    masked.replace(wide, at - wide, " *");
    at = wide + 2;
  }
  EXPECT_EQ(masked, R"(...

        ms   share    calls   GFLOP/s     GB/s  kernel and node
    0.0550 *%        2      72.7     36.4  cpu.fused_linear  /encoder/layer.0/query/MatMul
    0.0010 *%        1      10.0      2.0  cpu.layer_norm    /encoder/layer.1/"norm"

        ms   share    calls   GFLOP/s     GB/s  kernel and operation
    0.0550 *%        2      72.7     36.4  cpu.fused_linear  fused.linear
    0.0010 *%        1      10.0      2.0  cpu.layer_norm    nn.layer_norm

        ms   share    calls   GFLOP/s     GB/s  layer
    0.0550 *%        2      72.7     36.4  /encoder/layer.0
    0.0010 *%        1      10.0      2.0  /encoder/layer.1
)");
}

TEST(Profiler, RowsBeyondTheLimitAreOne) {
  Profiler profiler;
  Fill(profiler);
  EXPECT_THAT(ProfileTable(profiler, 1), HasSubstr("1 more"));
}

TEST(Profiler, Json) {
  Profiler profiler;
  Fill(profiler);
  const Json json = Json::parse(ProfileJson(profiler));
  EXPECT_EQ(json["runs"], 2);
  ASSERT_EQ(json["nodes"].size(), 2U);
  EXPECT_EQ(json["nodes"][0]["kernel"], "cpu.fused_linear");
  EXPECT_EQ(json["nodes"][1]["node"], "/encoder/layer.1/\"norm\"");
  EXPECT_DOUBLE_EQ(json["nodes"][0]["ms"], 0.055);
  EXPECT_EQ(json["nodes"][0]["calls"], 2);
  EXPECT_EQ(json["layers"][1]["layer"], "/encoder/layer.1");
  ASSERT_EQ(json["calls"].size(), 2U);
  EXPECT_EQ(json["calls"][0]["shapes"], "f32[1,768], f32[768,768] -> f32[1,768]");
  EXPECT_EQ(json["calls"][0]["flops"], 2000000);
}

TEST(Profiler, LayersArePathsUpToTheFirstNumber) {
  EXPECT_EQ(LayerOf("/encoder/layer.3/attention/MatMul"), "/encoder/layer.3");
  EXPECT_EQ(LayerOf("/embeddings/norm/Add_1"), "/embeddings/norm");
  EXPECT_EQ(LayerOf("/MatMul"), "(no layer)");
  EXPECT_EQ(LayerOf("node_linear_3"), "(no layer)");
  EXPECT_EQ(LayerOf(""), "(no layer)");
}

// A trace of real runs: what the instructions and the threads did lies within the runs.
TEST(Profiler, TraceOfRuns) {
  const std::string text =
      Function("%a: tensor<512x512xf32>", "(tensor<512x512xf32>) -> tensor<512x512xf32>", R"ir(
  %0 = ten.matmul(%a, %a) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = ten.exp(%0) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  func.return(%1) : (tensor<512x512xf32>) -> ()
)ir");
  const absl::StatusOr<Program> program = CompileText(text, false, nullptr, 2);
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const Tensor a = Ramp({512, 512});
  ASSERT_TRUE(session.Run({{a}}).ok());
  Profiler profiler;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session.Run({{a}}, {.cancel = nullptr, .profiler = &profiler}).ok());
  }
  ASSERT_EQ(profiler.events().size(), 6U);
  ASSERT_EQ(profiler.calls().size(), 2U);
  EXPECT_EQ(profiler.calls()[0].op, "ten.matmul");
  EXPECT_EQ(profiler.calls()[0].cost.flops, 2.0 * 512 * 512 * 512);
  ASSERT_TRUE(session.Run({{a}}).ok());
  EXPECT_EQ(profiler.events().size(), 6U) << "a run that is not profiled is not recorded";

  const Json trace = Json::parse(ProfileTrace(profiler));
  std::vector<std::pair<double, double>> runs;
  int instructions = 0, chunks = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double begin = event["ts"], end = begin + event["dur"].get<double>();
    if (event["name"] == "run") {
      runs.emplace_back(begin, end);
      continue;
    }
    event["tid"] == 0 ? ++instructions : ++chunks;
    bool within = false;
    for (const auto& [from, to] : runs) within |= begin >= from - 0.001 && end <= to + 0.001;
    EXPECT_TRUE(within) << event;
    if (event["tid"] != 0) continue;
    EXPECT_THAT(event["args"]["shapes"].get<std::string>(), HasSubstr("512"));
    EXPECT_TRUE(event["args"].contains("kernel"));
  }
  EXPECT_EQ(runs.size(), 3U);
  EXPECT_EQ(instructions, 6);
  EXPECT_GT(chunks, 0);
}

}  // namespace
}  // namespace tenon
