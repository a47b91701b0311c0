// Which tensor of strings a tensor of spans stands for. Internal to the exporter.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_STRINGS_STRING_VALUES_H_
#define TENON_FRONTENDS_ONNX_EXPORT_STRINGS_STRING_VALUES_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/core/operation.h"

namespace tenon::onnx {

// Finds the strings that spans mean in a text (ir/base/string_span.h). ONNX has strings as elements
// of tensors, so operations that move spans are repeated on the strings themselves.
//
// A value of strings has the type of its spans until the whole function is lowered: the operations
// between can then be lowered like those on integers.
class StringValues {
 public:
  // Notes that `strings` is what `spans` mean in `text`.
  void Note(Value spans, Value text, Value strings);
  // Returns the strings that `spans` mean in `text`. Creates operations beside those that compute
  // the spans. Null if it is not known what they mean.
  Value Of(Value spans, Value text);
  // The strings of constants, also behind a change of case if they are ASCII; nullopt for others.
  std::optional<std::vector<std::string>> Constants(Value spans, Value text) const;
  // Makes loops give back the strings that they carry. Returns a terminator whose strings are not
  // known; null if there is none. Call it when all operations have been visited.
  Operation* FindYielded();
  // Makes control flow pass empty texts on where nothing reads them behind it. Returns true if it
  // has changed anything.
  absl::StatusOr<bool> DropTexts();
  // Returns a loop whose text is read as bytes within it; null if there is none. Call it after
  // DropTexts has changed nothing.
  const Operation* ReaderOfText() const;

 private:
  Value Find(Value spans, Value text);
  Value OfConstant(Operation& constant, Value text);
  // Repeats an operation that moves elements.
  Value OfMove(Value spans, Value text);
  // Results of control flow, and values that a loop carries, by position.
  Value OfControl(Value spans, Value text);
  Value OfIf(Operation& op, Value spans, Value text);
  bool OfCarried(Operation& loop, unsigned spans, unsigned text);

  struct Text {
    Operation* op = nullptr;
    unsigned result = 0;
    bool passed_on = false;  // by the iterations of a loop
  };
  static absl::StatusOr<bool> DropText(Text& text, bool& changed);
  struct Yielded {
    Operation* terminator = nullptr;
    unsigned spans = 0, text = 0;  // operands
  };

  std::vector<Text> texts_;       // of strings that control flow passes on
  std::vector<Yielded> yielded_;  // those that are to be found yet
  absl::flat_hash_map<std::pair<ValueImpl*, ValueImpl*>, Value> known_;
  int depth_ = 0;
};

// Creates a node that holds strings, in row-major order, before `before`. Its type is
// that of spans.
Value MakeStrings(Operation& before, Type spans, const std::vector<std::string>& strings);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_STRINGS_STRING_VALUES_H_
