// Convolution of images with channels last and windows of 3 x 3 elements by Winograd's method (see
// winograd_transform.h): nn.conv and fused.conv of one group with constant weights, where it pays
// (winograd_choice.h); otherwise as tiled.cc.
//
// Tiles of the result are taken in blocks whose transformed image stays in the second-level cache.
// For each panel of filters, each element of the transformed tiles is a matrix product, tiles by
// channels times channels by filters; the sums are transformed back before the next panel.
//
// Tiles that read an infinity or a NaN are computed anew (winograd_nonfinite.h). Weights with one
// are left to tiled.cc.
#include <vector>

#include "ir/base/ceil_div.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/conv/filter_panels.h"
#include "kernels/cpu/conv/finite.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/conv/tile.h"
#include "kernels/cpu/conv/winograd/winograd_choice.h"
#include "kernels/cpu/conv/winograd/winograd_nonfinite.h"
#include "kernels/cpu/conv/winograd/winograd_transform.h"
#include "kernels/cpu/linear/epilogue.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/threads/parallel_slots.h"

namespace tenon::kernels {
namespace {

using cpu::FilterPanels;
using cpu::TileKernels;

constexpr int64_t kMaxPoints = 36;
constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kLineFloats = 64 / kFloat;

// Of the transformed image of a block, and of one that each panel reads from further away.
int64_t WinogradBlockBytes() { return cpu::ActiveCaches().second_bytes / 2; }
int64_t MostBytes() { return cpu::ActiveCaches().second_bytes * 3; }

struct WinogradState : KernelState {
  std::shared_ptr<KernelState> direct;  // not null: tiled.cc does it all
  cpu::ImageGeometry image;
  cpu::TileCall call;
  cpu::LoopActivation activation;
  Activation rest;  // applied to the finished tiles
  int64_t size, points;
  int64_t tiles_down, tiles_across, tiles, blocks;
  int64_t most_tiles;  // of a block
  FilterPanels panels;
  // Elements of the transformed image from an element of a tile to the next, and of the sums.
  int64_t image_step, sums_step;
  // Each slot has the sums of a block by a panel. Blocks are transformed by the slot that needs
  // them, or before all products, for all slots.
  bool shares_images;
  int64_t slots, image_bytes, sums_bytes;
  std::vector<float> zeros;
  std::vector<int64_t> runs = {0};
  PackedBytes packed;  // panels, signs, and a byte: whether all weights are finite

  // Whole groups of tiles, but in the last block.
  int64_t BlockBegin(int64_t block, int64_t max_group) const {
    return block == blocks ? tiles : tiles * block / blocks / max_group * max_group;
  }
};

// So many elements, in an odd number of cache lines: multiples of it fall into different sets.
int64_t OddLines(int64_t n) { return (CeilDiv(n, kLineFloats) | 1) * kLineFloats; }

// Transforms windows, in double precision.
class WindowTransform {
 public:
  explicit WindowTransform(int64_t size) : points_(static_cast<size_t>(size) + 2) {
    constexpr double kA = cpu::kWinogradInner, kB = cpu::kWinogradOuter;
    const std::vector<double> numbers =
        size == 2 ? std::vector<double>{0, 1, -1} : std::vector<double>{0, kA, -kA, kB, -kB};
    for (size_t i = 0; i < numbers.size(); ++i) {
      double divisor = 1;
      for (size_t j = 0; j < numbers.size(); ++j) {
        if (j != i) divisor *= numbers[i] - numbers[j];
      }
      matrix_[i][0] = 1 / divisor;
      matrix_[i][1] = numbers[i] / divisor;
      matrix_[i][2] = numbers[i] * numbers[i] / divisor;
    }
    matrix_[points_ - 1][2] = 1;
  }

  // G g G^T of windows side by side: element k of window j is g[k * count + j], and element i of
  // its result goes to out[i * step + j].
  void operator()(const float* g, int64_t count, float* out, int64_t step) {
    const auto n = static_cast<size_t>(count);
    sums_.resize(3 * n);
    double* const sums[3] = {sums_.data(), sums_.data() + n, sums_.data() + 2 * n};
    for (size_t i = 0; i < points_; ++i) {
      const double* row = matrix_[i];
      for (size_t k = 0; k < 3; ++k) {
        const float *g0 = g + k * n, *g1 = g + (3 + k) * n, *g2 = g + (6 + k) * n;
        for (size_t j = 0; j < n; ++j) {
          sums[k][j] = row[0] * static_cast<double>(g0[j]) + row[1] * static_cast<double>(g1[j]) +
                       row[2] * static_cast<double>(g2[j]);
        }
      }
      for (size_t p = 0; p < points_; ++p, out += step) {
        const double* column = matrix_[p];
        for (size_t j = 0; j < n; ++j) {
          out[j] = static_cast<float>(sums[0][j] * column[0] + sums[1][j] * column[1] +
                                      sums[2][j] * column[2]);
        }
      }
    }
  }

