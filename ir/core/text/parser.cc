#include "ir/core/text/parser.h"

#include <utility>

#include "fmt/format.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/core/context/thread_diagnostics.h"
#include "ir/core/text/op_parser.h"
#include "ir/core/text/source_line.h"
#include "ir/core/verify/verifier.h"

namespace tenon {

bool AsmParser::ErrorAt(size_t offset, std::string message, std::vector<Diagnostic> notes) {
  if (!status_.ok()) return false;
  if (silent_) {
    status_ = absl::InvalidArgumentError(message);
    silent_error_ = {offset, std::move(message)};
  } else if (!error_offsets_.insert(offset).second) {
    status_ = first_error_;
  } else {
    ++num_errors_;
    status_ =
        EmitError(context_, LocationAt(PositionAt(offset)), std::move(message), std::move(notes));
  }
  return false;
}

bool AsmParser::ErrorOnce(std::string_view missing, size_t offset, std::string message) {
  if (silent_ || told_.emplace(missing.data(), missing.size()).second)
    return ErrorAt(offset, std::move(message));
  if (status_.ok()) status_ = first_error_;
  return false;
}

bool AsmParser::ErrorExpected(const char* what) {
  if (At(TokenKind::kError)) return Error(lexer_.error());
  std::string_view skipped = lexer_.text().substr(previous_end_, offset() - previous_end_);
  size_t at =
      previous_end_ > 0 && skipped.find('\n') != std::string_view::npos ? previous_end_ : offset();
  if (At(TokenKind::kEof))
    return ErrorAt(at, fmt::format("expected {}, got the end of the text", what));
  constexpr size_t kMaxShown = 40;
  std::string shown(token_.text.substr(0, kMaxShown));
  if (token_.text.size() > kMaxShown) shown += "…";
  return ErrorAt(at, fmt::format("expected {}, got '{}'", what, shown));
}

bool AsmParser::ExpectEnd() { return AtEnd() || ErrorExpected("the end of the text"); }

namespace {

absl::StatusOr<OwnedOp> ParseModuleText(Context& context, std::string_view text,
                                        const ParseOptions& options, bool mapped) {
  const KeepUnusedBlobs keep(context);
  const ThreadDiagnostics with_lines(context, [&](const Diagnostic& diagnostic) {
    Diagnostic told = diagnostic;
    AddSourceLines(context, options.file_name, text, told);
    with_lines.EmitOutside(told);
  });
  OpParser parser(context, text, options, mapped);
  absl::StatusOr<OwnedOp> module = parser.ParseTopLevel();
  if (!module.ok() || !options.verify) return module;
  if (absl::Status status = Verify(module->get()); !status.ok()) return status;
  return module;
}

}  // namespace

absl::StatusOr<OwnedOp> ParseModule(Context& context, std::string_view text,
                                    const ParseOptions& options) {
  return ParseModuleText(context, text, options, false);
}

absl::StatusOr<OwnedOp> ParseMappedModule(Context& context, std::string_view text,
                                          const ParseOptions& options) {
  return ParseModuleText(context, text, options, true);
}

absl::StatusOr<Type> ParseType(Context& context, std::string_view text) {
  AsmParser parser(context, text, "<type>");
  Type type;
  if (!parser.ParseType(type) || !parser.ExpectEnd()) return parser.status();
  return type;
}

absl::StatusOr<Attribute> ParseAttribute(Context& context, std::string_view text) {
  AsmParser parser(context, text, "<attribute>");
  Attribute attribute;
  if (!parser.ParseAttribute(attribute) || !parser.ExpectEnd()) return parser.status();
  return attribute;
}

}  // namespace tenon
