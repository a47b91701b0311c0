// Made-up strings for inputs that nobody gives.
#ifndef TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_STRINGS_H_
#define TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_STRINGS_H_

#include <cstdint>
#include <span>

#include "frontends/cpp/files/strings.h"
#include "frontends/cpp/samples/sample_random.h"

namespace tenon {

// Returns strings of a shape, some of them empty and some equal.
StringTensor SampleStrings(std::span<const int64_t> shape, SampleRandom& random);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_SAMPLES_SAMPLE_STRINGS_H_
