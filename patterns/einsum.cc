// Einsum of two factors as a matrix product between transposes.
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

// The letters of a, b and the result, with letters in place of an ellipsis.
struct Indices {
  std::string a, b, out;
};

bool Has(const std::string& text, char letter) { return text.find(letter) != std::string::npos; }

// Nothing when a letter is repeated in a factor or the result is not given.
std::optional<Indices> Parse(const std::string& equation, int64_t rank_a, int64_t rank_b) {
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    return std::nullopt;
  Indices indices = {equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1),
                     equation.substr(arrow + 2)};
  // An ellipsis stands for digits, counted from its end.
  auto expand = [](std::string& text, int64_t count) {
    const size_t at = text.find("...");
    if (at == std::string::npos) return count == 0;
    std::string digits;
    for (int64_t i = count; i > 0; --i) digits += static_cast<char>('0' + i);
    text.replace(at, 3, digits);
    return true;
  };
  auto dots = [](const std::string& text, int64_t rank) {
    return text.find("...") == std::string::npos ? int64_t{0}
                                                 : rank - static_cast<int64_t>(text.size()) + 3;
  };
  const int64_t in_a = dots(indices.a, rank_a), in_b = dots(indices.b, rank_b);
  if (in_a < 0 || in_b < 0 || in_a > 9 || in_b > 9) return std::nullopt;
  if (!expand(indices.a, in_a) || !expand(indices.b, in_b) ||
      !expand(indices.out, std::max(in_a, in_b)))
    return std::nullopt;
  if (static_cast<int64_t>(indices.a.size()) != rank_a ||
      static_cast<int64_t>(indices.b.size()) != rank_b)
    return std::nullopt;
  for (const std::string* text : {&indices.a, &indices.b, &indices.out}) {
    for (size_t i = 0; i < text->size(); ++i) {
      if (text->find((*text)[i], i + 1) != std::string::npos) return std::nullopt;
    }
  }
  return indices;
}

// How the factors are read as matrices: transposed to batch + rows + sum and batch + sum + columns,
// which gives batch + rows + columns.
struct Plan {
  I64s a, b, out;
};

std::optional<Plan> MakePlan(const std::string& equation, Value a, Value b) {
  if (!a.type().is_tensor() || !b.type().is_tensor()) return std::nullopt;
  auto parsed = Parse(equation, a.type().rank(), b.type().rank());
  if (!parsed) return std::nullopt;
  std::string batch, rows, columns, sum;
  for (char letter : parsed->out) {
    const bool in_a = Has(parsed->a, letter), in_b = Has(parsed->b, letter);
    if (!in_a && !in_b) return std::nullopt;
    (in_a && in_b ? batch : in_a ? rows : columns) += letter;
  }
  for (const auto& [text, other] : {std::pair(&parsed->a, &parsed->b), {&parsed->b, &parsed->a}}) {
    for (char letter : *text) {
      if (Has(parsed->out, letter)) continue;
      if (!Has(*other, letter)) return std::nullopt;  // summed in one factor alone
      if (!Has(sum, letter)) sum += letter;
    }
  }
  // More than one axis of rows only when b has no batch: a matrix for all of them.
  if (sum.size() != 1 || columns.size() != 1 || rows.empty()) return std::nullopt;
  if (rows.size() > 1 && !batch.empty()) return std::nullopt;
  auto order = [](const std::string& from, const std::string& to) {
    I64s perm;
    for (char letter : to) perm.push_back(static_cast<int64_t>(from.find(letter)));
    return perm;
  };
  return Plan{order(parsed->a, batch + rows + sum), order(parsed->b, batch + sum + columns),
              order(batch + rows + columns, parsed->out)};
}

// Broadcasting between named indices would be an error in a product.
bool IsProduct(const std::string& equation, Value a, Value b) {
  auto plan = MakePlan(equation, a, b);
  if (!plan) return false;
  const size_t batch = plan->b.size() - 2;
  for (size_t i = 0; i < batch; ++i) {
    if (!DimExpr::ProvablyEqual(a.type().dim(plan->a[i]), b.type().dim(plan->b[i]))) return false;
  }
  return DimExpr::ProvablyEqual(a.type().dim(plan->a.back()), b.type().dim(plan->b[batch]));
}

Rule MatmulFromEinsum() {
  Val a("a"), b("b");
  Attr<std::string> equation("equation");
  auto part = [](I64s Plan::*perm) {
    return [perm](const std::string& text, Value x, Value y) -> std::optional<I64s> {
      auto plan = MakePlan(text, x, y);
      if (!plan) return std::nullopt;
      return (*plan).*perm;
    };
  };
  Val product = Matmul(Transpose(a, {.perm = Compute(part(&Plan::a), equation, a, b)}),
                       Transpose(b, {.perm = Compute(part(&Plan::b), equation, a, b)}));
  return Rule("matmul-from-einsum")
      .Summary("an einsum of two factors over one index is a matrix product")
      .Match(Einsum({a, b}, {.equation = equation}))
      .Where(If("it sums over one index, with one free index in b", IsProduct, equation, a, b))
      .Replace(Transpose(product, {.perm = Compute(part(&Plan::out), equation, a, b)}))
      .Lowers("einsums");
}

}  // namespace

RuleSet EinsumRules() { return {MatmulFromEinsum()}; }

}  // namespace tenon::pattern
