#include "kernels/cpu/pointwise/row_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/caches.h"
#include "kernels/cpu/pointwise/pointwise_step.h"
#include "kernels/cpu/support.h"
#include "kernels/threads/parallel_slots.h"

namespace tenon::kernels::cpu {
namespace {

using RowUse = PointwiseOpInfo::Rows;

// A row op reads its rows two or three times, with exponentials in softmax.
constexpr int64_t kRowOpCost = 4;

int64_t RowElementBytes(DType dtype) { return static_cast<int64_t>(SizeOf(dtype)); }

bool IsRowStep(const PointwiseStep& step) { return InfoOf(step.op).rows != RowUse::kNone; }

// The address `bytes` in front of `at`, from which positions of the whole tensor are counted.
char* AddressBefore(char* at, int64_t bytes) {
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(at) - static_cast<uintptr_t>(bytes));
}

}  // namespace

std::string RowProgram::WhyNot(const PointwiseBody& body) {
  PointwiseBody steps = body;
  std::erase_if(steps.steps, IsRowStep);
  return PointwiseProgram::WhyNot(steps);
}

RowProgram::RowProgram(const PointwiseBody& body, std::span<const TensorView> inputs, DimSpan shape,
                       int64_t slots, Isa compile)
    : shape_(ToDims(shape)),
      column_(shape_),
      compile_(compile),
      n_(shape.back()),
      slots_(slots),
      one_per_row_(OnePerRow(body)),
      places_(static_cast<size_t>(body.num_values())) {
  column_.back() = 1;
  rows_ = Product(View(column_));
  if (rows_ == 0) return;
  const std::vector<int> levels = FindLevels(body);
  const int last = *std::max_element(levels.begin(), levels.end());
  std::vector<int> expanded(body.inputs.size(), -1);
  for (int level = 0; level <= last; ++level) {
    std::vector<int> columns, wholes;
    for (int s = 0; s < static_cast<int>(body.steps.size()); ++s) {
      const PointwiseStep& step = body.steps[static_cast<size_t>(s)];
      const int value = body.first_step() + s;
      if (levels[static_cast<size_t>(value)] != level) continue;
      if (!IsRowStep(step)) {
        (one_per_row_[static_cast<size_t>(value)] ? columns : wholes).push_back(s);
        continue;
      }
      int operand = step.operands[0];
      if (operand < body.first_constant()) {
        const TensorView& input = inputs[static_cast<size_t>(operand)];
        int& copy = expanded[static_cast<size_t>(operand)];
        if (copy < 0) {
          copy = input.numel() == rows_ * n_ ? operand : AddExpanded(input, operand);
        }
        operand = copy;
      }
      AddRowOp(body, s, operand);
    }
    AddProgram(body, columns, true, inputs);
    if (n_ > 0) AddProgram(body, wholes, false, inputs);
  }
  PlaceValues(body);
  ChooseBlocks(body);
}

// The number of row ops that a value has to wait for. An elementwise step that only later units
// read goes to the first of these, so that its value stays in registers.
std::vector<int> RowProgram::FindLevels(const PointwiseBody& body) const {
  std::vector<int> levels(static_cast<size_t>(body.num_values()), 0);
  const auto first = static_cast<size_t>(body.first_step());
  for (size_t s = 0; s < body.steps.size(); ++s) {
    int& level = levels[first + s];
    for (const int v : body.steps[s].used())
      level = std::max(level, levels[static_cast<size_t>(v)]);
    if (IsRowStep(body.steps[s])) ++level;
  }
  const int last = *std::max_element(levels.begin(), levels.end());
  std::vector<int> latest(levels.size(), last);
  for (size_t s = body.steps.size(); s-- > 0;) {
    const PointwiseStep& step = body.steps[s];
    int& level = levels[first + s];
    if (!IsRowStep(step)) level = std::max(level, latest[first + s]);
    for (const int v : step.used()) {
      int& of = latest[static_cast<size_t>(v)];
      of = std::min(of, IsRowStep(step) ? level - 1 : level);
    }
  }
  return levels;
}

void RowProgram::AddRowOp(const PointwiseBody& body, int step, int operand) {
  if (n_ == 0 && InfoOf(body.steps[static_cast<size_t>(step)].op).rows == RowUse::kKeeps) return;
  Unit unit;
  unit.step = body.steps[static_cast<size_t>(step)];
  unit.inputs = {operand};
  unit.results = {body.first_step() + step};
  units_.push_back(std::move(unit));
}

