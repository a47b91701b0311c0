// expand-einsum: index notation of two factors as a product with transposes and reshapes.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

bool Has(std::string_view labels, char label) {
  return labels.find(label) != std::string_view::npos;
}

std::string Filter(std::string_view labels, auto keep) {
  std::string kept;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(kept), keep);
  return kept;
}

bool IsDistinct(std::string_view labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!std::isalpha(static_cast<unsigned char>(labels[i])) ||
        Has(labels.substr(i + 1), labels[i]))
      return false;
  }
  return true;
}

constexpr std::string_view kEllipsis = "...";

// Letters for the axes of an ellipsis that the equation does not use; the last ones are those of
// the last axes.
std::string FreeLetters(std::string_view equation) {
  std::string letters;
  for (char c = 'A'; c <= 'Z'; ++c) {
    if (!Has(equation, c)) letters += c;
  }
  return letters;
}

// Names the axes that the ellipses of the factors and of the result stand for, from the last one
// on. False where the result has none, or where axes of the factors might broadcast.
bool NameEllipses(std::vector<std::string>& parts, const Type* types) {
  const std::string letters = FreeLetters(parts[0] + parts[1] + parts[2]);
  std::vector<DimExpr> extents;  // of both factors, from the last axis on
  for (size_t i = 0; i < 2; ++i) {
    const size_t place = parts[i].find(kEllipsis);
    if (place == std::string::npos) continue;
    parts[i].erase(place, kEllipsis.size());
    if (!types[i].is_tensor() || types[i].rank() < static_cast<int64_t>(parts[i].size())) {
      return false;
    }
    const size_t count = static_cast<size_t>(types[i].rank()) - parts[i].size();
    if (count > letters.size()) return false;
    for (size_t axis = 0; axis < count; ++axis) {
      const DimExpr extent = types[i].dim(static_cast<int64_t>(place + count - 1 - axis));
      if (axis == extents.size()) {
        extents.push_back(extent);
      } else if (!DimExpr::ProvablyEqual(extents[axis], extent)) {
        return false;
      }
    }
    parts[i].insert(place, letters.substr(letters.size() - count));
  }
  const size_t place = parts[2].find(kEllipsis);
  if (place == std::string::npos) return false;
  parts[2].replace(place, kEllipsis.size(), letters.substr(letters.size() - extents.size()));
  return true;
}

// "a,b->c" without spaces and ellipses; empty when the notation says more than that.
std::vector<std::string> Parse(std::string_view equation, const Type* types) {
  std::string text = Filter(equation, [](char c) { return c != ' '; });
  const size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) return {};
  std::vector<std::string> parts = {
      text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  if (text.find(kEllipsis) != std::string::npos && !NameEllipses(parts, types)) return {};
  if (!std::all_of(parts.begin(), parts.end(), [](const auto& p) { return IsDistinct(p); })) {
    return {};
  }
  return parts;
}

// A value whose axes have names.
struct Labelled {
  Value value;
  std::string labels;
};

class EinsumExpansion {
 public:
  EinsumExpansion(Operation& op, std::vector<std::string> labels)
      : op_(op), builder_(OpBuilder::Before(&op)), labels_(std::move(labels)) {}

  // Null when the equation is not a product in this sense.
  absl::StatusOr<Value> Make() {
    const std::string &a = labels_[0], &b = labels_[1], &out = labels_[2];
    Type ta = op_.operand(0).type(), tb = op_.operand(1).type();
    if (!ta.is_tensor() || !tb.is_tensor() || ta.rank() != static_cast<int64_t>(a.size()) ||
        tb.rank() != static_cast<int64_t>(b.size())) {
      return Value();
    }
    const std::string contracted = Filter(a, [&](char c) { return Has(b, c) && !Has(out, c); });
    auto summed = [&](const std::string& own, const std::string& other) {
      return std::any_of(own.begin(), own.end(),
                         [&](char c) { return !Has(other, c) && !Has(out, c); });
    };
    if (contracted.empty() || summed(a, b) || summed(b, a)) return Value();
    const std::string shared = Filter(out, [&](char c) { return Has(a, c) && Has(b, c); });
    std::string rows = Filter(out, [&](char c) { return Has(a, c) && !Has(b, c); });
    const std::string columns = Filter(out, [&](char c) { return !Has(a, c) && Has(b, c); });
    if (shared.size() + rows.size() + columns.size() != out.size()) return Value();
    if (!CanExpand(0, contracted) || !CanExpand(1, contracted)) return Value();
    // Rows that the result has before the shared axes broadcast over the second factor.
    std::string before;
    while (rows.size() > 1 && out.starts_with(before + rows[0])) {
      before += rows[0];
      rows.erase(0, 1);
    }
    TENON_ASSIGN_OR_RETURN(Labelled x, Arrange(0, before + shared, rows, contracted));
    TENON_ASSIGN_OR_RETURN(Labelled y, Arrange(1, shared, columns, contracted));
    TENON_ASSIGN_OR_RETURN(auto product,
                           ten::MatmulOp::Create(builder_, op_.location(), x.value, y.value,
                                                 {.transpose_a = false, .transpose_b = true}));
    const bool joined = rows.size() != 1 || columns.size() != 1;
    return Restore(product.out(), joined, before + shared + rows + columns);
  }

