#include "kernels/cpu/pointwise/pointwise_program.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/caches.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/pointwise/pointwise_step.h"
#include "kernels/cpu/pointwise/pointwise_tile.h"
#include "kernels/cpu/support.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int64_t kScratchBytes = 32 * 1024;  // at most
constexpr int64_t kLongestTile = 1024;        // of steps with scratch between them
constexpr int64_t kShortestTile = 64;
// Below that, inputs that repeat are gathered into tiles.
constexpr int64_t kShortRow = 64, kShortCompiledRow = 16;
constexpr int kMaxValues = 64;

// Elements of a tile whose scratch takes so many bytes an element.
int64_t LongestTile(int64_t bytes) {
  // Most of the first-level cache.
  const int64_t scratch = std::min(kScratchBytes, ActiveCaches().first_bytes * 2 / 3);
  return std::clamp(scratch / bytes / kShortestTile * kShortestTile, kShortestTile, kLongestTile);
}

int64_t ElementBytes(DType dtype) { return static_cast<int64_t>(SizeOf(dtype)); }

// Joins neighbouring axes through which all inputs pass with even strides; drops axes of one
// element. One axis stays.
void JoinAxes(Dims& shape, std::span<Dims* const> strides) {
  size_t kept = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    bool joins = kept > 0;
    for (const Dims* s : strides) joins = joins && (*s)[kept - 1] == (*s)[axis] * shape[axis];
    if (joins) --kept;
    shape[kept] = joins ? shape[kept] * shape[axis] : shape[axis];
    for (Dims* s : strides) (*s)[kept] = (*s)[axis];
    ++kept;
  }
  if (kept == 0) {
    shape.assign(1, 1);
    for (Dims* s : strides) s->assign(1, 0);
    return;
  }
  shape.resize(kept);
  for (Dims* s : strides) s->resize(kept);
}

}  // namespace

std::string PointwiseProgram::WhyNot(const PointwiseBody& body) {
  if (body.has_row_ops()) return "works on single elements";
  if (body.num_values() > kMaxValues) {
    return "needs a body of at most " + std::to_string(kMaxValues) + " values";
  }
  return {};
}

PointwiseProgram::PointwiseProgram(const PointwiseBody& body, std::span<const TensorView> inputs,
                                   DimSpan shape, Isa compile) {
  numel_ = Product(shape);
  if (numel_ == 0) return;
  for (int result : body.results) result_elements_.push_back(ElementBytes(body.dtype(result)));
  int64_t cost = 0;
  for (const PointwiseStep& step : body.steps) cost += CostOf(step.op);
  grain_ = std::max<int64_t>(kGrain / std::max<int64_t>(1, cost), kLongestTile);
  if (compile >= Isa::kAvx2) {
    FindAxes(inputs, shape, kShortCompiledRow);
    // A single step on whole tensors is as fast by its loop.
    const bool rows = !one_row_ || std::any_of(inputs_.begin(), inputs_.end(), [](const Input& i) {
      return i.reading == Reading::kExpand;
    });
    if ((rows || body.steps.size() > 1) && Compile(body, compile)) return;
  }
  FindAxes(inputs, shape, kShortRow);
  MakeSteps(body);
}

bool PointwiseProgram::Compile(const PointwiseBody& body, Isa isa) {
  absl::InlinedVector<bool, 16> scalar;
  for (const Input& input : inputs_) scalar.push_back(input.reading == Reading::kScalar);
  jit_ = PointwiseJit::Make(body, {scalar.data(), scalar.size()}, isa);
  if (jit_ == nullptr) return false;
  first_result_ = body.first_constant();
  first_scratch_ = first_result_ + static_cast<int>(body.results.size());
  for (Input& input : inputs_) {
    if (input.reading != Reading::kExpand) continue;
    input.source = first_scratch_ + num_scratch_++;
    scratch_element_ = std::max(scratch_element_, input.element);
  }
  tile_ = num_scratch_ == 0 ? numel_ : LongestTile(num_scratch_ * scratch_element_);
  const size_t rank = shape_.size();
  for (const Input& input : inputs_) {
    const int64_t stride = one_row_                           ? 0
                           : input.reading == Reading::kDense ? row_
                                                              : input.strides[rank - 2];
    row_steps_.push_back(stride * input.element);
  }
  for (int64_t element : result_elements_) row_steps_.push_back(row_ * element);
  return true;
}

