#include "frontends/cpp/samples/sample_sizes.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "frontends/cpp/samples/sample_random.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/shapes/shape_data.h"
#include "transforms/shapes/extent_requirements.h"

namespace tenon {
namespace {

using Sizes = std::map<std::string, int64_t, std::less<>>;

constexpr int64_t kTried = 64;  // each size up to here
constexpr int64_t kLargest = int64_t{1} << 20;
constexpr int64_t kSmall = 8;
constexpr int kMaxChanges = 16;

std::optional<int64_t> Evaluate(DimExpr e, const Sizes& sizes) {
  return e.Evaluate([&](std::string_view symbol) -> std::optional<int64_t> {
    const auto it = sizes.find(symbol);
    return it == sizes.end() ? std::nullopt : std::optional(it->second);
  });
}

// How far sizes are from what a function demands; smaller is better.
struct Cost {
  size_t broken = 0;    // demands of operations that every run reaches
  size_t doubtful = 0;  // broken demands of operations in branches and loops
  size_t squeezed = 0;  // extents that only broadcast because one of them happens to be 1
  auto operator<=>(const Cost&) const = default;
  bool perfect() const { return broken + doubtful + squeezed == 0; }
};

// What an operation's shape function gives must be what its result is declared to have: a slice of
// a table of 512 rows whose extent is "seq" needs at least so many.
template <typename Add>
void ForEachDeclaredExtent(const Operation& op, Add&& add) {
  if (op.info().def().infer == nullptr || op.num_regions() > 0) return;
  std::vector<Value> operands;
  for (unsigned i = 0; i < op.num_operands(); ++i) operands.push_back(op.operand(i));
  ResultTypes inferred;
  if (!InferResultTypes(op.info(), op.location(), operands, op.slots(), inferred).ok()) return;
  for (unsigned r = 0; r < op.num_results() && r < inferred.size(); ++r) {
    const Type declared = op.result(r).type();
    if (!declared.is_tensor() || !inferred[r].is_tensor() || declared.rank() != inferred[r].rank())
      continue;
    for (int64_t axis = 0; axis < declared.rank(); ++axis) {
      const DimExpr a = inferred[r].dim(axis), b = declared.dim(axis);
      if (!a.is_unknown() && !b.is_unknown() && a != b) add({DimDemand::Kind::kEqual, a, b});
    }
  }
}

struct Demand : DimDemand {
  bool always;  // in the function's own block
};

using Names = std::map<std::string, DimExpr, std::less<>>;

class Search {
 public:
  Search(Operation* function, const std::map<std::string, int64_t>& given)
      : function_(function), fixed_(given.begin(), given.end()) {
    CollectSymbols();
    CollectDemands();
  }

  Sizes Run(const std::function<int64_t(std::string_view, size_t)>& start) {
    std::optional<std::pair<Cost, Sizes>> best;
    const Names names = std::exchange(named_, {});
    // Empty extents test little, but a decoder without past may be all that is consistent; so may
    // sizes below what tables and masks of constant size allow.
    for (const int64_t least : {1, 0}) {
      for (const int64_t most : {kLargest, kSmall}) {
        for (const bool by_name : {true, false}) {
          if (by_name && names.empty()) continue;
          named_ = by_name ? names : Names();
          least_ = least;
          Sizes sizes = Start(start, most);
          const Cost cost = Improve(sizes);
          if (!best || cost < best->first) best = {cost, std::move(sizes)};
          if (best->first.perfect()) return std::move(best->second);
        }
      }
    }
    return std::move(best->second);
  }

 private:
  void CollectSymbols() {
    Block& entry = function_->region().front();
    std::vector<std::string_view> symbols;
    for (unsigned i = 0; i < entry.num_arguments(); ++i) {
      const Type type = entry.argument(i).type();
      if (!type.is_tensor()) continue;
      for (DimExpr dim : type.dims()) dim.CollectSymbols(symbols);
    }
    symbols_.assign(symbols.begin(), symbols.end());
    const auto is_ours = [&](std::string_view s) {
      return std::find(symbols.begin(), symbols.end(), s) != symbols.end();
    };
    for (const std::string& symbol : symbols_) {
      const std::optional<DimExpr> meant = DimExpr::Parse(function_->context(), symbol);
      if (!meant || meant->is_constant() || meant->is_unknown() ||
          meant->kind() == DimExpr::Kind::kSymbol || fixed_.count(symbol) != 0)
        continue;
      std::vector<std::string_view> parts;
      meant->CollectSymbols(parts);
      if (std::all_of(parts.begin(), parts.end(), is_ours)) named_.emplace(symbol, *meant);
    }
  }

