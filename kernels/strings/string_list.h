// Strings as kernels read and make them. The functions behind those ops of the dialect str whose
// results have a size that only their values tell: the executor asks them for it.
#ifndef TENON_KERNELS_STRINGS_STRING_LIST_H_
#define TENON_KERNELS_STRINGS_STRING_LIST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace tenon::kernels {

// Sets `strings` to the strings of a tensor, which lie in the text. An error for a span that is
// outside of it. The operands need data.
KernelStatus ReadStrings(const TensorView& spans, const TensorView& text,
                         std::vector<std::string_view>& strings);

// Strings that an op makes: their spans, and the text in which they lie in order.
struct StringList {
  std::vector<int64_t> spans;
  std::string text;

  // Appends a string; an error if one of them or all together are too long.
  KernelStatus Add(std::string_view string);
  // Copies both to the results of an op, which have room for exactly these.
  KernelStatus CopyTo(const TensorView& spans_out, const TensorView& text_out) const;
};

// Each sets `made` to the results of an op, whose operands need data.
KernelStatus ConcatStrings(std::span<const TensorView> operands, StringList& made);
KernelStatus ChangeCase(std::span<const TensorView> operands, bool upper, StringList& made);
KernelStatus PackStrings(std::span<const TensorView> operands, StringList& made);
KernelStatus WriteNumbers(std::span<const TensorView> operands, StringList& made);

// The parts of strings.
struct SplitStrings {
  std::vector<std::vector<int64_t>> parts;  // for each string the spans of its parts
  int64_t most = 0;                         // the largest number of parts
};

// Splits as str.split does. An empty delimiter stands for whitespace.
KernelStatus SplitEach(std::span<const TensorView> operands, std::string_view delimiter,
                       std::optional<int64_t> maxsplit, SplitStrings& made);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_STRINGS_STRING_LIST_H_
