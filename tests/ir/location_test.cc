#include "ir/core/location.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "ir/core/context/context.h"
#include "ir/core/context/diagnostic.h"

namespace tenon {
namespace {

TEST(LocationTest, Text) {
  Context context;
  Location file = Location::FileLineCol(context, "a\"b.py", 3, 4);
  Location name = Location::Name(context, "/enc/Add", file);
  EXPECT_EQ(LocationText(context, Location()), "unknown");
  EXPECT_EQ(LocationText(context, file), "\"a\\22b.py\":3:4");
  EXPECT_EQ(LocationText(context, name), "\"/enc/Add\"(\"a\\22b.py\":3:4)");
  EXPECT_EQ(LocationText(context, Location::CallSite(context, Location::Name(context, "f"), file)),
            "callsite(\"f\" at \"a\\22b.py\":3:4)");
  EXPECT_EQ(DescribeLocation(context, name), "/enc/Add");
  EXPECT_EQ(DescribeLocation(context, file), "a\"b.py:3:4");
  EXPECT_EQ(DescribeLocation(context, Location()), "");
}

TEST(LocationTest, FusedFlattensAndBounds) {
  Context context;
  Location a = Location::Name(context, "a"), b = Location::Name(context, "b"),
           c = Location::Name(context, "c");
  Location ab[] = {a, b};
  Location nested[] = {Location::Fused(context, ab), Location(), c, a};
  EXPECT_EQ(LocationText(context, Location::Fused(context, nested)), "fused[\"a\", \"b\", \"c\"]");
  Location one[] = {a, a, Location()};
  EXPECT_EQ(Location::Fused(context, one), a);
  EXPECT_TRUE(Location::Fused(context, {}).is_unknown());
  std::vector<Location> many;
  for (int i = 0; i < 100; ++i) many.push_back(Location::Name(context, "n" + std::to_string(i)));
  EXPECT_EQ(Resolve(context, Location::Fused(context, many)).parts.size(), Location::kMaxFused);
}

TEST(LocationTest, ThreadsMayMakeLocations) {
  Context context;
  std::vector<std::thread> threads;
  std::vector<std::vector<Location>> made(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 5000; ++i) {
        made[t].push_back(Location::FileLineCol(context, "f" + std::to_string(t), i, i));
        if (i % 10 == 0)
          made[t].push_back(Location::Name(context, "n" + std::to_string(i), made[t].back()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) {
    const LocationData& data = Resolve(context, made[t].back());
    EXPECT_EQ(data.text, "f" + std::to_string(t));
    EXPECT_EQ(data.line, 4999u);
  }
}

TEST(DiagnosticTest, ErrorsGoToTheHandlerAndTheStatus) {
  Context context;
  std::vector<std::string> seen;
  context.diagnostics().SetHandler(
      [&](const Diagnostic& d) { seen.push_back(FormatDiagnostic(context, d)); });
  Location at = Location::FileLineCol(context, "f.ir", 2, 5);
  absl::Status status =
      EmitError(context, at, "no good", {{Severity::kNote, Location(), "because", {}}});
  EXPECT_EQ(status.message(), "f.ir:2:5: no good");
  EmitWarning(context, Location(), "careful");
  EXPECT_EQ(seen, (std::vector<std::string>{"f.ir:2:5: error: no good\nnote: because",
                                            "warning: careful"}));
}

// A handler may do what any code does: emit, and set a handler.
TEST(DiagnosticTest, AHandlerMayEmitAndSetHandlers) {
  Context context;
  std::vector<std::string> seen;
  context.diagnostics().SetHandler([&](const Diagnostic& d) {
    seen.push_back(d.message);
    if (d.severity == Severity::kError) EmitRemark(context, Location(), "from the handler");
    if (d.message != "last") return;
    context.diagnostics().SetHandler(nullptr);
    seen.push_back("none from now on");
  });
  EXPECT_FALSE(EmitError(context, Location(), "first").ok());
  EmitWarning(context, Location(), "last");
  EmitWarning(context, Location(), "unheard");
  EXPECT_EQ(seen,
            (std::vector<std::string>{"first", "from the handler", "last", "none from now on"}));
}

TEST(DiagnosticTest, AScopedHandlerGivesBackTheOneBefore) {
  Context context;
  std::vector<std::string> outer, inner;
  context.diagnostics().SetHandler([&](const Diagnostic& d) { outer.push_back(d.message); });
  {
    const ScopedDiagnosticHandler scope(context,
                                        [&](const Diagnostic& d) { inner.push_back(d.message); });
    EmitWarning(context, Location(), "inside");
    const ScopedDiagnosticHandler silence(context, nullptr);
    EmitWarning(context, Location(), "dropped");
  }
  EmitWarning(context, Location(), "after");
  EXPECT_EQ(inner, std::vector<std::string>{"inside"});
  EXPECT_EQ(outer, std::vector<std::string>{"after"});
}

// Handlers are called one at a time, by whichever thread emits.
TEST(DiagnosticTest, ThreadsMayEmitAtOnce) {
  Context context;
  int count = 0;  // not atomic
  context.diagnostics().SetHandler([&](const Diagnostic&) { ++count; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) EmitRemark(context, Location(), "r");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

}  // namespace
}  // namespace tenon
