// Sizes for a function's dimension symbols that nobody has given sizes for.
#ifndef TENON_FRONTENDS_API_SAMPLE_SIZES_H_
#define TENON_FRONTENDS_API_SAMPLE_SIZES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ir/core/operation.h"

namespace tenon {

// A size for every symbol in the types of the inputs: those of `given`, and for others what `start`
// says (the number counts symbols in order of appearance), changed until no operation is
// known to fail (those of branches count less): as few symbols as possible, and to the nearest
// sizes. A symbol named like an expression of others ("past + 1"), as exporters write it, has that
// size if nothing contradicts it. Where no consistent sizes are found, the least inconsistent are
// returned. The same for the same function, everywhere. `function` has inferred shapes.
std::map<std::string, int64_t> ChooseSizes(
    Operation* function, const std::map<std::string, int64_t>& given,
    const std::function<int64_t(std::string_view symbol, size_t number)>& start);

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_SAMPLE_SIZES_H_
