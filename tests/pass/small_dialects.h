// A few operations for tests of the pass manager that need ir/core alone.
#ifndef TENON_TESTS_PASS_SMALL_DIALECTS_H_
#define TENON_TESTS_PASS_SMALL_DIALECTS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "ir/core/context/context.h"
#include "pass/pass.h"

namespace tenon {

// Registers builtin.module, func.func, func.return and t.op, which has any number of operands and
// no results.
void RegisterSmallDialects(Context& context);
// Returns the text of functions @f0, @f1, …; function i has 1 + i % `most` ops t.op.
std::string FunctionsText(int functions, int most);

// A pass that does what a function says.
using PassBody = std::function<absl::StatusOr<PassResult>(Operation*, PassContext&)>;
PassInfo PassOf(std::string name, std::string anchor, PassBody body);
// Registers it; the registry must have room for the name.
void AddPass(
    PassRegistry& registry, std::string name, std::string anchor, PassBody body,
    const std::function<void(PassInfo&)>& adjust = [](PassInfo&) {});

}  // namespace tenon

#endif  // TENON_TESTS_PASS_SMALL_DIALECTS_H_
