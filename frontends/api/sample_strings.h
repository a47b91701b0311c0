// Made-up strings for inputs that nobody gives.
#ifndef TENON_FRONTENDS_API_SAMPLE_STRINGS_H_
#define TENON_FRONTENDS_API_SAMPLE_STRINGS_H_

#include <cstdint>
#include <span>

#include "frontends/api/sample_random.h"
#include "frontends/api/strings.h"

namespace tenon {

// Returns strings of a shape, some of them empty and some equal.
StringTensor SampleStrings(std::span<const int64_t> shape, SampleRandom& random);

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_SAMPLE_STRINGS_H_
