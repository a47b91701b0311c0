#include "tests/transforms/mask_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/func_ops.h"

namespace tenon {

MaskProgram::MaskProgram(Keys keys, std::vector<std::string> am_dims)
    : context_(std::make_shared<Context>()),
      builder_(*context_),
      past_(keys == Keys::kWithPast),
      am_dims_(std::move(am_dims)) {
  RegisterAllDialects(*context_);
  if (am_dims_.empty()) am_dims_ = {"B", this->keys()};
  module_ = CreateModule(*context_);
  const auto tensor = [&](DType dtype, const std::vector<std::string>& dims) {
    return Type::Tensor(*context_, dtype, std::span<const DimExpr>(Dims(dims)));
  };
  const Type q = tensor(DType::kF32, {"B", "2", "S", "4"});
  const Type past = tensor(DType::kF32, {"B", "2", "P", "4"});
  const Type inputs[] = {q, q, q, past, past, tensor(DType::kI64, am_dims_)};
  function_ = CreateFunction(module_.get(), "main", Type::Function(*context_, inputs, {}));
  Block& entry = function_->region().front();
  builder_.SetInsertionPointToEnd(&entry);
  q_ = entry.argument(0), k_ = entry.argument(1), v_ = entry.argument(2), am_ = entry.argument(5);
  if (past_) {
    const Value all_k[] = {entry.argument(3), k_}, all_v[] = {entry.argument(4), v_};
    k_ = Make<ten::ConcatOp>(all_k, ten::ConcatOp::Attrs{.axis = 2});
    v_ = Make<ten::ConcatOp>(all_v, ten::ConcatOp::Attrs{.axis = 2});
  }
}

DimExpr MaskProgram::Dim(const std::string& text) { return *DimExpr::Parse(*context_, text); }

std::vector<DimExpr> MaskProgram::Dims(const std::vector<std::string>& texts) {
  std::vector<DimExpr> dims;
  for (const std::string& text : texts) dims.push_back(Dim(text));
  return dims;
}

Value MaskProgram::Number(double value, DType dtype) { return Table(dtype, {}, {value}); }

Value MaskProgram::Table(DType dtype, const std::vector<int64_t>& shape,
                         const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * SizeOf(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    StoreFromDouble(dtype, values[i], bytes.data() + i * SizeOf(dtype));
  }
  const Type type = Type::Tensor(*context_, dtype, std::span<const int64_t>(shape));
  return Make<core::ConstantOp>(
      core::ConstantOp::Attrs{.value = Attribute::Elements(*context_, type, bytes)});
}

Value MaskProgram::Extent(const std::string& dim) {
  if (Dim(dim).is_constant()) return Number(static_cast<double>(Dim(dim).constant()), DType::kI64);
  return Make<core::DimsOp>(core::DimsOp::Attrs{.dims = {Dim(dim)}, .scalar = true});
}

Value MaskProgram::Range(const std::string& start, const std::string& end) {
  const Value from = Extent(start), to = Extent(end);
  const Value range = Make<ten::RangeOp>(from, to, Number(1, DType::kI64));
  const DimExpr dims[] = {Dim(end) - Dim(start)};
  Value typed = range;
  // As infer-shapes says.
  typed.set_type(Type::Tensor(*context_, DType::kI64, std::span<const DimExpr>(dims)));
  return typed;
}

Value MaskProgram::Reshape(Value x, const std::vector<std::string>& dims) {
  return Make<ten::ReshapeOp>(x, ten::ReshapeOp::Attrs{.shape = Dims(dims)});
}

Value MaskProgram::Expand(Value x, const std::vector<std::string>& dims) {
  return Make<ten::ExpandOp>(x, ten::ExpandOp::Attrs{.shape = Dims(dims)});
}

Value MaskProgram::Query() {
  return Reshape(past_ ? Range("P", "P + S") : Range("0", "S"), {"S", "1"});
}
Value MaskProgram::Key() { return Reshape(Range("0", keys()), {"1", keys()}); }

Value MaskProgram::Padding() { return Reshape(Cast(am_, DType::kBool), {"B", "1", "1", keys()}); }

Value MaskProgram::Additive(Value visible, double hidden) {
  return Make<ten::WhereOp>(visible, Number(0), Number(hidden));
}

void MaskProgram::Attend(Value mask, Value bias, bool nan_guard) {
  const Value out = Make<fused::AttentionOp>(q_, k_, v_, mask, bias, Value(), Value(), Value(),
                                             fused::AttentionOp::Attrs{.num_heads = 2,
                                                                       .kv_num_heads = 2,
                                                                       .scale = 0.5f,
                                                                       .q_layout = "bhsd",
                                                                       .k_layout = "bhsd",
                                                                       .v_layout = "bhsd",
                                                                       .out_layout = "bhsd",
                                                                       .nan_guard = nan_guard});
  Value typed = out;
  typed.set_type(q_.type());
  ASSERT_TRUE(func::ReturnOp::Create(builder_, Location(), std::span(&typed, 1)).ok());
  std::vector<Type> inputs;
  const Block& entry = function_->region().front();
  for (unsigned i = 0; i < entry.num_arguments(); ++i) inputs.push_back(entry.argument(i).type());
  const Type results[] = {q_.type()};
  function_->SetAttr("function_type",
                     Attribute::TypeAttr(*context_, Type::Function(*context_, inputs, results)));
}

std::string MaskProgram::Classified() {
  const Model before(context_, std::move(module_));
  Model after = before.Clone();
  std::string report;
  OptimizeOptions options;
  options.pipeline = "classify-masks,dce";
  options.verify_each = true;
  options.explain_rule = "classify-masks";
  options.report = [&](std::string_view line) { report += line; };
  const absl::Status status = Optimize(after, options);
  EXPECT_TRUE(status.ok()) << status;
  text_ = Print(*after.module());
  Compare(before, after);
  const std::string start = "classify-masks: fused.attention: ";
  return report.rfind(start, 0) == 0 ? report.substr(start.size()) : report;
}

std::string MaskProgram::text() const { return text_; }

void MaskProgram::Compare(const Model& before, const Model& after) {
  const absl::StatusOr<Program> old_program = Compile(before, {.threads = 1, .reference = true});
  const absl::StatusOr<Program> new_program = Compile(after, {.threads = 1, .reference = true});
  ASSERT_TRUE(old_program.ok()) << old_program.status();
  ASSERT_TRUE(new_program.ok()) << new_program.status() << text_;
  std::mt19937 random(7);
  struct Sizes {
    int64_t batch, queries, past;
    bool one = false;  // symbols of the attention mask's own are 1: it broadcasts
  };
  const bool has_own = std::find(am_dims_.begin(), am_dims_.end(), "T") != am_dims_.end();
  for (const auto& [batch, queries, past, one] :
       {Sizes{1, 1, 0}, {2, 5, 0}, {2, 4, 3}, {3, 1, 4}, {2, 5, 0, true}, {2, 4, 3, true}}) {
    if ((past > 0 && !past_) || (one && !has_own)) continue;
    const auto size_of = [&, b = batch, s = queries, p = past, own = one](DimExpr d) {
      return *d.Evaluate([&](std::string_view symbol) -> std::optional<int64_t> {
        const bool batch_symbol = symbol == "A" || symbol == "B";
        return batch_symbol ? b : symbol == "S" ? s : symbol == "P" ? p : own ? 1 : p + s;
      });
    };
    std::vector<Tensor> inputs;
    for (const TensorSpec& spec : old_program->inputs()) {
      std::vector<int64_t> shape;
      for (const std::string& d : spec.dims) shape.push_back(size_of(Dim(d)));
      Tensor t = Tensor::Make(spec.dtype, shape);
      for (int64_t i = 0; i < t.numel(); ++i) {
        // Batch 0 is masked completely; of the others about every third key.
        const bool first = i < t.numel() / batch && batch > 1;
        if (t.dtype() == DType::kI64) {
          t.as<int64_t>()[i] = first || random() % 3 == 0 ? 0 : 1;
        } else {
          t.as<float>()[i] = static_cast<float>(random() % 2001) / 1000 - 1;
        }
      }
      inputs.push_back(std::move(t));
    }
    const auto expected = old_program->Run(inputs), got = new_program->Run(inputs);
    if (one && (!expected.ok() || !got.ok())) {
      accepts_one_ &= got.ok() || !expected.ok();
      continue;
    }
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(got.ok()) << got.status() << text_;
    const Tensor &x = (*expected)[0], &y = (*got)[0];
    ASSERT_EQ(x.numel(), y.numel());
    for (int64_t i = 0; i < x.numel(); ++i) {
      const float a = x.as<float>()[i], b = y.as<float>()[i];
      const bool same = std::isnan(a) ? std::isnan(b) : std::abs(a - b) <= 1e-5f;
      ASSERT_TRUE(same) << "element " << i << " is " << b << ", expected " << a << "; batch "
                        << batch << ", queries " << queries << ", past " << past << "\n"
                        << text_;
    }
  }
}

}  // namespace tenon
