#include "tests/filetest/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fmt/format.h"
#include "ir/core/builder.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "tests/filetest/golden_file.h"
#include "tests/filetest/pipelines.h"

namespace tenon::filetest {
namespace {

bool bless_flag = false;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The line of the first position in a file that a location holds; 0 if there is none.
size_t LineOf(const Context& context, Location location) {
  const LocationData& data = Resolve(context, location);
  if (data.kind == Location::Kind::kFileLineCol) return data.line;
  for (Location part : data.parts) {
    if (size_t line = LineOf(context, part); line != 0) return line;
  }
  return 0;
}

class CaseRunner {
 public:
  CaseRunner(const GoldenFile& file, const Case& c, const std::string& path, std::string folder,
             bool must_fail)
      : file_(file), case_(c), path_(path), folder_(std::move(folder)), must_fail_(must_fail) {
    RegisterAllDialects(context_);
    context_.set_allow_unregistered_dialects(file.Has("allow-unregistered"));
    context_.diagnostics().SetHandler([this](const Diagnostic& d) {
      if (d.severity == Severity::kError) errors_.push_back(d);
    });
    implicit_module_ = c.code[0].find("builtin.module") == std::string::npos;
  }

  // The text that the case should expect.
  std::vector<std::string> Run() {
    std::vector<std::string> actual;
    absl::Status status = RunKind(actual);
    if (must_fail_) {
      EXPECT_FALSE(status.ok()) << where() << "this should fail";
      MatchErrors();
      return {};
    }
    EXPECT_TRUE(status.ok()) << where() << status.message();
    return actual;
  }

 private:
  std::string where() const { return fmt::format("{}:{}: ", path_, case_.first_line); }

  absl::Status RunKind(std::vector<std::string>& actual) {
    OwnedOp module;
    if (absl::Status status = Parse(CodeText(case_), module); !status.ok()) return status;
    if (absl::Status status = Verify(module.get()); !status.ok()) return status;
    if (file_.kind == "verify") return absl::OkStatus();
    if (file_.kind == "roundtrip") {
      actual = Show(*module);
      CheckRoundTrips(*module);
      return absl::OkStatus();
    }
    if (file_.kind == "opt") {
      if (absl::Status status = Optimize(module.get()); !status.ok()) return status;
      actual = Show(*module);
      CheckRoundTrips(*module);
      return absl::OkStatus();
    }
    if (file_.kind == "run") {
      absl::StatusOr<std::vector<std::string>> outputs = RunProgram(module.get());
      if (!outputs.ok()) return outputs.status();
      actual = *std::move(outputs);
      return absl::OkStatus();
    }
    return absl::UnimplementedError(fmt::format("no test of kind '{}'", file_.kind));
  }

  absl::Status Parse(const std::string& text, OwnedOp& module) {
    ParseOptions options;
    options.file_name = path_;
    options.verify = false;
    absl::StatusOr<OwnedOp> parsed = ParseModule(context_, text, options);
    if (!parsed.ok()) return parsed.status();
    module = *std::move(parsed);
    return absl::OkStatus();
  }

  PassContext Services() const {
    PassContext services;
    services.fast_math = file_.Has("fast-math");
    for (const std::string& name : file_.Values("rules"))  // beside the case
      services.rule_files.push_back((std::filesystem::path(folder_) / name).string());
    return services;
  }

  // Transforms, verifies, and transforms once more, which must change nothing.
  absl::Status Optimize(Operation* module) {
    absl::StatusOr<bool> changed = RunPipeline(module, file_.argument, Services());
    if (!changed.ok()) return changed.status();
    if (absl::Status status = Verify(module); !status.ok()) return status;
    if (file_.Has("once")) return absl::OkStatus();
    std::string before = Print(*module);
    changed = RunPipeline(module, file_.argument, Services());
    if (!changed.ok()) return changed.status();
    EXPECT_EQ(before, Print(*module))
        << where() << "a second run of the pipeline changes the result again";
    EXPECT_FALSE(*changed) << where() << "a second run of the pipeline reports a change";
    return absl::OkStatus();
  }

  std::vector<std::string> Show(const Operation& module) {
    PrintOptions options;
    options.generic = file_.Has("generic");
    options.locations = file_.Has("locations");
    options.elide_resources = file_.Has("elide");
    std::vector<std::string> lines = SplitLines(Print(module, options));
    if (!implicit_module_) return lines;
    // The module was not written, so it is not shown.
    std::vector<std::string> body;
    bool inside = true;
    for (size_t i = 1; i < lines.size(); ++i) {
      if (inside && lines[i].substr(0, 2) == "})") {
        inside = false;
      } else {
        body.push_back(inside && lines[i].substr(0, 2) == "  " ? lines[i].substr(2) : lines[i]);
      }
    }
    return body;
  }