void PointwiseProgram::FindAxes(std::span<const TensorView> inputs, DimSpan shape,
                                int64_t short_row) {
  shape_ = ToDims(shape);
  inputs_.clear();
  std::vector<Dims*> strides;
  for (const TensorView& input : inputs) {
    inputs_.push_back(
        {.element = ElementBytes(input.dtype), .strides = BroadcastStrides(input.shape, shape)});
  }
  for (Input& input : inputs_) strides.push_back(&input.strides);
  JoinAxes(shape_, strides);
  const bool short_rows = shape_.size() > 1 && shape_.back() < short_row;
  row_ = short_rows ? numel_ : shape_.back();
  one_row_ = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Input& input = inputs_[i];
    const bool everywhere = inputs[i].numel() == 1;
    if (inputs[i].numel() == numel_) {
      input.reading = Reading::kDense;
    } else if (short_rows && !everywhere) {
      input.reading = Reading::kExpand;
    } else {
      input.reading = input.strides.back() == 0 ? Reading::kScalar : Reading::kRow;
      if (!everywhere && shape_.size() > 1) one_row_ = false;
    }
  }
}

bool PointwiseProgram::IsScalar(const PointwiseBody& body, int value) const {
  if (value >= body.first_step()) return false;
  return value >= body.first_constant() || inputs_[value].reading == Reading::kScalar ||
         inputs_[value].reading == Reading::kSplat;
}

bool PointwiseProgram::TakesScalar(const PointwiseBody& body, const PointwiseStep& step,
                                   int operand) const {
  BinaryOp binary;
  if (step.dtype != DType::kF32) return false;
  if (step.op == PointwiseOp::kPow) return operand == 1;
  return BinaryOfFloats(step.op, binary) && !IsScalar(body, step.operands[1 - operand]);
}

void PointwiseProgram::MakeSteps(const PointwiseBody& body) {
  const int num_values = body.num_values();
  const int num_steps = static_cast<int>(body.steps.size());
  // Scalars that a step wants as a vector.
  for (const PointwiseStep& step : body.steps) {
    for (int i = 0; i < InfoOf(step.op).num_operands; ++i) {
      const int value = step.operands[i];
      if (value < body.first_constant() && inputs_[value].reading == Reading::kScalar &&
          !TakesScalar(body, step, i)) {
        inputs_[value].reading = Reading::kSplat;
      }
    }
  }
  std::vector<int> last_use(num_values, -1);
  int last_dense = -1;  // the last step that reads an input in whose place the first result may be
  const int64_t first_element = ElementBytes(body.dtype(body.results[0]));
  for (int s = 0; s < num_steps; ++s) {
    for (int value : body.steps[s].used()) {
      last_use[value] = s;
      if (value < body.first_constant() && inputs_[value].reading == Reading::kDense &&
          inputs_[value].element == first_element) {
        last_dense = s;
      }
    }
  }
  first_result_ = body.first_step();
  first_scratch_ = first_result_ + static_cast<int>(body.results.size());
  for (int value = 0; value < num_values; ++value) {
    scratch_element_ = std::max(scratch_element_, ElementBytes(body.dtype(value)));
  }
  std::vector<uint8_t> pointer_of(num_values);
  for (int value = 0; value < first_result_; ++value) {
    pointer_of[value] = static_cast<uint8_t>(value);
    if (value >= body.first_constant()) continue;
    Input& input = inputs_[value];
    if (input.reading != Reading::kSplat && input.reading != Reading::kExpand) continue;
    input.source = first_scratch_ + num_scratch_++;
    pointer_of[value] = static_cast<uint8_t>(input.source);
  }
  std::vector<uint8_t> free;
  std::vector<bool> owned(num_values, false);  // a value in scratch of its own
  for (int s = 0; s < num_steps; ++s) {
    const PointwiseStep& step = body.steps[s];
    const int value = body.first_step() + s;
    const auto release = [&](bool same_element) {
      for (int operand : step.used()) {
        if (!owned[operand] || last_use[operand] != s) continue;
        if ((ElementBytes(body.dtype(operand)) == ElementBytes(step.dtype)) != same_element) {
          continue;
        }
        owned[operand] = false;
        free.push_back(pointer_of[operand]);
      }
    };
    release(true);
    const auto result = std::find(body.results.begin(), body.results.end(), value);
    const bool direct =
        result != body.results.end() && (result != body.results.begin() || last_dense <= s);
    if (direct) {
      pointer_of[value] = static_cast<uint8_t>(first_result_ + (result - body.results.begin()));
    } else {
      if (free.empty()) free.push_back(static_cast<uint8_t>(first_scratch_ + num_scratch_++));
      pointer_of[value] = free.back();
      free.pop_back();
      owned[value] = result == body.results.end();
      if (result != body.results.end()) {
        copies_.push_back(
            {pointer_of[value], static_cast<uint8_t>(first_result_), ElementBytes(step.dtype)});
      }
    }
    release(false);
    steps_.push_back(MakeStep(body, step, pointer_of));
  }
  tile_ = numel_;
  if (num_scratch_ > 0) {
    tile_ = LongestTile(num_scratch_ * scratch_element_);
  } else if (!body.constants.empty()) {
    tile_ = kLongestTile;
  }
  direct_ = steps_.size() == 1 && body.constants.empty() && num_scratch_ == 0 && one_row_;
  const size_t words = static_cast<size_t>((std::min(tile_, numel_) * 8 + 7) / 8);
  constant_bytes_.resize(words * body.constants.size());
  for (size_t i = 0; i < body.constants.size(); ++i) {
    const PointwiseConstant& constant = body.constants[i];
    uint64_t* at = constant_bytes_.data() + i * words;
    const auto real = static_cast<float>(constant.real);
    const auto boolean = static_cast<uint8_t>(constant.integer != 0);
    const auto narrow = static_cast<int32_t>(constant.integer);
    const void* from = constant.dtype == DType::kF32    ? static_cast<const void*>(&real)
                       : constant.dtype == DType::kBool ? static_cast<const void*>(&boolean)
                       : constant.dtype == DType::kI32  ? static_cast<const void*>(&narrow)
                                                        : &constant.integer;
    SplatElement(from, at, ElementBytes(constant.dtype), std::min(tile_, numel_));
    constants_.push_back(at);
  }
}

