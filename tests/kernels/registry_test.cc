// The registry, the list of kernels and the thread pool.
#include "kernels/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "kernels/activation.h"
#include "kernels/op_attrs.h"
#include "tests/kernels/kernel_test_util.h"

namespace tenon::kernels::testing {
namespace {

TEST(KernelList, IsSortedAndNamesAreUnique) {
  std::vector<std::string> symbols;
#define TENON_KERNEL(name) symbols.push_back(#name);
#include "kernels/kernels.def"
#undef TENON_KERNEL
  EXPECT_TRUE(std::is_sorted(symbols.begin(), symbols.end()));
  std::set<std::string> names;
  for (const std::string& op : Registry().ops()) {
    int references = 0;
    for (const Kernel& kernel : Registry().Find(op)) {
      EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
      EXPECT_NE(kernel.run, nullptr) << kernel.name;
      const bool reference = std::strncmp(kernel.name, "ref.", 4) == 0;
      references += reference;
      EXPECT_EQ(kernel.priority == 0, reference) << kernel.name;
      EXPECT_TRUE(!reference || kernel.supports == nullptr) << kernel.name;
    }
    EXPECT_EQ(references, 1) << op;
  }
  EXPECT_EQ(names.size(), symbols.size());
}

TEST(KernelList, EveryOpHasAReferenceKernel) {
  int count = 0;
  for (const std::string dialect : {"ten", "nn", "q", "fused", "random", "str", "image"}) {
    std::ifstream file(std::string(TENON_SOURCE_DIR) + "/ir/dialect/" + dialect + ".yaml");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::regex op_entry("- \\{?op: (\\w+)");
    for (std::sregex_iterator it(text.begin(), text.end(), op_entry), end; it != end; ++it) {
      const std::string op = dialect + "." + (*it)[1].str();
      ++count;
      if (op == "ten.shape") continue;  // known to the executor without computing
      EXPECT_NE(Registry().Choose(op, {}, /*reference_only=*/true).kernel, nullptr) << op;
    }
  }
  EXPECT_GE(count, 80);
}

TEST(KernelRegistry, ChoosesByPriorityAndSaysWhyNot) {
  KernelRegistry registry;
  auto run = [](const RunArgs&) { return KernelStatus::Ok(); };
  registry.Add({.op = "t.op", .name = "ref.op", .run = run});
  registry.Add({.op = "t.op", .name = "cpu.b", .priority = 5, .run = run});
  registry.Add({.op = "t.op",
                .name = "cpu.a",
                .priority = 9,
                .run = run,
                .supports = [](const CallSignature&) { return std::string("too small"); }});
  EXPECT_EQ(registry.Find("t.op").size(), 3u);
  const auto choice = registry.Choose("t.op", {});
  ASSERT_NE(choice.kernel, nullptr);
  EXPECT_STREQ(choice.kernel->name, "cpu.b");
  EXPECT_EQ(choice.why_not, std::vector<std::string>{"cpu.a: too small"});
  EXPECT_STREQ(registry.Choose("t.op", {}, /*reference_only=*/true).kernel->name, "ref.op");
  EXPECT_EQ(registry.Choose("t.unknown", {}).kernel, nullptr);
  EXPECT_EQ(registry.FindByName("cpu.a")->priority, 9);
  EXPECT_EQ(registry.FindByName("cpu.c"), nullptr);
}

TEST(Activation, EnumsAreSpelledAlike) {
  fused::LinearAttrs linear;
  fused::ConvAttrs conv;
  fused::ConvTransposeAttrs transposed;
  fused::GatedAttrs gated;
  auto expect = [&](fused::LinearActivation l, fused::ConvActivation c,
                    fused::ConvTransposeActivation t, fused::GatedActivation g,
                    ActivationKind kind) {
    linear.activation = l;
    conv.activation = c;
    transposed.activation = t;
    gated.activation = g;
    EXPECT_EQ(ToActivation(linear).kind, kind);
    EXPECT_EQ(ToActivation(conv).kind, kind);
    EXPECT_EQ(ToActivation(transposed).kind, kind);
    EXPECT_EQ(ToActivation(gated).kind, kind);
  };
#define EXPECT_SAME(name)                                            \
  expect(fused::LinearActivation::name, fused::ConvActivation::name, \
         fused::ConvTransposeActivation::name, fused::GatedActivation::name, ActivationKind::name)
  EXPECT_SAME(kNone);
  EXPECT_SAME(kRelu);
  EXPECT_SAME(kGelu);
  EXPECT_SAME(kGeluTanh);
  EXPECT_SAME(kGeluSigmoid);
  EXPECT_SAME(kSilu);
  EXPECT_SAME(kSigmoid);
  EXPECT_SAME(kTanh);
  EXPECT_SAME(kClip);
  EXPECT_SAME(kLeakyRelu);
  EXPECT_SAME(kHardSigmoid);
  EXPECT_SAME(kHardSwish);
  EXPECT_SAME(kMish);
#undef EXPECT_SAME
}

}  // namespace
}  // namespace tenon::kernels::testing