  // Both forms, with and without locations, read back as what was printed; so does a clone.
  void CheckRoundTrips(const Operation& module) {
    const std::string whole = Print(module, {.generic = true});
    for (bool generic : {false, true}) {
      for (bool locations : {false, true}) {
        PrintOptions options{generic, locations, false};
        std::string text = Print(module, options);
        ParseOptions parse_options;
        parse_options.locate_by_text = false;
        absl::StatusOr<OwnedOp> again = ParseModule(context_, text, parse_options);
        ASSERT_TRUE(again.ok()) << where() << "reading back: " << again.status().message() << "\n"
                                << text;
        EXPECT_EQ(text, Print(**again, options)) << where() << "reading back what was printed";
        EXPECT_EQ(whole, Print(**again, {.generic = true})) << where() << "another program";
      }
    }
    OwnedOp clone(Clone(module));
    EXPECT_EQ(Print(module), Print(*clone)) << where() << "a clone prints differently";
  }

  void MatchErrors() {
    std::vector<ExpectedError> expected = ExpectedErrors(case_);
    EXPECT_FALSE(expected.empty())
        << where() << "a fail_* case needs `// error: …` on the line of the op";
    std::vector<bool> used(errors_.size());
    for (const ExpectedError& e : expected) {
      bool found = false;
      for (size_t i = 0; i < errors_.size() && !found; ++i) {
        if (used[i] || errors_[i].message.find(e.text) == std::string::npos) continue;
        found = LineOf(context_, errors_[i].location) == e.line;
        used[i] = found;
      }
      EXPECT_TRUE(found) << path_ << ":" << e.line << ": no error with the text `" << e.text
                         << "`; got\n"
                         << Errors();
    }
    for (size_t i = 0; i < errors_.size(); ++i) {
      EXPECT_TRUE(used[i]) << where() << "unexpected " << FormatDiagnostic(context_, errors_[i]);
    }
  }

  std::string Errors() {
    std::string out;
    for (const Diagnostic& d : errors_) out += "  " + FormatDiagnostic(context_, d) + "\n";
    return out;
  }

  const GoldenFile& file_;
  const Case& case_;
  const std::string path_, folder_;
  const bool must_fail_;
  bool implicit_module_;
  Context context_;
  std::vector<Diagnostic> errors_;
};

}  // namespace

void set_bless(bool bless) { bless_flag = bless; }
bool bless() { return bless_flag; }

std::vector<std::string> ListGoldenFiles(const std::string& root) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root, error)) {
    if (entry.path().extension() == ".ir")
      files.push_back(std::filesystem::relative(entry.path(), root).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string TestName(const std::string& relative_path) {
  std::string name = relative_path.substr(0, relative_path.rfind('.'));
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

void RunGoldenFile(const std::string& root, const std::string& relative_path) {
  std::filesystem::path path = std::filesystem::path(root) / relative_path;
  std::string shown = "tests/golden/" + relative_path;
  std::string text = ReadFile(path);
  absl::StatusOr<GoldenFile> file = ParseGoldenFile(text);
  ASSERT_TRUE(file.ok()) << shown << ": " << file.status().message();
  ASSERT_FALSE(file->cases.empty()) << shown << ": no cases";
  bool must_fail = path.filename().string().rfind("fail_", 0) == 0;
  bool differs = false;
  for (Case& c : file->cases) {
    std::vector<std::string> actual =
        CaseRunner(*file, c, shown, path.parent_path().string(), must_fail).Run();
    if (actual == c.expected) continue;
    differs = true;
    if (!bless_flag) {
      ADD_FAILURE() << shown << ":" << c.first_line << ": the result differs\n"
                    << UnifiedDiff(c.expected, actual);
    }
    c.expected = std::move(actual);
  }
  if (differs && bless_flag && !testing::Test::HasFailure()) {
    std::ofstream(path, std::ios::binary) << WriteGoldenFile(*file);
  }
  if (testing::Test::HasFailure()) {
    ADD_FAILURE() << "run again: tenon_filetest_test --gtest_filter='*/" << TestName(relative_path)
                  << "'; accept results: the same with --bless (or TENON_BLESS=1)";
  }
}

}  // namespace tenon::filetest
