// N-grams and images.
#include "frontends/onnx/export/lowering.h"
#include "ir/dialect/image_ops.h"
#include "ir/dialect/str_ops.h"

namespace tenon::onnx {

bool LowerStrings(Lowering& l) {
  if (l.op().id() == image::DecodeOp::kId) {
    const std::string format(image::DecodeOp(&l.op()).format());
    l.Done(l.Node("ImageDecoder", {l.operand(0)}, {{"pixel_format", l.Str(format)}}));
    return true;
  }
  if (l.op().id() == str::CountNgramsOp::kId) {
    const auto attrs = str::CountNgramsOp(&l.op()).attrs();
    l.Done(l.Node("TfIdfVectorizer", {l.operand(0)},
                  {{"mode", l.Str("TF")},
                   {"min_gram_length", l.Int(attrs.min_length)},
                   {"max_gram_length", l.Int(attrs.max_length)},
                   {"max_skip_count", l.Int(attrs.max_skip)},
                   {"ngram_counts", l.IntList(attrs.starts)},
                   {"ngram_indexes", l.IntList(attrs.columns)},
                   {"pool_int64s", l.IntList(attrs.pool)}}));
    return true;
  }
  return false;
}

}  // namespace tenon::onnx
