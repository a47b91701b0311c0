#include "frontends/debug/reduce.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "frontends/debug/reduce_steps.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/verifier.h"

namespace tenon {
namespace {

class Reducer {
 public:
  Reducer(const Operation& module, const ReducePredicate& holds, const ReduceOptions& options)
      : current_(Clone(module)), holds_(holds), options_(options) {}

  void Run() {
    Try([](Operation&) { return true; });  // without what has no use
    for (bool changed = true; changed;) {
      changed = ReduceResults();
      changed |= ReduceOps();
      changed |= Bypass();
      if (options_.shrink_dims) changed |= ShrinkDims();
    }
  }
  OwnedOp Take() { return std::move(current_); }
  int64_t tries() const { return tries_; }

 private:
  // Changes a copy. Keeps it if it is a program and the predicate holds.
  bool Try(const std::function<bool(Operation& module)>& change) {
    if (tries_ >= options_.most_tries) return false;
    OwnedOp copy(Clone(*current_));
    if (!change(*copy)) return false;
    TidyFunction(*copy);
    const ScopedDiagnosticHandler quiet(copy->context(), nullptr);
    if (!Verify(copy.get()).ok()) return false;
    ++tries_;
    if (!holds_(*copy)) return false;
    current_ = std::move(copy);
    return true;
  }

  unsigned NumReturned() const { return Return(*current_).num_operands(); }
  static Operation& Return(const Operation& module) {
    return *MainFunction(module)->region().front().back();
  }

  // One value instead of several, or a value that is computed earlier.
  bool ReduceResults() {
    bool changed = false;
    const unsigned returned = NumReturned();
    for (unsigned i = 0; returned > 1 && i < returned; ++i) {
      if (Try([i](Operation& m) {
            ReturnValues(m, {Return(m).operand(i)});
            return true;
          })) {
        changed = true;
        break;
      }
    }
    for (unsigned i = 0; NumReturned() > 1 && i < NumReturned();) {
      if (Try([i](Operation& m) {
            std::vector<Value> values;
            for (unsigned k = 0; k < Return(m).num_operands(); ++k) {
              if (k != i) values.push_back(Return(m).operand(k));
            }
            ReturnValues(m, values);
            return true;
          })) {
        changed = true;
      } else {
        ++i;
      }
    }
    // The earliest one: what is behind it goes.
    const size_t ops = BodyOps(*current_).size();
    for (size_t i = 0; i + 1 < ops; ++i) {
      const Operation* op = BodyOps(*current_)[i];
      if (op->Has(Trait::kConstantLike) || op->num_results() == 0) continue;
      if (Try([i](Operation& m) {
            Operation* const last = BodyOps(m)[i];
            std::vector<Value> values;
            for (unsigned r = 0; r < last->num_results(); ++r) values.push_back(last->result(r));
            ReturnValues(m, values);
            return true;
          })) {
        return true;
      }
    }
    return changed;
  }

  // In parts that get smaller: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
  // Input" (2002).
  bool ReduceOps() {
    bool changed = false;
    for (size_t part = std::max<size_t>(1, BodyOps(*current_).size() / 2); part > 0; part /= 2) {
      for (size_t first = 0; first < BodyOps(*current_).size();) {
        const size_t before = BodyOps(*current_).size();
        if (before > 1 && Try([&](Operation& m) {
              ReplaceByArguments(m, first, part);
              return true;
            }) &&
            BodyOps(*current_).size() < before) {
          changed = true;
          continue;
        }
        first += part;
      }
    }
    return changed;
  }

  bool Bypass() {
    bool changed = false;
    for (size_t i = BodyOps(*current_).size(); i-- > 0;) {
      if (i >= BodyOps(*current_).size()) continue;
      const unsigned operands = BodyOps(*current_)[i]->num_operands();
      for (unsigned k = 0; k < operands; ++k) {
        if (!Try([&](Operation& m) { return ReplaceByOperand(m, i, k); })) continue;
        changed = true;
        break;
      }
    }
    return changed;
  }

  bool ShrinkDims() {
    bool changed = false;
    Context& context = current_->context();
    for (const DimExpr was : ShrinkableDims(*current_)) {
      const bool symbol = !was.is_constant();
      std::vector<int64_t> sizes = {1, 2, 3, 4};
      if (symbol) sizes = {2};
      if (!symbol && was.constant() > 8) sizes.push_back(was.constant() / 2);
      bool done = false;
      for (int64_t size : sizes) {
        if (done || (!symbol && size >= was.constant())) break;
        for (const bool attributes : {true, false}) {
          done = Try([&](Operation& m) {
            return ReplaceDim(m, was, DimExpr::Constant(context, size), attributes && !symbol);
          });
          changed |= done;
          if (done || symbol) break;
        }
      }
    }
    return changed;
  }

  OwnedOp current_;
  const ReducePredicate& holds_;
  const ReduceOptions& options_;
  int64_t tries_ = 0;
};

}  // namespace

absl::StatusOr<OwnedOp> Reduce(const Operation& module, const ReducePredicate& holds,
                               const ReduceOptions& options, ReduceReport* report) {
  const Operation* const main = MainFunction(module);
  if (main == nullptr || main->region().front().next() != nullptr) {
    return absl::InvalidArgumentError(
        "there is nothing to reduce (expected a function @main, or one function, of one block)");
  }
  if (!holds(module)) {
    return absl::InvalidArgumentError(
        "the program does not show what is looked for (expected one for which the predicate "
        "holds)");
  }
  Reducer reducer(module, holds, options);
  const auto ops_before = static_cast<int64_t>(BodyOps(module).size());
  reducer.Run();
  OwnedOp small = reducer.Take();
  if (report != nullptr) {
    *report = {.tries = reducer.tries() + 1,
               .ops_before = ops_before,
               .ops_after = static_cast<int64_t>(BodyOps(*small).size())};
  }
  return small;
}

}  // namespace tenon