 private:
  size_t points_;
  double matrix_[6][3] = {};  // G
  std::vector<double> sums_;
};

size_t SignsAt(const WinogradState& s) {
  return static_cast<size_t>(s.points * s.image.channels * s.panels.Columns() * kFloat);
}
size_t IsFiniteAt(const WinogradState& s) {
  return SignsAt(s) + cpu::WinogradSigns::Bytes(s.image.channels, s.image.filters);
}

// From [filters, channels, 3, 3] to panels [points, channels, columns], columns past the last
// filter 0.
void PackPanels(const WinogradState& s, const float* w, float* packed) {
  const int64_t channels = s.image.channels;
  WindowTransform transform(s.size);
  std::vector<float> windows;  // of one channel and the filters of a panel
  for (int64_t p = 0; p < s.panels.count; ++p) {
    const int64_t columns = s.panels.ColumnsOf(p), first = s.panels.FirstOf(p);
    windows.assign(static_cast<size_t>(9 * columns), 0);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t j = 0; j < std::min(columns, s.image.filters - first); ++j) {
        const float* from = w + ((first + j) * channels + c) * 9;
        for (int64_t k = 0; k < 9; ++k) windows[static_cast<size_t>(k * columns + j)] = from[k];
      }
      transform(windows.data(), columns, packed + c * columns, channels * columns);
    }
    packed += s.points * channels * columns;
  }
}

// Cuts the tiles into blocks, and the work among threads. Every block reads all weights. Where they
// are many, larger blocks are better, although each panel then reads the transformed image anew.
void ChooseBlocks(WinogradState& s, int64_t threads, const TileKernels& kernels) {
  const int64_t pair = 2 * kernels.max_group;
  const int64_t wanted = threads == 1 ? 1 : 2 * threads;
  const int64_t tile_bytes = s.points * s.call.pixel_step * kFloat;
  const int64_t weights = s.points * s.image.channels * s.image.filters * kFloat;
  const auto blocks_of = [&](int64_t bytes) {
    const int64_t fewest = CeilDiv(s.tiles, std::max(bytes / tile_bytes, pair));
    return std::clamp<int64_t>(s.tiles / pair, 1, fewest);
  };
  const int64_t near = blocks_of(WinogradBlockBytes()), far = blocks_of(MostBytes());
  const bool is_far = near * weights > far * weights + s.panels.count * s.tiles * tile_bytes;
  s.blocks = std::clamp<int64_t>(s.tiles / pair, 1, std::max(is_far ? far : near, wanted));
  s.most_tiles = 0;
  for (int64_t b = 0; b < s.blocks; ++b) {
    s.most_tiles = std::max(
        s.most_tiles, s.BlockBegin(b + 1, kernels.max_group) - s.BlockBegin(b, kernels.max_group));
  }
  s.shares_images = s.blocks < wanted;
  s.slots = threads;
  s.image_step = OddLines(s.most_tiles * s.call.pixel_step);
  s.sums_step = OddLines(s.most_tiles * s.call.out_step);
  s.image_bytes = s.points * s.image_step * kFloat;
  s.sums_bytes = s.points * s.sums_step * kFloat;
}

template <typename Attrs>
Kernel Direct() {
  return std::is_same_v<Attrs, nn::ConvAttrs> ? CpuConvTiled() : CpuFusedConvTiled();
}

