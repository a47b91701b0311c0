// One step of fuzzing the text parser.
#ifndef TENON_TESTS_FUZZ_PARSER_FUZZ_H_
#define TENON_TESTS_FUZZ_PARSER_FUZZ_H_

#include <string>
#include <string_view>

namespace tenon::fuzz {

// What is wrong with how `text` is treated; empty if nothing is. Sets `*verified` if the text is
// valid IR.
std::string CheckText(std::string_view text, bool* verified = nullptr);

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_PARSER_FUZZ_H_
