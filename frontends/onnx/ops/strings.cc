// Operators on strings.
#include "frontends/onnx/ops/containers/strings.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/ops/ml/scores.h"
#include "ir/base/check.h"
#include "ir/dialect/image_ops.h"
#include "ir/dialect/str_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

Container ChangedCase(Formula& f, const Container& strings, std::string_view to) {
  const Value spans = f.Make<str::ChangeCaseOp>(strings.spans(), strings.bytes(),
                                                str::ChangeCaseOp::Attrs{.to = std::string(to)});
  return f.ok() ? StringsOf(spans, spans.defining_op()->result(1)) : strings;
}

// Without the strings that are stop words. `x` is a vector; what has no string left is one empty
// string.
Container WithoutWords(Formula& f, const Container& x, Container words, bool case_sensitive) {
  Container compared = x;
  if (!case_sensitive) {
    words = ChangedCase(f, words, "lower");
    compared = ChangedCase(f, x, "lower");
  }
  const Value zero = f.Scalar(DType::kI64, 0);
  const Value keep = f.Make<ten::LessOp>(FindStrings(f, compared, words), zero);
  const Value kept = f.Make<ten::ReduceSumOp>(
      f.Cast(keep, DType::kI64), ten::ReduceSumOp::Attrs{.axes = {0}, .keepdims = true});
  const Value flags[] = {keep, f.Make<ten::EqualOp>(kept, zero)};
  const int64_t empty = 0;
  const Value spans[] = {x.spans(), f.Ints(std::span(&empty, 1))};
  const Value places =
      f.Make<ten::NonzeroOp>(f.Make<ten::ConcatOp>(flags, ten::ConcatOp::Attrs{.axis = 0}));
  if (!f.ok()) return x;
  const Value candidates = f.Make<ten::ConcatOp>(spans, ten::ConcatOp::Attrs{.axis = 0});
  const Value left = f.Make<ten::GatherOp>(candidates, f.Reshape(places, {places.type().dim(1)}),
                                           ten::GatherOp::Attrs{});
  return f.ok() ? StringsOf(left, x.bytes()) : x;
}

}  // namespace

absl::Status ImportStringConcat(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TENON_ASSIGN_OR_RETURN(const Container a, StringsInput(node, 0));
  TENON_ASSIGN_OR_RETURN(const Container b, StringsInput(node, 1));
  Formula f(node);
  const Value spans = f.Make<str::ConcatOp>(a.spans(), a.bytes(), b.spans(), b.bytes());
  TENON_RETURN_IF_ERROR(f.status());
  return ReturnStrings(f, node, StringsOf(spans, spans.defining_op()->result(1)));
}

absl::Status ImportStringSplit(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const Container x, StringsInput(node, 0));
  str::SplitOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.delimiter, node.Str("delimiter", ""));
  if (node.Find("maxsplit") != nullptr) {
    TENON_ASSIGN_OR_RETURN(attrs.maxsplit, node.Int("maxsplit", 0));
  }
  Formula f(node);
  const Value parts = f.Make<str::SplitOp>(x.spans(), x.bytes(), attrs);
  TENON_RETURN_IF_ERROR(f.status());
  if (node.num_outputs() > 1) node.SetOutput(1, parts.defining_op()->result(1));
  return ReturnStrings(f, node, StringsOf(parts, x.bytes()));
}

absl::Status ImportStringNormalizer(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(Container x, StringsInput(node, 0));
  TENON_ASSIGN_OR_RETURN(const std::string action, node.Str("case_change_action", "NONE"));
  TENON_ASSIGN_OR_RETURN(const bool case_sensitive, node.Flag("is_case_sensitive", false));
  TENON_ASSIGN_OR_RETURN(const std::vector<std::string> words, ml::Strings(node, "stopwords"));
  node.MarkRead("locale");  // strings are UTF-8 in each
  if (action != "NONE" && action != "LOWER" && action != "UPPER") {
    return node.Error(fmt::format(
        "StringNormalizer has the case_change_action {} (expected NONE, LOWER or UPPER)", action));
  }
  const Type type = x.spans().type();
  const bool rows = type.rank() == 2;
  if (type.rank() < 1 || type.rank() > 2 ||
      (rows && type.dim(0).is_constant() && !type.dim(0).is_constant(1))) {
    return node.Error(
        fmt::format("StringNormalizer needs strings [C] or [1, C], got {}", type.text()));
  }
  Formula f(node);
  if (!words.empty()) {
    const auto count = static_cast<int64_t>(words.size());
    TENON_ASSIGN_OR_RETURN(const Container table,
                           ConstantStrings(node, std::span(&count, 1), words));
    if (rows) x.parts[0] = f.Reshape(x.spans(), {type.dim(1)});  // a run checks the first extent
    x = WithoutWords(f, x, table, case_sensitive);
    if (rows && f.ok()) x.parts[0] = f.Reshape(x.spans(), {f.One(), x.spans().type().dim(0)});
  }
  if (action != "NONE") x = ChangedCase(f, x, action == "LOWER" ? "lower" : "upper");
  return ReturnStrings(f, node, x);
}

