// Choosing sizes for the dimension symbols of a function.
#ifndef TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_SIZES_H_
#define TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_SIZES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ir/core/operation.h"

namespace tenon {

// Returns a size for every symbol in the types of the inputs. Sizes in `given` stay. Other symbols
// get `start(symbol, number)`, where `number` counts symbols in order of appearance. Sizes are then
// changed until no operation is known to fail; operations in branches count less. As few symbols as
// possible change, to the nearest sizes.
//
// A symbol named like an expression ("past + 1"), as exporters write it, has that size if nothing
// contradicts it. If there are no consistent sizes, returns the least inconsistent. Equal functions
// give equal sizes on every machine. `function` must have inferred shapes.
std::map<std::string, int64_t> ChooseSizes(
    Operation* function, const std::map<std::string, int64_t>& given,
    const std::function<int64_t(std::string_view symbol, size_t number)>& start);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_SIZES_H_
