// Reference kernels of strings.
#ifdef TENON_HAVE_RE2
#include <re2/re2.h>
#endif

#include <cstring>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "kernels/calls/found_results.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/elementwise/map.h"
#include "kernels/strings/number_text.h"
#include "kernels/strings/string_list.h"

namespace tenon::kernels {
namespace {

KernelStatus StrEqual(const RunArgs& args) {
  std::vector<std::string_view> a, b;
  KernelStatus status = ReadStrings(args.inputs[0], args.inputs[1], a);
  if (status.ok()) status = ReadStrings(args.inputs[2], args.inputs[3], b);
  if (!status.ok()) return status;
  const TensorView& out = args.outputs[0];
  const std::array<Dims, 2> strides = {BroadcastStrides(args.inputs[0].shape, out.shape),
                                       BroadcastStrides(args.inputs[2].shape, out.shape)};
  StridedWalk<2> walk(out.shape, strides);
  for (int64_t i = 0; i < out.numel(); ++i, walk.Next()) {
    out.as<bool>()[i] = a[static_cast<size_t>(walk[0])] == b[static_cast<size_t>(walk[1])];
  }
  return KernelStatus::Ok();
}

KernelStatus StrFind(const RunArgs& args) {
  std::vector<std::string_view> strings, keys;
  KernelStatus status = ReadStrings(args.inputs[0], args.inputs[1], strings);
  if (status.ok()) status = ReadStrings(args.inputs[2], args.inputs[3], keys);
  if (!status.ok()) return status;
  absl::flat_hash_map<std::string_view, int64_t> places;
  for (size_t i = 0; i < keys.size(); ++i) places.emplace(keys[i], static_cast<int64_t>(i));
  for (size_t i = 0; i < strings.size(); ++i) {
    const auto found = places.find(strings[i]);
    args.outputs[0].as<int64_t>()[i] = found == places.end() ? -1 : found->second;
  }
  return KernelStatus::Ok();
}

// Writes the strings that `make` makes, unless they were made with the shapes of the results.
template <typename F>
KernelStatus WriteStrings(const RunArgs& args, const F& make) {
  if (const auto* const kept = KeptOf<StringList>(args); kept != nullptr)
    return kept->CopyTo(args.outputs[0], args.outputs[1]);
  StringList made;
  KernelStatus status = make(args.inputs, made);
  return status.ok() ? made.CopyTo(args.outputs[0], args.outputs[1]) : std::move(status);
}

KernelStatus StrConcat(const RunArgs& args) { return WriteStrings(args, ConcatStrings); }

KernelStatus StrChangeCase(const RunArgs& args) {
  const bool upper = args.get<str::ChangeCaseAttrs>().to == str::ChangeCaseTo::kUpper;
  return WriteStrings(args, [&](std::span<const TensorView> operands, StringList& made) {
    return ChangeCase(operands, upper, made);
  });
}

KernelStatus StrPack(const RunArgs& args) { return WriteStrings(args, PackStrings); }

KernelStatus StrFromNumber(const RunArgs& args) { return WriteStrings(args, WriteNumbers); }

KernelStatus StrSplit(const RunArgs& args) {
  const auto& attrs = args.get<str::SplitAttrs>();
  SplitStrings own;
  const auto* kept = KeptOf<SplitStrings>(args);
  if (kept == nullptr) {
    if (KernelStatus status = SplitEach(args.inputs, attrs.delimiter, attrs.maxsplit, own);
        !status.ok()) {
      return status;
    }
    kept = &own;
  }
  const SplitStrings& made = *kept;
  const TensorView &out = args.outputs[0], &counts = args.outputs[1];
  const int64_t width = out.shape.back();
  if (width != made.most) return KernelStatus::Internal("more parts than were counted");
  for (size_t i = 0; i < made.parts.size(); ++i) {
    const std::vector<int64_t>& parts = made.parts[i];
    counts.as<int64_t>()[i] = static_cast<int64_t>(parts.size());
    int64_t* const row = out.as<int64_t>() + static_cast<int64_t>(i) * width;
    std::copy(parts.begin(), parts.end(), row);
    std::fill(row + parts.size(), row + width, 0);
  }
  return KernelStatus::Ok();
}

KernelStatus StrMatches([[maybe_unused]] const RunArgs& args) {
#ifdef TENON_HAVE_RE2
  const std::string& pattern = args.get<str::MatchesAttrs>().pattern;
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 expression(pattern, options);
  if (!expression.ok()) {
    return KernelStatus::Invalid("the pattern '" + pattern + "' is wrong: " + expression.error() +
                                 " (expected the syntax of RE2)");
  }
  std::vector<std::string_view> strings;
  if (KernelStatus status = ReadStrings(args.inputs[0], args.inputs[1], strings); !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < strings.size(); ++i) {
    args.outputs[0].as<bool>()[i] =
        RE2::FullMatch(re2::StringPiece(strings[i].data(), strings[i].size()), expression);
  }
  return KernelStatus::Ok();
#else
  return KernelStatus::Unsupported("this build has no RE2 (expected libre2-dev where it is built)");
#endif
}

KernelStatus StrToNumber(const RunArgs& args) {
  std::vector<std::string_view> strings;
  if (KernelStatus status = ReadStrings(args.inputs[0], args.inputs[1], strings); !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < strings.size(); ++i) {
    if (ReadNumber(strings[i], args.outputs[0], static_cast<int64_t>(i))) continue;
    constexpr size_t kShown = 40;
    return KernelStatus::Invalid(
        "element " + std::to_string(i) + " is '" + std::string(strings[i].substr(0, kShown)) +
        "' (expected a number of type " + Name(args.outputs[0].dtype) + ")");
  }
  return KernelStatus::Ok();
}

// The n-grams of one length by their numbers, with their columns. Keys are the bytes of the
// numbers.
using NgramColumns = absl::flat_hash_map<std::string_view, std::vector<int64_t>>;

std::string_view BytesOf(const int64_t* numbers, size_t count) {
  return {reinterpret_cast<const char*>(numbers), count * sizeof(int64_t)};
}

NgramColumns ColumnsOf(const str::CountNgramsAttrs& attrs, size_t length) {
  NgramColumns columns;
  size_t number = 0;  // of the first n-gram of this length
  for (size_t size = 1; size < length; ++size) {
    number += static_cast<size_t>(attrs.starts[size] - attrs.starts[size - 1]) / size;
  }
  const auto begin = static_cast<size_t>(attrs.starts[length - 1]);
  const size_t end =
      length < attrs.starts.size() ? static_cast<size_t>(attrs.starts[length]) : attrs.pool.size();
  for (size_t at = begin; at < end; at += length, ++number) {
    columns[BytesOf(&attrs.pool[at], length)].push_back(attrs.columns[number]);
  }
  return columns;
}

KernelStatus CountNgrams(const RunArgs& args) {
  const auto& attrs = args.get<str::CountNgramsAttrs>();
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const int64_t width = x.shape.back(), columns = out.shape.back();
  const int64_t rows = x.rank() == 2 ? x.shape[0] : 1;
  std::fill_n(out.as<float>(), out.numel(), 0.0f);
  std::vector<int64_t> ngram;
  for (int64_t length = attrs.min_length; length <= attrs.max_length; ++length) {
    const NgramColumns known = ColumnsOf(attrs, static_cast<size_t>(length));
    if (known.empty()) continue;
    // An n-gram of one number has nothing to skip.
    const int64_t most_skipped = length == 1 ? 0 : std::min(attrs.max_skip, width);
    for (int64_t step = 1; step <= most_skipped + 1; ++step) {
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t at = 0; at < width && (length - 1) * step < width - at; ++at) {
          ngram.clear();
          for (int64_t i = 0; i < length; ++i) {
            ngram.push_back(x.as<int64_t>()[row * width + at + i * step]);
          }
          const auto found = known.find(BytesOf(ngram.data(), ngram.size()));
          if (found == known.end()) continue;
          for (const int64_t column : found->second) out.as<float>()[row * columns + column] += 1;
        }
      }
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefCountNgrams() {
  return {.op = "str.count_ngrams", .name = "ref.count_ngrams", .run = CountNgrams};
}
Kernel RefStrChangeCase() {
  return {.op = "str.change_case", .name = "ref.str_change_case", .run = StrChangeCase};
}
Kernel RefStrConcat() { return {.op = "str.concat", .name = "ref.str_concat", .run = StrConcat}; }
Kernel RefStrEqual() { return {.op = "str.equal", .name = "ref.str_equal", .run = StrEqual}; }
Kernel RefStrFind() { return {.op = "str.find", .name = "ref.str_find", .run = StrFind}; }
Kernel RefStrFromNumber() {
  return {.op = "str.from_number", .name = "ref.str_from_number", .run = StrFromNumber};
}
Kernel RefStrMatches() {
  return {.op = "str.matches", .name = "ref.str_matches", .run = StrMatches};
}
Kernel RefStrPack() { return {.op = "str.pack", .name = "ref.str_pack", .run = StrPack}; }
Kernel RefStrSplit() { return {.op = "str.split", .name = "ref.str_split", .run = StrSplit}; }
Kernel RefStrToNumber() {
  return {.op = "str.to_number", .name = "ref.str_to_number", .run = StrToNumber};
}

}  // namespace tenon::kernels
