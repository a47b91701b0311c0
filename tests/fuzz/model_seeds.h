// ONNX models to begin with: every one of them imports, compiles and runs as it is.
#ifndef TENON_TESTS_FUZZ_MODEL_SEEDS_H_
#define TENON_TESTS_FUZZ_MODEL_SEEDS_H_

#include <ostream>
#include <string>
#include <vector>

namespace tenon::fuzz {

struct ModelSeed {
  std::string name;  // letters, digits and underscores
  std::string bytes;

  friend void PrintTo(const ModelSeed& seed, std::ostream* out) { *out << seed.name; }
};

// The models of tests/models, then models of one node; in the same order every time.
std::vector<ModelSeed> ModelSeeds();

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_MODEL_SEEDS_H_