// A row op reads rows as they lie in memory: a smaller input is copied to its whole shape.
int RowProgram::AddExpanded(const TensorView& input, int value) {
  const int copy = static_cast<int>(places_.size());
  places_.emplace_back();
  one_per_row_.push_back(false);
  if (n_ == 0) return copy;
  PointwiseBody body;
  body.inputs = {input.dtype};
  body.steps.push_back({.op = PointwiseOp::kCast,
                        .dtype = input.dtype,
                        .operands = {0, -1, -1},
                        .params = {static_cast<double>(input.dtype)}});
  body.results = {1};
  Unit unit;
  unit.inputs = {value};
  unit.results = {copy};
  unit.program =
      std::make_unique<PointwiseProgram>(body, std::span(&input, 1), View(shape_), compile_);
  units_.push_back(std::move(unit));
  return copy;
}

void RowProgram::AddProgram(const PointwiseBody& body, const std::vector<int>& steps,
                            bool one_per_row, std::span<const TensorView> inputs) {
  if (steps.empty()) return;
  Unit unit;
  unit.one_per_row = one_per_row;
  PointwiseBody part;
  std::vector<int> number(static_cast<size_t>(body.num_values()), -1);
  std::vector<TensorView> views;
  std::vector<int> constants;
  std::vector<bool> inside(static_cast<size_t>(body.num_values()), false);
  for (const int s : steps) inside[static_cast<size_t>(body.first_step() + s)] = true;
  for (const int s : steps) {
    for (const int v : body.steps[static_cast<size_t>(s)].used()) {
      const auto at = static_cast<size_t>(v);
      if (inside[at] || number[at] >= 0) continue;
      if (v >= body.first_constant() && v < body.first_step()) {
        if (std::find(constants.begin(), constants.end(), v) == constants.end())
          constants.push_back(v);
        continue;
      }
      number[at] = static_cast<int>(unit.inputs.size());
      unit.inputs.push_back(v);
      part.inputs.push_back(body.dtype(v));
      views.push_back(v < body.first_constant()
                          ? inputs[at]
                          : TensorView{nullptr, body.dtype(v),
                                       one_per_row_[at] ? View(column_) : View(shape_)});
    }
  }
  for (const int v : constants) {
    number[static_cast<size_t>(v)] = part.num_values();
    part.constants.push_back(body.constants[static_cast<size_t>(v - body.first_constant())]);
  }
  std::vector<bool> needed(static_cast<size_t>(body.num_values()), false);
  for (size_t s = 0; s < body.steps.size(); ++s) {
    if (inside[static_cast<size_t>(body.first_step()) + s]) continue;
    for (const int v : body.steps[s].used()) needed[static_cast<size_t>(v)] = true;
  }
  for (const int v : body.results) needed[static_cast<size_t>(v)] = true;
  for (const int s : steps) {
    PointwiseStep step = body.steps[static_cast<size_t>(s)];
    for (int i = 0; i < InfoOf(step.op).num_operands; ++i) {
      step.operands[static_cast<size_t>(i)] =
          number[static_cast<size_t>(step.operands[static_cast<size_t>(i)])];
    }
    const int value = body.first_step() + s;
    number[static_cast<size_t>(value)] = part.num_values();
    part.steps.push_back(step);
    if (!needed[static_cast<size_t>(value)]) continue;
    // The first result of the call leads: a program may write its first result over an input.
    const bool leads = value == body.results[0];
    unit.results.insert(leads ? unit.results.begin() : unit.results.end(), value);
    part.results.insert(leads ? part.results.begin() : part.results.end(),
                        number[static_cast<size_t>(value)]);
  }
  if (unit.results.empty()) return;  // steps that nothing reads
  unit.program = std::make_unique<PointwiseProgram>(
      part, views, one_per_row ? View(column_) : View(shape_), compile_);
  units_.push_back(std::move(unit));
}