PointwiseProgram::Step PointwiseProgram::MakeStep(const PointwiseBody& body,
                                                  const PointwiseStep& step,
                                                  std::span<const uint8_t> pointer_of) const {
  Step made;
  uint8_t* const operands[] = {&made.a, &made.b, &made.c};
  for (int i = 0; i < InfoOf(step.op).num_operands; ++i) {
    *operands[i] = pointer_of[step.operands[i]];
  }
  made.out = pointer_of[body.first_step() + (&step - body.steps.data())];
  UnaryOp unary;
  BinaryOp binary;
  const DType operand = body.dtype(step.operands[0]);
  if (step.dtype == DType::kF32 && operand == DType::kF32 && UnaryOfFloats(step, unary)) {
    made.kind = Step::Kind::kUnary;
    made.unary = GetVectorOps().unary[static_cast<int>(unary)];
    made.alpha = static_cast<float>(step.params[0]);
    made.beta = static_cast<float>(step.params[1]);
    if (step.op == PointwiseOp::kClip) std::swap(made.alpha, made.beta);
    if (step.op == PointwiseOp::kElu) {
      made.alpha *= made.beta;
      made.gamma = 1 / static_cast<float>(step.params[2]);
    }
  } else if (step.dtype == DType::kF32 &&
             (BinaryOfFloats(step.op, binary) || step.op == PointwiseOp::kPow)) {
    const bool a = IsScalar(body, step.operands[0]) && TakesScalar(body, step, 0);
    const bool b = IsScalar(body, step.operands[1]) && TakesScalar(body, step, 1);
    made.form = a ? BinaryForm::kSV : b ? BinaryForm::kVS : BinaryForm::kVV;
    made.kind = step.op == PointwiseOp::kPow ? Step::Kind::kPow : Step::Kind::kBinary;
    if (made.kind == Step::Kind::kBinary) {
      made.binary = GetVectorOps().binary[static_cast<int>(binary)][static_cast<int>(made.form)];
    }
  } else {
    made.loop = FindLoop(step.op, operand, step.dtype);
  }
  return made;
}

void PointwiseProgram::Call(const Step& step, const void* const* pointers, int64_t n) {
  void* out = const_cast<void*>(pointers[step.out]);
  const auto* a = static_cast<const float*>(pointers[step.a]);
  const auto* b = static_cast<const float*>(pointers[step.b]);
  switch (step.kind) {
    case Step::Kind::kUnary:
      return step.unary(a, static_cast<float*>(out), n, step.alpha, step.beta, step.gamma);
    case Step::Kind::kBinary:
      return step.binary(a, b, static_cast<float*>(out), n);
    case Step::Kind::kPow:
      return PowLoop(a, b, static_cast<float*>(out), n, step.form);
    case Step::Kind::kLoop:
      return step.loop(a, b, pointers[step.c], out, n);
  }
}

void PointwiseProgram::Run(const RunArgs& args) const {
  if (numel_ <= grain_) {
    if (direct_) {
      const void* pointers[4];
      for (size_t i = 0; i < args.inputs.size(); ++i) pointers[i] = args.inputs[i].data;
      pointers[first_result_] = args.outputs[0].data;
      return Call(steps_[0], pointers, numel_);
    }
    return numel_ == 0 ? void() : RunRange(args, 0, numel_);
  }
  (*args.device->parallel)(numel_, grain_,
                           [&](int64_t begin, int64_t end) { RunRange(args, begin, end); });
}

