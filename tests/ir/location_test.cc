#include "ir/core/location.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "ir/core/context/context.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/location_extent.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"

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

// Each is made of the one before twice: without a limit, the last text has 2^60 parts.
TEST(LocationTest, TextsOfLocationsThatDoubleAreBounded) {
  Context context;
  const Location b = Location::Name(context, "b");
  Location called = Location::Name(context, "a"), fused = called, empty;
  for (int i = 0; i < 60; ++i) {
    called = Location::CallSite(context, called, called);
    const Location parts[] = {Location::CallSite(context, fused, b),
                              Location::CallSite(context, b, fused)};
    fused = Location::Fused(context, parts);
    empty = Location::CallSite(context, empty, empty);
  }
  for (const Location location : {called, fused}) {
    const std::string text = LocationText(context, location);
    EXPECT_GT(text.size(), 1000u);
    EXPECT_LT(text.size(), 20u * kMaxLocationParts);
  }
  EXPECT_EQ(DescribeLocation(context, called), "a");
  EXPECT_EQ(DescribeLocation(context, empty), "");
}

// A text says where: what the functions of Location would leave out is an error there.
TEST(LocationTest, TextsWithTooLargeLocationsAreRefused) {
  const auto read = [](int doublings, const std::string& part) {
    Context context;
    RegisterAllDialects(context);
    context.diagnostics().SetHandler(nullptr);
    std::string text = "#l0 = loc(\"a\")\n";
    for (int i = 1; i <= doublings; ++i) {
      const std::string before = "#l" + std::to_string(i - 1);
      text += "#l" + std::to_string(i) + " = loc(" + part + ")\n";
      for (size_t at; (at = text.find('@')) != std::string::npos;) text.replace(at, 1, before);
    }
    text += "builtin.module() ({\n}) : () -> () loc(#l" + std::to_string(doublings) + ")\n";
    return ParseModule(context, text, {.file_name = "f.ir"}).status();
  };
  for (const std::string part : {"callsite(@ at @)", "fused[callsite(@ at \"b\"), \"c\"(@)]"}) {
    EXPECT_TRUE(read(9, part).ok()) << read(9, part);
    const absl::Status status = read(13, part);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << part << ": " << status;
    EXPECT_NE(status.message().find("f.ir:1"), std::string::npos) << status;
    EXPECT_NE(status.message().find("a location has more than 4096 parts"), std::string::npos)
        << status;
  }
}

TEST(LocationTest, LevelsOfLocationsAreBounded) {
  Context context;
  Location named = Location::Name(context, "a"), called = named, fused = named;
  for (int i = 0; i < 100'000; ++i) {
    named = Location::Name(context, "n", named);
    called = Location::CallSite(context, Location::Name(context, "c"), called);
    const Location parts[] = {Location::CallSite(context, fused, named),
                              Location::Name(context, "f")};
    fused = Location::Fused(context, parts);
  }
  for (const Location location : {named, called, fused})
    EXPECT_LT(LocationText(context, location).size(), 20u * kMaxLocationParts);
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

// Equal locations are one, however they are made.
TEST(LocationTest, EqualOnesAreShared) {
  Context context;
  const Location a = Location::FileLineCol(context, "f", 1, 2);
  const Location b = Location::FileLineCol(context, "f", 1, 3);
  EXPECT_NE(a, b);
  EXPECT_EQ(Location::FileLineCol(context, "f", 1, 2), a);
  EXPECT_EQ(Location::Name(context, "n", a), Location::Name(context, "n", a));
  EXPECT_NE(Location::Name(context, "n", a), Location::Name(context, "n", b));
  EXPECT_NE(Location::Name(context, "n"), Location::Name(context, "n", b));
  EXPECT_EQ(Location::CallSite(context, a, b), Location::CallSite(context, a, b));
  EXPECT_NE(Location::CallSite(context, a, b), Location::CallSite(context, b, a));
}

TEST(LocationTest, TooManyAreAnError) {
  Context context;
  std::vector<std::string> messages;
  const ScopedDiagnosticHandler handler(
      context, [&](const Diagnostic& d) { messages.push_back(d.message); });
  ImplOf(context).locations.set_limit(10);
  std::vector<Location> made;
  for (int i = 0; i < 12; ++i) made.push_back(Location::Name(context, "n" + std::to_string(i)));
  EXPECT_EQ(LocationText(context, made[8]), "\"n8\"");
  EXPECT_TRUE(made[9].is_unknown());
  EXPECT_TRUE(made[11].is_unknown());
  EXPECT_EQ(Location::Name(context, "n3"), made[3]);
  const Location parts[] = {made[0], made[1]};
  EXPECT_TRUE(Location::Fused(context, parts).is_unknown());
  EXPECT_TRUE(Location::FileLineCol(context, "f", 1, 2).is_unknown());
  EXPECT_EQ(messages, std::vector<std::string>{
                          "the Context has no room for more locations: further ones are unknown"});
}

}  // namespace
}  // namespace tenon
