// JSON of files from strangers.
#ifndef TENON_FRONTENDS_CPP_FILES_JSON_TEXT_H_
#define TENON_FRONTENDS_CPP_FILES_JSON_TEXT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tenon {

// Why a text is refused. Callers word the message, and name the file.
struct JsonMistake {
  enum class Kind : uint8_t {
    kNone,
    kSyntax,  // no JSON: see `line` and `column`
    kNumber,  // a number that no double holds
    kDepth,   // lists and objects are nested too deeply
    kTwice,   // an object has `key` twice, of which a tree would keep one
  };
  Kind kind = Kind::kNone;
  int64_t line = 0, column = 0;  // from 1
  std::string key;               // as the file has it, not escaped
};

// The value that `text` holds, with at most `most_depth` lists and objects inside of each other.
// Where there is none, sets `mistake` and returns null. Takes time in proportion to the text; a
// callback of nlohmann::json::parse takes the square of the number of keys of an object.
nlohmann::json ReadJsonText(std::string_view text, int most_depth, JsonMistake& mistake);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_FILES_JSON_TEXT_H_
