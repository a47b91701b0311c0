#include "frontends/cpp/files/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

namespace tenon {
namespace {

using nlohmann::json;

// Looks at the text without making a tree, whose depth and keys would be out of control.
class TextCheck : public nlohmann::json_sax<json> {
 public:
  TextCheck(std::string_view text, int most_depth, JsonMistake& mistake)
      : text_(text), most_depth_(most_depth), mistake_(mistake) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override {
    keys_.emplace_back();
    return Deeper();
  }
  bool key(string_t& key) override {
    if (keys_.back().insert(key).second) return true;
    mistake_.kind = JsonMistake::Kind::kTwice;
    mistake_.key = key;
    return false;
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(size_t) override { return Deeper(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(size_t position, const std::string&, const json::exception& error) override {
    constexpr int kNumberOverflow = 406;
    mistake_.kind =
        error.id == kNumberOverflow ? JsonMistake::Kind::kNumber : JsonMistake::Kind::kSyntax;
    const std::string_view before = text_.substr(0, std::max<size_t>(position, 1) - 1);
    mistake_.line = 1 + std::count(before.begin(), before.end(), '\n');
    mistake_.column = static_cast<int64_t>(before.size() - (before.rfind('\n') + 1)) + 1;
    return false;
  }

 private:
  bool Deeper() {
    if (++depth_ <= most_depth_) return true;
    mistake_.kind = JsonMistake::Kind::kDepth;
    return false;
  }

  const std::string_view text_;
  const int most_depth_;
  JsonMistake& mistake_;
  int depth_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects that are open
};

}  // namespace

json ReadJsonText(std::string_view text, int most_depth, JsonMistake& mistake) {
  mistake = {};
  TextCheck check(text, most_depth, mistake);
  if (!json::sax_parse(text, &check)) return nullptr;
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace tenon