 private:
  // Of a label in one factor; null if it has none.
  DimExpr ExtentOf(int factor, char label) const {
    const size_t at = labels_[factor].find(label);
    if (at == std::string::npos) return DimExpr();
    return op_.operand(factor).type().dim(static_cast<int64_t>(at));
  }

  // Of a label in the product: of a factor that has one element the other's.
  DimExpr Extent(char label) const {
    const DimExpr a = ExtentOf(0, label), b = ExtentOf(1, label);
    if (!a || !b) return a ? a : b ? b : DimExpr::Unknown(op_.context());
    return a.is_unknown() || b.is_unknown() || DimExpr::ProvablyEqual(a, b) ? a : Broadcast(a, b);
  }

  absl::StatusOr<Value> Transposed(Value value, std::string_view from, std::string_view to) {
    if (from == to) return value;
    std::vector<int64_t> perm;
    for (char label : to) perm.push_back(static_cast<int64_t>(from.find(label)));
    TENON_ASSIGN_OR_RETURN(
        auto made, ten::TransposeOp::Create(builder_, op_.location(), value, {.perm = perm}));
    return made.out();
  }

  // Has the factor fewer elements along a contracted axis than the product?
  bool Expands(int factor, char label) const {
    const DimExpr own = ExtentOf(factor, label), extent = Extent(label);
    return !own.is_unknown() && !extent.is_unknown() && !DimExpr::ProvablyEqual(own, extent);
  }

  bool CanExpand(int factor, std::string_view contracted) const {
    const std::span<const DimExpr> dims = op_.operand(factor).type().dims();
    return std::none_of(dims.begin(), dims.end(), [](DimExpr d) { return d.is_unknown(); }) ||
           std::none_of(contracted.begin(), contracted.end(),
                        [&](char label) { return Expands(factor, label); });
  }

  // The factor as [batch..., free, contracted]. A product has as many elements of both factors
  // along the contracted axis.
  absl::StatusOr<Labelled> Arrange(int factor, const std::string& batch, const std::string& free,
                                   const std::string& contracted) {
    const std::string labels = batch + free + contracted;
    TENON_ASSIGN_OR_RETURN(Value value, Transposed(op_.operand(factor), labels_[factor], labels));
    std::vector<DimExpr> whole;
    bool is_whole = true;
    for (char label : labels) {
      const bool expands = Has(contracted, label) && Expands(factor, label);
      is_whole = is_whole && !expands;
      whole.push_back(expands ? Extent(label) : ExtentOf(factor, label));
    }
    if (!is_whole) {
      TENON_ASSIGN_OR_RETURN(
          auto made, ten::ExpandOp::Create(builder_, op_.location(), value, {.shape = whole}));
      value = made.out();
    }
    if (free.size() != 1 || contracted.size() != 1) {
      std::vector<DimExpr> dims(whole.begin(), whole.begin() + static_cast<int64_t>(batch.size()));
      const auto joined = [&](size_t from, size_t count) {
        DimExpr product = DimExpr::Constant(op_.context(), 1);
        for (size_t i = from; i < from + count; ++i) product = product * whole[i];
        return product;
      };
      dims.push_back(joined(batch.size(), free.size()));
      dims.push_back(joined(batch.size() + free.size(), contracted.size()));
      TENON_ASSIGN_OR_RETURN(
          auto made, ten::ReshapeOp::Create(builder_, op_.location(), value, {.shape = dims}));
      value = made.out();
    }
    return Labelled{value, labels};
  }

  // The product as the result. Its axes are `labels`; with `joined`, all rows are one axis and all
  // columns one, also where there are none.
  absl::StatusOr<Value> Restore(Value product, bool joined, const std::string& labels) {
    if (joined) {
      std::vector<DimExpr> dims;
      for (char label : labels) dims.push_back(Extent(label));
      TENON_ASSIGN_OR_RETURN(
          auto made, ten::ReshapeOp::Create(builder_, op_.location(), product, {.shape = dims}));
      product = made.out();
    }
    return Transposed(product, labels, labels_[2]);
  }

  Operation& op_;
  OpBuilder builder_;
  std::vector<std::string> labels_;
};

class ExpandEinsum : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    std::vector<Operation*> found;
    op->Walk([&](Operation* inner) {
      if (Isa<ten::EinsumOp>(inner) && inner->num_operands() == 2) found.push_back(inner);
    });
    int64_t expanded = 0;
    for (Operation* einsum : found) {
      const Type types[] = {einsum->operand(0).type(), einsum->operand(1).type()};
      std::vector<std::string> labels = Parse(ten::EinsumOp(einsum).equation(), types);
      if (labels.empty() || !einsum->result().type().is_tensor()) continue;
      TENON_ASSIGN_OR_RETURN(const Value value, EinsumExpansion(*einsum, std::move(labels)).Make());
      if (!value || value.type().rank() != einsum->result().type().rank()) continue;
      einsum->result().ReplaceAllUsesWith(value);
      einsum->Erase();
      ++expanded;
    }
    if (expanded > 0) context.statistics->Add("expanded", expanded);
    return PassResult{expanded > 0};
  }
};

}  // namespace

PassInfo ExpandEinsumPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"expanded", "einsums taken apart"}};
  info.create = [](const PassOptionValues&) { return std::make_unique<ExpandEinsum>(); };
  return info;
}

}  // namespace tenon