template <typename Attrs>
KernelStatus PrepareWinograd(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const Attrs*>(args.attrs);
  const TensorView& w = args.inputs[1];
  auto state = std::make_shared<WinogradState>();
  out = state;
  WinogradState& s = *state;
  s.image = cpu::GeometryOf(attrs, args);
  s.size = w.data == nullptr ? 0 : cpu::WinogradTileSize(s.image);
  if (s.size == 0) return Direct<Attrs>().prepare(args, s.direct);
  const cpu::SplitActivation split = cpu::Split(ToActivation(attrs));
  s.activation = split.loop;
  s.rest = split.rest;
  const TileKernels& kernels = cpu::Tiles();
  s.points = (s.size + 2) * (s.size + 2);
  s.tiles_down = CeilDiv(s.image.height, s.size);
  s.tiles_across = CeilDiv(s.image.width, s.size);
  s.tiles = s.image.batch * s.tiles_down * s.tiles_across;
  s.panels = FilterPanels::Of(s.image.filters, s.image.channels, kernels.lanes);
  s.call = {
      .runs = s.runs.data(),
      .num_runs = 1,
      .run_size = s.image.channels,
      .pixel_step = s.image.channels % 512 == 0 ? s.image.channels + kLineFloats : s.image.channels,
      .out_step = 2 * kernels.lanes,
      .activation = cpu::Split(Activation{}).loop};
  s.zeros.resize(static_cast<size_t>(s.image.channels));
  const double flops = 2.0 * static_cast<double>(s.points * s.tiles) *
                       static_cast<double>(s.image.channels * s.image.filters);
  ChooseBlocks(s, cpu::ThreadsFor(flops, *args.device), kernels);
  args.scratch_bytes = static_cast<size_t>(s.slots * s.sums_bytes +
                                           (s.shares_images ? s.blocks : s.slots) * s.image_bytes);
  const int inputs[] = {1};
  const std::string layout =
      s.panels.Layout("conv.winograd" + std::to_string(s.size) + ".with_signs");
  s.packed = args.Pack(inputs, layout, IsFiniteAt(s) + 1, [&](std::byte* to) {
    PackPanels(s, w.as<float>(), reinterpret_cast<float*>(to));
    cpu::WinogradSigns::Pack(w.as<float>(), s.image.channels, s.image.filters,
                             reinterpret_cast<int8_t*>(to + SignsAt(s)));
    to[IsFiniteAt(s)] = std::byte{cpu::AllFinite(w)};
  });
  if (s.packed == nullptr) return KernelStatus::OutOfMemory("no memory for packed weights");
  if (s.packed.get()[IsFiniteAt(s)] != std::byte{0}) return KernelStatus::Ok();
  return Direct<Attrs>().prepare(args, s.direct);
}

// What the tasks of one run share.
struct WinogradJob {
  const WinogradState& s;
  const TileKernels& kernels;
  const cpu::WinogradTransforms& transforms;
  const float *x, *weights, *bias, *residual;
  float* out;

  // The pixels that tile `t` reads: those of the image, and zeros.
  void FindPixels(int64_t t, const float** pixels) const {
    const cpu::WindowAxis &rows = s.image.rows, &columns = s.image.columns;
    const int64_t side = s.size + 2, channels = s.image.channels;
    const int64_t image = t / (s.tiles_down * s.tiles_across);
    const int64_t top = t / s.tiles_across % s.tiles_down * s.size - rows.pad_begin;
    const int64_t left = t % s.tiles_across * s.size - columns.pad_begin;
    for (int64_t i = 0; i < side; ++i) {
      const int64_t row = top + i;
      const float* from = x + (image * rows.in + row) * columns.in * channels;
      const bool has_row = row >= 0 && row < rows.in;
      for (int64_t j = 0; j < side; ++j) {
        const int64_t column = left + j;
        const bool is_inside = has_row && column >= 0 && column < columns.in;
        pixels[i * side + j] = is_inside ? from + column * channels : s.zeros.data();
      }
    }
  }

  // Tiles [first, last) of a block whose transformed image is at `to`.
  void TransformImage(int64_t first, int64_t last, float* to) const {
    const float* pixels[kMaxPoints];
    cpu::WinogradInput tile = {pixels, s.image.channels, to, s.image_step};
    const auto transform = s.size == 2 ? transforms.input2 : transforms.input4;
    for (int64_t t = first; t < last; ++t, tile.out += s.call.pixel_step) {
      FindPixels(t, pixels);
      transform(tile);
    }
  }

