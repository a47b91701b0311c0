// A copy of one function that runs as a program, with the functions that it calls.
#ifndef TENON_FRONTENDS_DEBUG_RUNNABLE_COPY_H_
#define TENON_FRONTENDS_DEBUG_RUNNABLE_COPY_H_

#include <memory>
#include <string>

#include "frontends/cpp/tenon.h"
#include "ir/core/operation.h"

namespace tenon {

// A function, and the place that it has in a module.
struct PlacedFunction {
  Operation* function;  // may be detached
  // The function of the module in the place of which it runs: `function` itself, or another state
  // of it.
  Operation* place;

  // True if the function calls others, or itself.
  bool HasCalls() const;
};

// The names of the symbols around `function` and its own: "inner::@f".
std::string SymbolPath(const Operation& function);

// A copy of a function; Model::main() of `model` runs it.
struct RunnableCopy {
  Model model;
  Operation* function;  // the copy
  Operation* module;    // the module in which it lies, with copies of what it calls
};
// Copies a function. Without calls, the function is alone in the module. Otherwise the module
// around its place is copied with it, as a module inside of `model` whose function @main calls it.
RunnableCopy CopyToRun(const std::shared_ptr<Context>& context, const PlacedFunction& function);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_RUNNABLE_COPY_H_
