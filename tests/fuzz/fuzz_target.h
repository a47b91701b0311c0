// What a fuzzer calls with any bytes. Each target is a file <name>_fuzz.cc: a test runs it in every
// build (targets_fuzz_test.cc), and libFuzzer where Clang builds it (TENON_FUZZERS).
#ifndef TENON_TESTS_FUZZ_FUZZ_TARGET_H_
#define TENON_TESTS_FUZZ_FUZZ_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

namespace tenon {
class Context;
}

namespace tenon::fuzz {

// What is wrong with how `bytes` are treated; empty if nothing is. Sets `*accepted`, which may be
// null, if they are what the target reads.
using Check = std::string (*)(std::string_view bytes, bool* accepted);

std::string CheckOnnx(std::string_view bytes, bool* accepted);         // a model, imported
std::string CheckText(std::string_view bytes, bool* accepted);         // IR text
std::string CheckRules(std::string_view bytes, bool* accepted);        // rules as text
std::string CheckNpy(std::string_view bytes, bool* accepted);          // a .npy file
std::string CheckTensor(std::string_view bytes, bool* accepted);       // a file of one TensorProto
std::string CheckSafetensors(std::string_view bytes, bool* accepted);  // a file of safetensors
std::string CheckAdapter(std::string_view bytes, bool* accepted);      // an adapter, with settings
std::string CheckOps(std::string_view bytes, bool* accepted);          // JSON that declares ops
std::string CheckBinary(std::string_view bytes, bool* accepted);       // a binary module
std::string CheckSaved(std::string_view bytes, bool* accepted);        // a saved program

// CheckText in a Context with all dialects, which keeps what earlier texts made in it. To make one
// takes five times as long as a short text.
std::string CheckTextIn(Context& context, std::string_view bytes, bool* accepted);

// What to begin with, from files of the tree; in the same order every time.
std::vector<std::string> OnnxSeeds();  // small ones
std::vector<std::string> TextSeeds();
std::vector<std::string> RulesSeeds();
std::vector<std::string> NpySeeds();
std::vector<std::string> TensorSeeds();
std::vector<std::string> SafetensorsSeeds();
std::vector<std::string> AdapterSeeds();
std::vector<std::string> OpsSeeds();
std::vector<std::string> BinarySeeds();
std::vector<std::string> SavedSeeds();

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_FUZZ_TARGET_H_