int64_t PointwiseProgram::OffsetOfRow(const Input& input, int64_t row) const {
  int64_t offset = 0;
  for (size_t axis = shape_.size() - 1; axis-- > 1;) {
    offset += row % shape_[axis] * input.strides[axis];
    row /= shape_[axis];
  }
  return shape_.size() > 1 ? offset + row * input.strides[0] : offset;
}

void PointwiseProgram::RunCompiled(const RunArgs& args, int64_t begin, int64_t end) const {
  alignas(64) char scratch[kScratchBytes];
  const void* pointers[kMaxPointers];
  const size_t rank = shape_.size();
  const int64_t next_rows = one_row_ ? 1 : shape_[rank - 2];  // rows at even distances
  for (int64_t at = begin; at < end;) {
    const int64_t row = one_row_ ? 0 : at / row_, column = one_row_ ? 0 : at % row_;
    int64_t rows = 1, n = std::min(tile_, end - at);
    if (!one_row_) {
      n = std::min(n, row_ - column);
      if (n == row_) rows = std::min((end - at) / row_, next_rows - row % next_rows);
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = inputs_[i];
      const char* base = args.inputs[i].as<char>();
      int64_t offset = 0;
      switch (input.reading) {
        case Reading::kDense:
          offset = at;
          break;
        case Reading::kRow:
          offset = OffsetOfRow(input, row) + column;
          break;
        case Reading::kExpand: {
          char* expanded = scratch + (input.source - first_scratch_) * tile_ * scratch_element_;
          ExpandElements(base, input.element, View(shape_), input.strides, at, n, expanded);
          base = expanded;
          break;
        }
        default:
          offset = one_row_ ? 0 : OffsetOfRow(input, row);
      }
      pointers[i] = base + offset * input.element;
    }
    for (size_t i = 0; i < result_elements_.size(); ++i) {
      pointers[first_result_ + i] = args.outputs[i].as<char>() + at * result_elements_[i];
    }
    jit_->Run(pointers, row_steps_.data(), rows, n);
    at += rows * n;
  }
}

void PointwiseProgram::RunRange(const RunArgs& args, int64_t begin, int64_t end) const {
  if (jit_ != nullptr) return RunCompiled(args, begin, end);
  alignas(64) char scratch[kScratchBytes];
  const void* pointers[kMaxPointers];
  char* bases[kMaxPointers];  // of inputs and results, for the row
  for (size_t i = 0; i < constants_.size(); ++i) pointers[inputs_.size() + i] = constants_[i];
  for (int i = 0; i < num_scratch_; ++i) {
    pointers[first_scratch_ + i] = scratch + i * tile_ * scratch_element_;
  }
  for (size_t i = 0; i < result_elements_.size(); ++i) {
    bases[first_result_ + i] = args.outputs[i].as<char>();
  }
  for (int64_t at = begin; at < end;) {
    const int64_t row = one_row_ ? 0 : at / row_;
    const int64_t segment = one_row_ ? end : std::min(end, (row + 1) * row_);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = inputs_[i];
      char* base = args.inputs[i].as<char>();
      if (!one_row_ && (input.reading == Reading::kRow || input.reading == Reading::kScalar ||
                        input.reading == Reading::kSplat)) {
        int64_t offset = OffsetOfRow(input, row);
        // Counted from the position of the row, so that a row adds the same as a dense input.
        if (input.reading == Reading::kRow) offset -= row * row_;
        base += offset * input.element;
      }
      bases[i] = base;
      if (input.reading == Reading::kScalar) pointers[i] = base;
      if (input.reading == Reading::kSplat) {
        SplatElement(base, const_cast<void*>(pointers[input.source]), input.element,
                     std::min(tile_, segment - at));
      }
    }
    for (; at < segment; at += tile_) RunRow(pointers, bases, at, std::min(tile_, segment - at));
    at = segment;
  }
}

void PointwiseProgram::RunRow(const void** pointers, char* const* bases, int64_t at,
                              int64_t n) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (input.reading == Reading::kDense || input.reading == Reading::kRow) {
      pointers[i] = bases[i] + at * input.element;
    } else if (input.reading == Reading::kExpand) {
      ExpandElements(bases[i], input.element, View(shape_), input.strides, at, n,
                     const_cast<void*>(pointers[input.source]));
    }
  }
  for (size_t i = 0; i < result_elements_.size(); ++i) {
    pointers[first_result_ + i] = bases[first_result_ + i] + at * result_elements_[i];
  }
  for (const Step& step : steps_) Call(step, pointers, n);
  for (const CopyOut& copy : copies_) {
    std::memcpy(const_cast<void*>(pointers[copy.to]), pointers[copy.from],
                static_cast<size_t>(n * copy.element));
  }
}

}  // namespace tenon::kernels::cpu