absl::Status ImportRegexFullMatch(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const Container x, StringsInput(node, 0));
  str::MatchesOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.pattern, node.Str("pattern", ""));
  if (node.Find("pattern") == nullptr) return node.Error("RegexFullMatch has no pattern");
  return node.Return(node.Make<str::MatchesOp>(x.spans(), x.bytes(), attrs));
}

absl::Status ImportTfIdfVectorizer(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  str::CountNgramsOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.min_length, node.Int("min_gram_length", 1));
  TENON_ASSIGN_OR_RETURN(attrs.max_length, node.Int("max_gram_length", 1));
  TENON_ASSIGN_OR_RETURN(attrs.max_skip, node.Int("max_skip_count", 0));
  TENON_ASSIGN_OR_RETURN(const std::string mode, node.Str("mode", ""));
  TENON_ASSIGN_OR_RETURN(const auto starts, node.Ints("ngram_counts"));
  TENON_ASSIGN_OR_RETURN(const auto columns, node.Ints("ngram_indexes"));
  TENON_ASSIGN_OR_RETURN(const auto numbers, node.Ints("pool_int64s"));
  TENON_ASSIGN_OR_RETURN(const std::vector<std::string> words, ml::Strings(node, "pool_strings"));
  TENON_ASSIGN_OR_RETURN(const auto weights, node.Floats("weights"));
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
    return node.Error(
        fmt::format("TfIdfVectorizer has the mode \"{}\" (expected TF, IDF or TFIDF)", mode));
  }
  if (!starts || !columns) {
    return node.Error("TfIdfVectorizer needs ngram_counts and ngram_indexes");
  }
  if (numbers.has_value() != words.empty()) {
    return node.Error("TfIdfVectorizer needs pool_int64s or pool_strings, and not both");
  }
  attrs.starts = *starts;
  attrs.columns = *columns;
  Formula f(node);
  Value x;
  if (numbers) {
    if (HasStrings(node, 0))
      return node.Error("TfIdfVectorizer has a pool of numbers, got strings");
    attrs.pool = *numbers;
    x = f.Cast(node.input(0), DType::kI64);
  } else {
    TENON_ASSIGN_OR_RETURN(const Container strings, StringsInput(node, 0));
    // A word is its position among the different words of the pool.
    std::vector<std::string> known = words;
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    for (const std::string& word : words) {
      attrs.pool.push_back(std::lower_bound(known.begin(), known.end(), word) - known.begin());
    }
    const auto count = static_cast<int64_t>(known.size());
    TENON_ASSIGN_OR_RETURN(const Container table,
                           ConstantStrings(node, std::span(&count, 1), known));
    x = FindStrings(f, strings, table);
  }
  Value result = f.Make<str::CountNgramsOp>(x, attrs);
  TENON_RETURN_IF_ERROR(f.status());
  if (weights && weights->size() != columns->size()) {
    return node.Error(fmt::format("TfIdfVectorizer has {} weights for {} n-grams", weights->size(),
                                  columns->size()));
  }
  if (mode == "IDF") {
    result = f.Cast(f.Make<ten::GreaterOp>(result, f.Scalar(DType::kF32, 0)), DType::kF32);
  }
  if (mode != "TF" && weights) {
    std::vector<double> values(static_cast<size_t>(result.type().dim(-1).constant()), 1);
    for (size_t i = 0; i < columns->size(); ++i) {
      values[static_cast<size_t>((*columns)[i])] = (*weights)[i];
    }
    const auto count = static_cast<int64_t>(values.size());
    result = f.Mul(result, ml::Table(f, node, DType::kF32, std::span(&count, 1), values));
  }
  return f.Return(result);
}

absl::Status ImportImageDecoder(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  image::DecodeOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.format, node.Str("pixel_format", "RGB"));
  return node.Return(node.Make<image::DecodeOp>(node.input(0), attrs));
}

}  // namespace tenon::onnx
