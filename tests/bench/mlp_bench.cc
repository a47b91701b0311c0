// Two linear layers of an MLP with GELU between them: one after the other, against tiles of some
// rows by some inner columns, whose sums are added up so that what lies between the layers never
// leaves the second-level cache. On one thread; see README.md.
//
//   mlp_bench [--rounds N] [--only SUBSTRING]
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/gemm/gemm.h"

namespace {

namespace cpu = tenon::kernels::cpu;

struct Shape {
  const char* name;
  int64_t rows, width, inner;  // width -> inner -> width
};
constexpr Shape kShapes[] = {{"bert", 128, 768, 3072},        {"gpt2.prefill", 512, 768, 3072},
                             {"gpt2.token", 1, 768, 3072},    {"small", 128, 256, 1024},
                             {"small.long", 1024, 256, 1024}, {"swin1", 3136, 96, 384}};
constexpr int64_t kRows[] = {56, 112, 224}, kInner[] = {128, 256, 512, 1024};
constexpr double kOperations = 4e8;  // of one measurement, at least

double Seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Free {
  void operator()(float* p) const { std::free(p); }
};
using Floats = std::unique_ptr<float, Free>;

Floats Allocate(size_t bytes) {
  return Floats(static_cast<float*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)));
}

// Numbers between -0.5 and 0.5.
Floats Numbers(int64_t count) {
  Floats made = Allocate(static_cast<size_t>(count) * sizeof(float));
  uint32_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    made.get()[i] = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
  }
  return made;
}

class Mlp {
 public:
  explicit Mlp(const Shape& shape) : s_(shape) {
    cpu::PackB({w_.get(), s_.inner, 1}, s_.width, s_.inner, packed_w_.get(), 0,
               cpu::GemmPanels(s_.inner));
    cpu::PackB({v_.get(), s_.width, 1}, s_.inner, s_.width, packed_v_.get(), 0,
               cpu::GemmPanels(s_.width));
  }

  void Parts() {
    cpu::Gemm(First(0, s_.rows, between_.get(), s_.inner));
    cpu::Gemm(Last(0, s_.rows, between_.get(), s_.inner, s_.inner, packed_v_.get(), out_.get()));
  }

  // Lays the second matrix out for tiles of `inner` columns.
  void PrepareTiles(int64_t inner) {
    inner_ = inner;
    blocks_.clear();
    for (int64_t at = 0; at < s_.inner; at += inner) {
      const int64_t depth = std::min(inner, s_.inner - at);
      blocks_.push_back(Allocate(cpu::PackedBytesOfB(depth, s_.width)));
      cpu::PackB({v_.get() + at * s_.width, s_.width, 1}, depth, s_.width, blocks_.back().get(), 0,
                 cpu::GemmPanels(s_.width));
    }
  }
  void Tiles(int64_t block) {
    for (int64_t row = 0; row < s_.rows; row += block) {
      const int64_t rows = std::min(block, s_.rows - row);
      for (int64_t at = 0; at < s_.inner; at += inner_) {
        const int64_t depth = std::min(inner_, s_.inner - at), step = depth + 16;
        cpu::GemmArgs first = cpu::ColumnsOf(First(row, rows, between_.get(), step), at, depth);
        first.b = packed_w_.get() + at * s_.width;
        first.c = between_.get();
        cpu::Gemm(first);
        cpu::GemmArgs last = Last(row, rows, between_.get(), step, depth,
                                  blocks_[static_cast<size_t>(at / inner_)].get(), tiled_.get());
        if (at > 0) last.epilogue = {}, last.accumulate = true;
        cpu::Gemm(last);
      }
    }
  }

  double Operations() const {
    return 4 * static_cast<double>(s_.rows) * static_cast<double>(s_.width * s_.inner);
  }
  bool Agree() const {
    for (int64_t i = 0; i < s_.rows * s_.width; ++i) {
      if (!(std::fabs(out_.get()[i] - tiled_.get()[i]) < 1e-3f)) return false;
    }
    return true;
  }

 private:
  cpu::GemmArgs First(int64_t row, int64_t rows, float* out, int64_t out_row) const {
    return {.m = rows,
            .n = s_.inner,
            .k = s_.width,
            .a = x_.get() + row * s_.width,
            .a_row = s_.width,
            .b = packed_w_.get(),
            .c = out,
            .c_row = out_row,
            .epilogue = {.bias = b_.get(), .activation = {tenon::kernels::ActivationKind::kGelu}}};
  }
  cpu::GemmArgs Last(int64_t row, int64_t rows, const float* in, int64_t in_row, int64_t depth,
                     const float* packed, float* out) const {
    return {.m = rows,
            .n = s_.width,
            .k = depth,
            .a = in,
            .a_row = in_row,
            .b = packed,
            .c = out + row * s_.width,
            .c_row = s_.width,
            .epilogue = {
                .bias = c_.get(), .residual = x_.get() + row * s_.width, .residual_row = s_.width}};
  }

  const Shape s_;
  const Floats x_ = Numbers(s_.rows * s_.width), w_ = Numbers(s_.width * s_.inner),
               v_ = Numbers(s_.inner * s_.width), b_ = Numbers(s_.inner), c_ = Numbers(s_.width);
  const Floats packed_w_ = Allocate(cpu::PackedBytesOfB(s_.width, s_.inner)),
               packed_v_ = Allocate(cpu::PackedBytesOfB(s_.inner, s_.width));
  const Floats between_ = Numbers(s_.rows * (s_.inner + 16)), out_ = Numbers(s_.rows * s_.width),
               tiled_ = Numbers(s_.rows * s_.width);
  int64_t inner_ = 0;
  std::vector<Floats> blocks_;
};

void Measure(const Shape& shape, int rounds) {
  Mlp mlp(shape);
  const int calls = std::max(1, static_cast<int>(kOperations / mlp.Operations()));
  const auto time = [&](const auto& run) {
    const double begin = Seconds();
    for (int i = 0; i < calls; ++i) run();
    return (Seconds() - begin) / calls;
  };
  std::vector<int64_t> blocks;
  for (const int64_t rows : kRows) {
    if (rows < shape.rows) blocks.push_back(rows);
  }
  blocks.push_back(shape.rows);
  for (const int64_t block : blocks) {
    for (const int64_t inner : kInner) {
      if (inner > shape.inner) continue;
      mlp.PrepareTiles(inner);
      double parts = std::numeric_limits<double>::infinity(), tiles = parts;
      for (int i = 0; i < rounds; ++i) {
        parts = std::min(parts, time([&] { mlp.Parts(); }));
        tiles = std::min(tiles, time([&] { mlp.Tiles(block); }));
      }
      std::printf(
          "%-13s %5ld rows x %4ld inner: parts %8.3f ms %5.0f GFLOP/s, tiles %8.3f ms, %.3f%s\n",
          shape.name, static_cast<long>(block), static_cast<long>(inner), parts * 1e3,
          mlp.Operations() / parts * 1e-9, tiles * 1e3, parts / tiles, mlp.Agree() ? "" : " WRONG");
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 20;
  const char* only = "";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  }
  for (const Shape& shape : kShapes) {
    if (std::strstr(shape.name, only) != nullptr) Measure(shape, rounds);
  }
  return 0;
}