  // The products of `count` transformed tiles and a panel of filters.
  void Multiply(const float* image, int64_t count, int64_t panel, float* sums) const {
    const int64_t group = cpu::BestGroup(kernels, count), pairs = count / (2 * group);
    const auto& tiles = kernels.tiles[group - kernels.min_group];
    const int vectors = s.panels.IsNarrow(panel) ? 0 : 1;
    cpu::ConvTile tile = {};
    tile.columns = s.panels.ColumnsOf(panel);
    // While the weights of one product are used, those of the next come into the second-level
    // cache.
    const int64_t size = s.image.channels * tile.columns;
    tile.next_step = CeilDiv(tile.columns * kFloat, CeilDiv(count, 2 * group));
    tile.weights = weights + panel * s.points * s.image.channels * 2 * kernels.lanes;
    for (int64_t i = 0; i < s.points; ++i, tile.weights += size) {
      tile.next = reinterpret_cast<const char*>(tile.weights + size);
      const float* from = image + i * s.image_step;
      float* to = sums + i * s.sums_step;
      const auto place = [&](int g, int64_t t) {
        tile.x[g] = from + t * s.call.pixel_step;
        tile.out[g] = to + t * s.call.out_step;
      };
      const auto run = [&](int groups, int64_t repeat) {
        tile.repeat = repeat;
        tiles[groups - 1][vectors](s.call, tile);
        tile.next += tile.next_step * s.image.channels * repeat;
      };
      if (pairs > 0) {
        place(0, 0), place(1, group);
        run(2, pairs);
      }
      // What is left; the last group is moved back to the end.
      const int64_t done = 2 * group * pairs;
      if (count - done > group) {
        place(0, done), place(1, count - group);
        run(2, 1);
      } else if (count > done) {
        place(0, count - group);
        run(1, 1);
      }
    }
  }

  // One tile whose sums are not finite.
  void TransformNonfinite(int64_t t, int64_t panel, const cpu::WinogradOutput& out) const {
    const float* pixels[kMaxPoints];
    FindPixels(t, pixels);
    const auto* signs = reinterpret_cast<const int8_t*>(s.packed.get() + SignsAt(s));
    RunNonfiniteTile(transforms,
                     {.size = s.size,
                      .pixels = pixels,
                      .weights = weights + panel * s.points * s.image.channels * 2 * kernels.lanes,
                      .columns = s.panels.ColumnsOf(panel),
                      .step = 2 * kernels.lanes,
                      .first_filter = s.panels.FirstOf(panel),
                      .signs = {signs, s.image.channels, s.image.filters},
                      .out = out});
  }

  void TransformSums(int64_t first, int64_t last, int64_t panel, const float* sums) const {
    const int64_t filters = s.image.filters, begin = s.panels.FirstOf(panel);
    cpu::WinogradOutput tile = {};
    tile.step = s.sums_step;
    tile.next = s.call.out_step;
    tile.filters = std::min<int64_t>(2 * kernels.lanes, filters - begin);
    if (bias != nullptr) tile.bias = bias + begin;
    tile.row = s.image.width * filters;
    tile.pixel = filters;
    tile.activation = s.activation;
    const auto transform = s.size == 2 ? transforms.output2 : transforms.output4;
    for (int64_t t = first; t < last; ++t, sums += s.call.out_step) {
      const int64_t image = t / (s.tiles_down * s.tiles_across);
      const int64_t top = t / s.tiles_across % s.tiles_down * s.size;
      const int64_t left = t % s.tiles_across * s.size;
      const int64_t at = ((image * s.image.height + top) * s.image.width + left) * filters + begin;
      tile.sums = sums;
      tile.out = out + at;
      if (residual != nullptr) tile.residual = residual + at;
      tile.rows = std::min(s.size, s.image.height - top);
      tile.columns = std::min(s.size, s.image.width - left);
      if (cpu::HasNonfiniteSums(sums, s.points, s.sums_step)) {
        TransformNonfinite(t, panel, tile);
      } else {
        transform(tile);
      }
      if (s.rest.kind == ActivationKind::kNone) continue;
      for (int64_t i = 0; i < tile.rows * tile.columns; ++i) {
        const int64_t pixel = i / tile.columns * tile.row + i % tile.columns * tile.pixel;
        cpu::ActivateInPlace(s.rest, tile.out + pixel, tile.filters);
      }
    }
  }

  // One block of the result by one panel.
  void RunPanel(int64_t block, int64_t panel, const float* image, float* sums) const {
    const int64_t first = s.BlockBegin(block, kernels.max_group);
    const int64_t last = s.BlockBegin(block + 1, kernels.max_group);
    Multiply(image, last - first, panel, sums);
    TransformSums(first, last, panel, sums);
  }
};