// Inputs and results lie in the tensors of the call. Values between units share scratch. A result
// is written to its tensor at once if no later unit reads an input, in whose place it may be.
void RowProgram::PlaceValues(const PointwiseBody& body) {
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    places_[i] = {.kind = Place::Kind::kInput,
                  .index = static_cast<int>(i),
                  .element = RowElementBytes(body.inputs[i])};
  }
  std::vector<size_t> last_use(places_.size(), 0);
  size_t last_input = 0;  // the last unit that reads an input
  for (size_t u = 0; u < units_.size(); ++u) {
    for (const int v : units_[u].inputs) {
      last_use[static_cast<size_t>(v)] = u;
      if (v < body.first_constant()) last_input = u;
    }
  }
  struct Room {
    bool one_per_row;
    int64_t before, element;
  };
  std::vector<Room> free;
  for (size_t u = 0; u < units_.size(); ++u) {
    for (const int v : units_[u].results) {
      const auto at = static_cast<size_t>(v);
      Place& place = places_[at];
      place.one_per_row = one_per_row_[at];
      place.element = v < body.num_values() ? RowElementBytes(body.dtype(v)) : 4;
      const auto result = std::find(body.results.begin(), body.results.end(), v);
      place.index = static_cast<int>(result - body.results.begin());
      if (result != body.results.end() && u >= last_input) {
        place.kind = Place::Kind::kOutput;
        continue;
      }
      place.kind = Place::Kind::kScratch;
      const auto room = std::find_if(free.begin(), free.end(), [&](const Room& r) {
        return r.one_per_row == place.one_per_row && r.element == place.element;
      });
      if (room != free.end()) {
        place.before = room->before;
        free.erase(room);
      } else {
        int64_t& bytes = place.one_per_row ? column_bytes_ : row_bytes_;
        place.before = bytes;
        bytes += place.element;
      }
      if (result != body.results.end()) copies_.push_back({v, place.index});
    }
    for (const int v : units_[u].inputs) {
      const auto at = static_cast<size_t>(v);
      const Place& place = places_[at];
      const bool copied = std::any_of(copies_.begin(), copies_.end(),
                                      [&](const CopyOut& copy) { return copy.value == v; });
      if (place.kind != Place::Kind::kScratch || last_use[at] != u || copied) continue;
      free.push_back({place.one_per_row, place.before, place.element});
    }
  }
}

void RowProgram::ChooseBlocks(const PointwiseBody& body) {
  int64_t cost = 0, touched = row_bytes_;
  for (const PointwiseStep& step : body.steps) {
    cost += IsRowStep(step) ? kRowOpCost : CostOf(step.op);
  }
  for (const DType dtype : body.inputs) touched += RowElementBytes(dtype);
  for (const int result : body.results) touched += RowElementBytes(body.dtype(result));
  // A part of the second-level cache: a block of few elements would spend its time on calls.
  const int64_t bytes = ActiveCaches().second_bytes / 8;
  block_ = std::clamp<int64_t>(bytes / std::max<int64_t>(1, n_ * touched), 1, rows_);
  grain_ = RowGrain(n_, cost);
  // All rows read an input such as a bias. A first result with one element for each row may lie in
  // its place, if that has as many elements.
  if (one_per_row_[static_cast<size_t>(body.results[0])])
    late_bytes_ = Padded(rows_ * RowElementBytes(body.dtype(body.results[0])));
}

int64_t RowProgram::BytesOfBlock(int64_t rows) const {
  return row_bytes_ * Padded(rows * n_) + column_bytes_ * Padded(rows);
}

size_t RowProgram::scratch_bytes() const {
  return static_cast<size_t>(slots_ * BytesOfBlock(block_) + late_bytes_);
}

// The address of row 0: rows of scratch before the block do not exist.
char* RowProgram::AddressOf(const Block& block, int value) const {
  const Place& place = places_[static_cast<size_t>(value)];
  const auto index = static_cast<size_t>(place.index);
  if (place.kind == Place::Kind::kInput) return block.args.inputs[index].as<char>();
  if (place.kind == Place::Kind::kOutput) return block.args.outputs[index].as<char>();
  const int64_t rows = block.whole ? rows_ : block_;
  int64_t offset = place.before * Padded(place.one_per_row ? rows : rows * n_);
  if (place.one_per_row) offset += row_bytes_ * Padded(rows * n_);
  const int64_t first = place.one_per_row ? block.begin : block.begin * n_;
  return AddressBefore(block.scratch + offset, first * place.element);
}

void RowProgram::RunProgram(const Block& block, const Unit& unit) const {
  absl::InlinedVector<TensorView, 16> inputs;
  absl::InlinedVector<TensorView, 8> outputs;
  for (const int v : unit.inputs) inputs.push_back({AddressOf(block, v), DType::kInvalid, {}});
  for (const int v : unit.results) outputs.push_back({AddressOf(block, v), DType::kInvalid, {}});
  RunArgs args = block.args;
  args.inputs = {inputs.data(), inputs.size()};
  args.outputs = {outputs.data(), outputs.size()};
  if (block.whole) return unit.program->Run(args);
  const int64_t width = unit.one_per_row ? 1 : n_;
  unit.program->RunRange(args, block.begin * width, block.end * width);
}

