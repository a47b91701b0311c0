// Rules in text notation.
#ifndef TENON_DRR_TEXT_TEXT_H_
#define TENON_DRR_TEXT_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/rule/rule.h"
#include "drr/rule/term.h"
#include "ir/core/context/context.h"

namespace tenon::drr {

// Reads any number of rules, such as
//
//   rule fuse-gelu {
//     summary "gelu(linear(x, w, b))"
//     # A part with a name is shared where it is named again.
//     let     y = fused.linear(x, w, maybe(b), none)
//     match   gelu(y)
//     where   rank(w) == 2 && float(x)
//     replace fused.linear(x, w, b, none) {activation = "gelu"}
//   }
//
// Comments begin with `#` or `//`. `context` provides the ops and may be dropped afterward. `file`
// is the name in messages. InvalidArgument "file:line:column: message" at the first mistake.
//
// Notation: ops by name (without the dialect for ten, nn and core), operands in order (`none` for
// an absent one), attributes in braces. Values: `any(a | b)`, `maybe(x)`, `const w`, `each xs`,
// `splat(0.5)`, `splat(s)`, `op(…)#1`, `(a let n = "text")`. Shapes: `{B, S, H * D}`. Names in
// lower case are values and attribute variables; those in upper case are dimensions. Attributes and
// conditions are terms (term.h) of the words of words.h and of `facts`, which must outlive the
// rules. docs/reference/rule-language.md has the whole grammar.
//
// The text may declare ops: `op my.gated(x, w?) {alpha: f32 = 1} -> same_as(x)`. They are added to
// `context` (ir/core/context/declared_ops.h), also if a later line has a mistake.
absl::StatusOr<std::vector<Rule>> ParseRules(std::string_view text, const std::string& file,
                                             Context& context, std::span<const Word> facts = {});

// Who says what the result of a declared op is.
enum class DeclaredResult : uint8_t {
  kInText,    // the text, behind `->`
  kFunction,  // a shape function of the caller; until then it is as the first operand
};

// Declares one op in `context`, and returns it. The text is what stands behind the word `op`, and
// nothing else. Errors are those of ParseRules.
absl::StatusOr<const OpInfo*> ParseOp(std::string_view text, const std::string& file,
                                      Context& context,
                                      DeclaredResult result = DeclaredResult::kInText);

// Returns the declaration of an op that a file has declared, in the notation of ParseRules.
std::string DeclarationText(const OpInfo& op);

// Returns the declarations of the ops that these rules name and files have declared, sorted by
// name. With them in front, the texts of the rules can be read where nothing else declares these
// ops.
std::string DeclarationsFor(std::span<const Rule> rules, const Context& context);

}  // namespace tenon::drr

#endif  // TENON_DRR_TEXT_TEXT_H_