template <typename Attrs>
KernelStatus RunWinograd(const RunArgs& args) {
  const auto& s = *static_cast<WinogradState*>(args.state);
  if (s.direct != nullptr) {
    RunArgs direct = args;
    direct.state = s.direct.get();
    return Direct<Attrs>().run(direct);
  }
  WinogradJob job = {s,
                     cpu::Tiles(),
                     cpu::Winograd(),
                     args.inputs[0].as<float>(),
                     reinterpret_cast<const float*>(s.packed.get()),
                     cpu::Present(args.inputs, 2) ? args.inputs[2].as<float>() : nullptr,
                     cpu::Present(args.inputs, 3) ? args.inputs[3].as<float>() : nullptr,
                     args.outputs[0].as<float>()};
  const int64_t group = job.kernels.max_group;
  auto* scratch = static_cast<std::byte*>(args.scratch);
  std::byte* images = scratch + s.slots * s.sums_bytes;
  const auto sums_of = [&](int64_t slot) {
    return reinterpret_cast<float*>(scratch + slot * s.sums_bytes);
  };
  const auto image_of = [&](int64_t i) {
    return reinterpret_cast<float*>(images + i * s.image_bytes);
  };
  ParallelFor& parallel = *args.device->parallel;
  if (!s.shares_images) {
    ForRangesInSlots(parallel, s.slots, s.blocks, 1, [&](int64_t slot, int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        job.TransformImage(s.BlockBegin(b, group), s.BlockBegin(b + 1, group), image_of(slot));
        for (int64_t p = 0; p < s.panels.count; ++p) {
          job.RunPanel(b, p, image_of(slot), sums_of(slot));
        }
      }
    });
    return KernelStatus::Ok();
  }
  parallel(s.tiles, 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = 0; b < s.blocks; ++b) {
      const int64_t block = s.BlockBegin(b, group);
      const int64_t first = std::max(begin, block);
      const int64_t last = std::min(end, s.BlockBegin(b + 1, group));
      if (first >= last) continue;
      job.TransformImage(first, last, image_of(b) + (first - block) * s.call.pixel_step);
    }
  });
  ForRangesInSlots(parallel, s.slots, s.blocks * s.panels.count, 1,
                   [&](int64_t slot, int64_t begin, int64_t end) {
                     for (int64_t task = begin; task < end; ++task) {
                       const int64_t b = task / s.panels.count;
                       job.RunPanel(b, task % s.panels.count, image_of(b), sums_of(slot));
                     }
                   });
  return KernelStatus::Ok();
}

template <typename Attrs>
std::string SupportsWinograd(const CallSignature& call) {
  const auto& attrs = *static_cast<const Attrs*>(call.attrs);
  const TensorView &x = call.inputs[0], &w = call.inputs[1], &out = call.outputs[0];
  if (std::string why = Direct<Attrs>().supports(call); !why.empty()) return why;
  const auto is_one = [](int64_t n) { return n == 1; };
  if (w.rank() != 4 || w.shape[2] != 3 || w.shape[3] != 3 ||
      !std::all_of(attrs.strides.begin(), attrs.strides.end(), is_one) ||
      !std::all_of(attrs.dilations.begin(), attrs.dilations.end(), is_one)) {
    return "needs windows of 3 x 3 with steps of 1";
  }
  if (call.constant_input.size() < 2 || !call.constant_input[1]) return "needs constant weights";
  const auto is_unknown = [](int64_t n) { return n < 0; };
  if (std::any_of(x.shape.begin(), x.shape.end(), is_unknown) ||
      std::any_of(out.shape.begin(), out.shape.end(), is_unknown)) {
    return "";  // Prepare will see
  }
  if (cpu::WinogradTileSize(cpu::GeometryOf(attrs, w.shape.subspan(2), x.shape, out.shape)) == 0) {
    return "needs more channels, filters or pixels to pay";
  }
  return "";
}

}  // namespace

Kernel CpuConvWinograd() {
  return {.op = "nn.conv",
          .name = "cpu.conv.winograd",
          .priority = 25,
          .run = RunWinograd<nn::ConvAttrs>,
          .prepare = PrepareWinograd<nn::ConvAttrs>,
          .supports = SupportsWinograd<nn::ConvAttrs>};
}

Kernel CpuFusedConvWinograd() {
  return {.op = "fused.conv",
          .name = "cpu.fused_conv.winograd",
          .priority = 25,
          .run = RunWinograd<fused::ConvAttrs>,
          .prepare = PrepareWinograd<fused::ConvAttrs>,
          .supports = SupportsWinograd<fused::ConvAttrs>,
          .inplace_mask = 8};  // the residual
}

}  // namespace tenon::kernels