  void CollectDemands() {
    const std::set<std::string, std::less<>> known(symbols_.begin(), symbols_.end());
    std::set<std::tuple<std::string, std::string, DimDemand::Kind, bool>> seen;
    ShapeData data;
    function_->WalkPreOrder([&](Operation* op) {
      if (op == function_ || !op->info().is_registered()) return true;
      const bool always = op->block() == &function_->region().front();
      const auto add = [&](const DimDemand& demand) {
        std::vector<std::string_view> symbols;
        demand.a.CollectSymbols(symbols);
        if (demand.b) demand.b.CollectSymbols(symbols);
        const bool ours = std::all_of(symbols.begin(), symbols.end(),
                                      [&](std::string_view s) { return known.count(s) > 0; });
        if (symbols.empty() || !ours) return;
        if (seen.emplace(demand.a.text(), demand.b ? demand.b.text() : "", demand.kind, always)
                .second)
          demands_.push_back({demand, always});
      };
      data.Visit(*op);
      ForEachDemand(*op, add);
      ForEachIndexDemand(*op, data, add);
      ForEachDeclaredExtent(*op, add);
      return true;
    });
  }

  Sizes Start(const std::function<int64_t(std::string_view, size_t)>& start, int64_t most) const {
    Sizes sizes = fixed_;
    for (size_t i = 0; i < symbols_.size(); ++i) {
      if (fixed_.count(symbols_[i]) == 0)
        sizes[symbols_[i]] = std::min(start(symbols_[i], i), most);
    }
    SumTotals(sizes);
    ApplyNames(sizes);
    return sizes;
  }

  // A total length is what its name says.
  void SumTotals(Sizes& sizes) const {
    for (auto& [symbol, size] : sizes) {
      if (!ContainsIgnoringCase(symbol, "total") || fixed_.count(symbol) != 0) continue;
      int64_t sum = 0;
      for (const auto& [part, length] : sizes) {
        if (!ContainsIgnoringCase(part, "batch") && !ContainsIgnoringCase(part, "total"))
          sum += length;
      }
      if (sum > 0) size = sum;
    }
  }

  void ApplyNames(Sizes& sizes) const {
    for (const auto& [symbol, meant] : named_) {
      const std::optional<int64_t> size = Evaluate(meant, sizes);
      if (size && *size >= 0) sizes[symbol] = *size;
    }
  }

  Cost CostOf(const Sizes& sizes) const {
    Cost cost;
    for (const Demand& demand : demands_) {
      const std::optional<int64_t> a = Evaluate(demand.a, sizes);
      const std::optional<int64_t> b =
          demand.b ? Evaluate(demand.b, sizes) : std::optional<int64_t>(0);
      bool holds = a && b;
      switch (demand.kind) {
        case DimDemand::Kind::kEqual:
          holds = holds && *a == *b;
          break;
        case DimDemand::Kind::kBroadcast:
          cost.squeezed += holds && *a != *b ? 1 : 0;
          holds = holds && (*a == *b || *a == 1 || *b == 1);
          break;
        case DimDemand::Kind::kNonNegative:
          holds = holds && *a >= 0;
          break;
      }
      if (!holds) ++(demand.always ? cost.broken : cost.doubtful);
    }
    return cost;
  }

  // Small numbers, powers of two, and what the demands' sides come to now.
  std::set<int64_t> Candidates(const Sizes& sizes) const {
    std::set<int64_t> candidates;
    for (int64_t n = least_; n <= kTried; ++n) candidates.insert(n);
    for (int64_t n = kTried; n <= kLargest; n *= 2) candidates.insert(n);
    for (const Demand& demand : demands_) {
      for (DimExpr side : {demand.a, demand.b}) {
        const std::optional<int64_t> size = side ? Evaluate(side, sizes) : std::nullopt;
        if (size && *size > 0 && *size <= kLargest) candidates.insert(*size);
      }
    }
    return candidates;
  }

  static std::vector<int64_t> NearestFirst(const std::set<int64_t>& candidates, int64_t size) {
    std::vector<int64_t> sorted(candidates.begin(), candidates.end());
    std::stable_sort(sorted.begin(), sorted.end(), [size](int64_t a, int64_t b) {
      return std::abs(a - size) < std::abs(b - size);
    });
    return sorted;
  }

  // One symbol at a time, the one that helps most.
  Cost Improve(Sizes& sizes) const {
    Cost cost = CostOf(sizes);
    for (int change = 0; change < kMaxChanges && !cost.perfect(); ++change) {
      const std::set<int64_t> candidates = Candidates(sizes);
      std::optional<Sizes> better;
      for (const std::string& symbol : symbols_) {
        if (fixed_.count(symbol) != 0 || named_.count(symbol) != 0) continue;
        for (int64_t candidate : NearestFirst(candidates, sizes.at(symbol))) {
          Sizes changed = sizes;
          changed[symbol] = candidate;
          ApplyNames(changed);
          const Cost now = CostOf(changed);
          if (!(now < cost)) continue;
          cost = now;
          better = std::move(changed);
        }
      }
      if (!better) break;
      sizes = *std::move(better);
    }
    return cost;
  }

  Operation* function_;
  Sizes fixed_;
  std::vector<std::string> symbols_;  // of the inputs, in order of appearance
  Names named_;                       // what their names say
  int64_t least_ = 1;                 // size
  std::vector<Demand> demands_;
};

}  // namespace

std::map<std::string, int64_t> ChooseSizes(
    Operation* function, const std::map<std::string, int64_t>& given,
    const std::function<int64_t(std::string_view symbol, size_t number)>& start) {
  const Sizes sizes = Search(function, given).Run(start);
  return {sizes.begin(), sizes.end()};
}

}  // namespace tenon