void RowProgram::RunRowOp(const Block& block, const Unit& unit, int64_t begin, int64_t end) const {
  const VectorOps& ops = GetVectorOps();
  const bool reduces = InfoOf(unit.step.op).rows == RowUse::kReduces;
  const auto* x = reinterpret_cast<const float*>(AddressOf(block, unit.inputs[0])) + begin * n_;
  auto* out =
      reinterpret_cast<float*>(AddressOf(block, unit.results[0])) + begin * (reduces ? 1 : n_);
  const auto for_rows = [&](auto f) {
    for (int64_t r = 0; r < end - begin; ++r) f(x + r * n_, out + r * (reduces ? 1 : n_));
  };
  switch (unit.step.op) {
    case PointwiseOp::kLayerNorm:
    case PointwiseOp::kRmsNorm:
      return ops.norm({.rows = end - begin,
                       .x = x,
                       .x_step = n_,
                       .out = out,
                       .n = n_,
                       .epsilon = static_cast<float>(unit.step.params[0]),
                       .subtract_mean = unit.step.op == PointwiseOp::kLayerNorm});
    case PointwiseOp::kSoftmax:
      return for_rows([&](const float* from, float* to) { ops.softmax(from, to, n_); });
    case PointwiseOp::kLogSoftmax:
      return for_rows([&](const float* from, float* to) { ops.log_softmax(from, to, n_); });
    case PointwiseOp::kReduceL2:
      return for_rows([&](const float* from, float* to) { *to = ops.length(from, n_); });
    case PointwiseOp::kReduceMax:
      return for_rows([&](const float* from, float* to) { *to = ops.max(from, n_); });
    case PointwiseOp::kReduceMean:
      return for_rows(
          [&](const float* from, float* to) { *to = ops.sum(from, n_) / static_cast<float>(n_); });
    case PointwiseOp::kReduceMin:
      return for_rows([&](const float* from, float* to) { *to = ops.min(from, n_); });
    default:
      return for_rows([&](const float* from, float* to) { *to = ops.sum(from, n_); });
  }
}

void RowProgram::RunBlock(const Block& block) const {
  for (const Unit& unit : units_) {
    if (unit.program != nullptr) {
      RunProgram(block, unit);
    } else if (block.whole) {
      (*block.args.device->parallel)(
          rows_, grain_, [&](int64_t begin, int64_t end) { RunRowOp(block, unit, begin, end); });
    } else {
      RunRowOp(block, unit, block.begin, block.end);
    }
  }
  for (const CopyOut& copy : copies_) {
    const Place& place = places_[static_cast<size_t>(copy.value)];
    const int64_t row = place.element * (place.one_per_row ? 1 : n_);
    const int64_t first = block.begin * row;
    std::memcpy(block.args.outputs[static_cast<size_t>(copy.output)].as<char>() + first,
                AddressOf(block, copy.value) + first,
                static_cast<size_t>((block.end - block.begin) * row));
  }
}

void RowProgram::Run(const RunArgs& args) const {
  if (rows_ == 0) return;
  auto* const scratch = static_cast<char*>(args.scratch);
  std::vector<TensorView> outputs(args.outputs.begin(), args.outputs.end());
  char* const late = scratch + slots_ * BytesOfBlock(block_);
  if (late_bytes_ > 0) outputs[0].data = late;
  RunArgs call = args;
  call.outputs = outputs;
  // Fewer rows than threads, and long ones: threads share each unit.
  if (rows_ < slots_ && rows_ * n_ >= 2 * kGrain) {
    RunBlock({call, scratch, 0, rows_, true});
  } else {
    ForRangesInSlots(*args.device->parallel, slots_, rows_, grain_,
                     [&](int64_t slot, int64_t begin, int64_t end) {
                       char* const own = scratch + slot * BytesOfBlock(block_);
                       for (int64_t row = begin; row < end; row += block_)
                         RunBlock({call, own, row, std::min(end, row + block_), false});
                     });
  }
  if (late_bytes_ > 0)
    std::memcpy(args.outputs[0].data, late, static_cast<size_t>(args.outputs[0].bytes()));
}

}  // namespace tenon::kernels::cpu
