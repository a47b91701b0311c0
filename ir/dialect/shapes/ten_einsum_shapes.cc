// The shape function of ten.einsum.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

// The subscripts of one operand or of the result: letters around at most one ellipsis.
struct Term {
  std::string before, after;
  bool ellipsis = false;
  size_t letters() const { return before.size() + after.size(); }
};

bool IsLetter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'); }

absl::StatusOr<Term> ParseTerm(const InferContext& c, std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "...") {
      if (term.ellipsis) return c.Error("equation has two ellipses in one term");
      term.ellipsis = true;
      i += 2;
    } else if (IsLetter(text[i])) {
      (term.ellipsis ? term.after : term.before) += text[i];
    } else {
      return c.Error(fmt::format("equation holds '{}', expected letters, ',', '->' or '...'",
                                 std::string(1, text[i])));
    }
  }
  return term;
}

struct Equation {
  std::vector<Term> inputs;
  Term output;
};

absl::StatusOr<Equation> ParseEquation(const InferContext& c, std::string_view text) {
  std::string compact;
  for (char ch : text) {
    if (ch != ' ') compact += ch;
  }
  const size_t arrow = compact.find("->");
  const std::string_view left = std::string_view(compact).substr(0, arrow);
  Equation equation;
  for (size_t begin = 0; begin <= left.size();) {
    const size_t comma = std::min(left.find(',', begin), left.size());
    TENON_ASSIGN_OR_RETURN(Term term, ParseTerm(c, left.substr(begin, comma - begin)));
    equation.inputs.push_back(std::move(term));
    begin = comma + 1;
  }
  if (arrow != std::string::npos) {
    TENON_ASSIGN_OR_RETURN(equation.output,
                           ParseTerm(c, std::string_view(compact).substr(arrow + 2)));
    return equation;
  }
  // Implicit output: the ellipsis, then the letters that occur once, alphabetically (capitals
  // first).
  std::array<int, 128> counts{};
  for (const Term& term : equation.inputs) {
    equation.output.ellipsis |= term.ellipsis;
    for (char ch : term.before + term.after) ++counts[static_cast<unsigned char>(ch)];
  }
  for (size_t ch = 0; ch < counts.size(); ++ch) {
    if (counts[ch] == 1) equation.output.after += static_cast<char>(ch);
  }
  return equation;
}

}  // namespace

absl::Status InferEinsum(const InferContext& c, ResultTypes& results) {
  TENON_ASSIGN_OR_RETURN(const Equation equation, ParseEquation(c, InferStr(c, "equation")));
  if (c.operands.empty()) return c.Error("expected at least one operand");
  if (equation.inputs.size() != c.operands.size()) {
    return c.Error(fmt::format("equation has {} input terms for {} operands",
                               equation.inputs.size(), c.operands.size()));
  }
  const DType dtype = c.operands[0].dtype();
  std::array<DimExpr, 128> extents{};
  DimVector ellipsis;
  bool ranked = true;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const Type type = c.operands[i];
    const Term& term = equation.inputs[i];
    if (!type.is_tensor()) {
      ranked = false;
      continue;
    }
    const std::span<const DimExpr> dims = type.dims();
    if (term.ellipsis ? dims.size() < term.letters() : dims.size() != term.letters()) {
      return c.Error(fmt::format("operand {} has rank {}, its term in the equation names {} axes",
                                 i, dims.size(), term.letters()));
    }
    const auto bind = [&](char letter, DimExpr extent) -> absl::Status {
      DimExpr& known = extents[static_cast<unsigned char>(letter)];
      if (!known || known.is_constant(1)) {
        known = extent;
        return absl::OkStatus();
      }
      if (extent.is_constant(1)) return absl::OkStatus();
      if (!known.is_unknown() && !extent.is_unknown() &&
          !(known.is_constant() && extent.is_constant())) {
        known = Broadcast(known, extent);
        return absl::OkStatus();
      }
      TENON_ASSIGN_OR_RETURN(
          known,
          MergeEqual(c, known, extent, fmt::format("the extent of '{}'", std::string(1, letter))));
      return absl::OkStatus();
    };
    for (size_t k = 0; k < term.before.size(); ++k) {
      TENON_RETURN_IF_ERROR(bind(term.before[k], dims[k]));
    }
    for (size_t k = 0; k < term.after.size(); ++k) {
      TENON_RETURN_IF_ERROR(bind(term.after[k], dims[dims.size() - term.after.size() + k]));
    }
    TENON_RETURN_IF_ERROR(
        BroadcastInto(c, ellipsis, dims.subspan(term.before.size(), dims.size() - term.letters())));
  }
  DimVector dims;
  const auto append = [&](const std::string& letters) -> absl::Status {
    for (char letter : letters) {
      const auto occurs = [&](const Term& t) {
        return (t.before + t.after).find(letter) != std::string::npos;
      };
      if (std::none_of(equation.inputs.begin(), equation.inputs.end(), occurs)) {
        return c.Error(fmt::format("equation's output names '{}', which no input has",
                                   std::string(1, letter)));
      }
      const DimExpr extent = extents[static_cast<unsigned char>(letter)];
      dims.push_back(extent ? extent : DimExpr::Unknown(c.context));
    }
    return absl::OkStatus();
  };
  TENON_RETURN_IF_ERROR(append(equation.output.before));
  if (equation.output.ellipsis) dims.insert(dims.end(), ellipsis.begin(), ellipsis.end());
  TENON_RETURN_IF_ERROR(append(equation.output.after));
  if (!ranked && equation.output.ellipsis) {
    return SetResult(results, Type::Unranked(c.context, dtype));
  }
  return SetTensor(c, results, dtype, dims);
}

}  // namespace tenon
