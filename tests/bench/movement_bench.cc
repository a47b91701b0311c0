// Kernels that move elements, on the shapes of transformers and of Swin, against memcpy of as many
// bytes in the same run. See README.md.
#include <cstring>

#include "kernels/op_attrs.h"
#include "kernels/shape.h"
#include "tests/bench/row_bench.h"

namespace bench {
namespace {

using tenon::kernels::Product;
using tenon::kernels::TensorView;
namespace ten = tenon::ten;

using Shape = std::vector<int64_t>;

// `bytes`: of the result.
void Report(const char* name, const Call& call, int64_t bytes) {
  Buffer from({bytes / 4 + 1}), to({bytes / 4 + 1});
  const std::vector<double> seconds =
      Interleave({[&] { std::memcpy(to.floats(), from.floats(), static_cast<size_t>(bytes)); },
                  [&] { call.Run(); }});
  std::printf("%-52s %8.1f KiB %9.2f us %7.1f GB/s   %5.2f of memcpy\n", name,
              static_cast<double>(bytes) / 1024, seconds[1] * 1e6,
              2e-9 * static_cast<double>(bytes) / seconds[1], seconds[0] / seconds[1]);
}

void Transpose(const char* name, Shape x, Shape perm, tenon::kernels::ThreadPool& pool) {
  ten::TransposeAttrs attrs;
  Shape out;
  for (int64_t axis : perm) out.push_back(x[static_cast<size_t>(axis)]);
  attrs.perm.assign(perm.begin(), perm.end());
  const Buffer from(x), to(out);
  Report(name, Call("cpu.transpose", {from.view()}, {to.view()}, &attrs, pool), 4 * Product(out));
}

void Slice(const char* name, Shape x, int64_t axis, int64_t start, int64_t end,
           tenon::kernels::ThreadPool& pool) {
  ten::SliceAttrs attrs;
  attrs.axes = {axis}, attrs.starts = {start}, attrs.ends = {end}, attrs.steps = {1};
  Shape out = x;
  out[static_cast<size_t>(axis)] = end - start;
  const Buffer from(x), to(out);
  Report(name, Call("cpu.slice", {from.view()}, {to.view()}, &attrs, pool), 4 * Product(out));
}

void Concat(const char* name, Shape a, Shape b, int64_t axis, tenon::kernels::ThreadPool& pool) {
  ten::ConcatAttrs attrs;
  attrs.axis = axis;
  Shape out = a;
  out[static_cast<size_t>(axis)] += b[static_cast<size_t>(axis)];
  const Buffer x(a), y(b), to(out);
  Report(name, Call("cpu.concat", {x.view(), y.view()}, {to.view()}, &attrs, pool),
         4 * Product(out));
}

void Expand(const char* name, Shape x, Shape out, tenon::kernels::ThreadPool& pool) {
  ten::ExpandAttrs attrs;
  const Buffer from(x), to(out);
  Report(name, Call("cpu.expand", {from.view()}, {to.view()}, &attrs, pool), 4 * Product(out));
}

// Rows in a fixed order that is not that of memory.
void Gather(const char* name, int64_t rows, int64_t size, tenon::kernels::ThreadPool& pool) {
  ten::GatherAttrs attrs;
  const Buffer from({rows, size}), to({rows, size});
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < rows; ++i) indices.push_back(i * 7 % rows);
  const Shape shape = {rows};
  const TensorView view = {indices.data(), tenon::DType::kI64, shape};
  Report(name, Call("cpu.gather", {from.view(), view}, {to.view()}, &attrs, pool), 4 * rows * size);
}

int Main() {
  tenon::kernels::ThreadPool pool(1);
  Transpose("heads split [1,128,12,64] 0213", {1, 128, 12, 64}, {0, 2, 1, 3}, pool);
  Transpose("heads merged [1,12,128,64] 0213", {1, 12, 128, 64}, {0, 2, 1, 3}, pool);
  Transpose("keys [1,12,128,64] 0132", {1, 12, 128, 64}, {0, 1, 3, 2}, pool);
  Transpose("windows [1,8,7,8,7,96] 013245", {1, 8, 7, 8, 7, 96}, {0, 1, 3, 2, 4, 5}, pool);
  Transpose("windows [1,2,7,2,7,384] 013245", {1, 2, 7, 2, 7, 384}, {0, 1, 3, 2, 4, 5}, pool);
  Transpose("Swin heads [64,49,3,3,32] 20314", {64, 49, 3, 3, 32}, {2, 0, 3, 1, 4}, pool);
  Transpose("to NHWC [1,96,56,56] 0231", {1, 96, 56, 56}, {0, 2, 3, 1}, pool);
  Transpose("image to NHWC [1,3,224,224] 0231", {1, 3, 224, 224}, {0, 2, 3, 1}, pool);
  Transpose("to NCHW [1,56,56,96] 0312", {1, 56, 56, 96}, {0, 3, 1, 2}, pool);
  Transpose("matrix [768,3072] 10", {768, 3072}, {1, 0}, pool);
  Transpose("matrix [197,768] 10", {197, 768}, {1, 0}, pool);
  Slice("columns [1,128,2304] 768:1536", {1, 128, 2304}, 2, 768, 1536, pool);
  Slice("roll, upper part [1,56,56,96] 3:56", {1, 56, 56, 96}, 1, 3, 56, pool);
  Slice("roll, right part [1,56,56,96] 3:56", {1, 56, 56, 96}, 2, 3, 56, pool);
  Concat("roll [1,56,53,96] + [1,56,3,96]", {1, 56, 53, 96}, {1, 56, 3, 96}, 2, pool);
  Concat("past [1,12,127,64] + [1,12,1,64]", {1, 12, 127, 64}, {1, 12, 1, 64}, 2, pool);
  Expand("rows [1,1,128] to [12,128,128]", {1, 1, 128}, {12, 128, 128}, pool);
  Expand("columns [12,128,1] to [12,128,128]", {12, 128, 1}, {12, 128, 128}, pool);
  Gather("rows of 96", 3136, 96, pool);
  Gather("rows of 768", 197, 768, pool);
  return 0;
}

}  // namespace
}  // namespace bench

int main() { return bench::Main(); }
