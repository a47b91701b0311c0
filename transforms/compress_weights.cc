// compress-weights: linear layers with constant weights keep them in fewer bits. Weights of bf16
// halve what is read and double the rate of products where the CPU multiplies bf16; weights of i8
// with factors for groups of rows leave a quarter to read.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "ir/core/blob.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/ceil_div.h"
#include "ir/core/check.h"
#include "ir/core/joined_blob.h"
#include "ir/core/weight_group.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/int8_factors.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

// A product with a constant matrix, however it is written.
struct Linear {
  Value x, w, bias, residual;
  fused::CompressedLinearOp::Attrs attrs;
};

std::optional<Linear> LinearOf(Operation* op) {
  Linear linear;
  if (const auto product = DynCast<fused::LinearOp>(op)) {
    linear = {product.x(), product.w(), product.bias(), product.residual(), {}};
    linear.attrs.transpose_w = product.transpose_w();
    linear.attrs.activation = product.activation();
    linear.attrs.alpha = product.alpha(), linear.attrs.beta = product.beta();
  } else if (const auto matmul = DynCast<ten::MatmulOp>(op)) {
    if (matmul.transpose_a()) return std::nullopt;
    linear = {matmul.a(), matmul.b(), Value(), Value(), {}};
    linear.attrs.transpose_w = matmul.transpose_b();
  } else {
    return std::nullopt;
  }
  const Type x = linear.x.type(), w = linear.w.type();
  if (!x.is_tensor() || x.rank() < 1 || x.dtype() != DType::kF32 || !w.is_tensor() ||
      w.rank() != 2 || !w.is_static() || !DefinedBy<core::ConstantOp>(linear.w)) {
    return std::nullopt;
  }
  return linear;
}

struct Compressed {
  Attribute w, scale;
};

// Bytes of a model's file that are read before they leave the memory again.
constexpr int64_t kResidentBytes = int64_t{8} << 20;

// What is joined of parts is put together for as long as the result lives.
std::shared_ptr<const Blob> BytesOf(Attribute value) {
  const std::shared_ptr<const JoinedBlob> joined = JoinedBlobOf(value);
  if (joined == nullptr || joined->has_whole()) return value.DenseBlob();
  return Blob::Make(joined->size(), [&](std::byte* to) { joined->CopyTo(to); });
}

// The matrix as floats: (p, j) at [p * row + j * col].
struct Matrix {
  Matrix(Attribute value, bool transposed) : blob(BytesOf(value)) {
    const Type type = value.type();
    k = type.dim(transposed ? 1 : 0).constant(), n = type.dim(transposed ? 0 : 1).constant();
    row = transposed ? 1 : n, col = transposed ? k : 1;
  }
  ~Matrix() { blob->DropPages(); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  float at(int64_t i) const {
    float value;
    std::memcpy(&value, blob->bytes().data() + static_cast<size_t>(i) * sizeof(value),
                sizeof(value));
    return value;
  }
  // Of so many elements that nobody reads again.
  void Read(int64_t elements) {
    read += elements * static_cast<int64_t>(sizeof(float));
    if (read < kResidentBytes) return;
    blob->DropPages();
    read = 0;
  }

  std::shared_ptr<const Blob> blob;
  int64_t k, n, row, col;
  int64_t read = 0;
};

Compressed ToBf16(Attribute value) {
  Matrix m(value, false);
  const int64_t count = m.k * m.n;
  const auto blob = Blob::Make(static_cast<size_t>(count) * sizeof(uint16_t), [&](std::byte* out) {
    constexpr int64_t kEach = 4096;
    for (int64_t begin = 0; begin < count; begin += kEach) {
      const int64_t end = std::min(count, begin + kEach);
      for (int64_t i = begin; i < end; ++i) {
        const uint16_t bits = DoubleToBFloat16(m.at(i));
        std::memcpy(out + static_cast<size_t>(i) * sizeof(bits), &bits, sizeof(bits));
      }
      m.Read(end - begin);
    }
  });
  Context& context = value.context();
  return {
      Attribute::Elements(context, Type::Tensor(context, DType::kBF16, value.type().dims()), blob),
      Attribute()};
}

constexpr auto kColumns = static_cast<int64_t>(kInt8Columns);

// Some rows of up to 16 columns of a matrix, and where its element (p, j) lies: row * p + col * j.
// One of row and col is 1.
struct Strip {
  int64_t row, col, columns;
};

void Load(const Strip& strip, const std::byte* from, std::vector<Int8Columns>& rows) {
  constexpr size_t kSize = sizeof(float);
  if (strip.col == 1) {
    for (Int8Columns& to : rows) {
      std::memcpy(to.data(), from, static_cast<size_t>(strip.columns) * kSize);
      from += static_cast<size_t>(strip.row) * kSize;
    }
    return;
  }
  for (size_t j = 0; j < static_cast<size_t>(strip.columns); ++j) {
    for (size_t p = 0; p < rows.size(); ++p) std::memcpy(&rows[p][j], from + p * kSize, kSize);
    from += static_cast<size_t>(strip.col) * kSize;
  }
}

void Store(const Strip& strip, const std::vector<Int8Columns>& rows, const Int8Columns& inverse,
           std::byte* to) {
  std::array<int8_t, kInt8Columns> steps;
  for (const Int8Columns& from : rows) {
    for (size_t j = 0; j < kInt8Columns; ++j) {
      steps[j] = static_cast<int8_t>(static_cast<int32_t>(NearestInteger(from[j] * inverse[j])));
    }
    if (strip.col == 1) {
      std::memcpy(to, steps.data(), static_cast<size_t>(strip.columns));
    } else {
      for (int64_t j = 0; j < strip.columns; ++j) {
        to[strip.col * j] = static_cast<std::byte>(steps[static_cast<size_t>(j)]);
      }
    }
    to += strip.row;
  }
}

// Null where a weight is not finite.
Compressed ToInt8(Attribute value, bool transposed, int64_t group) {
  Matrix m(value, transposed);
  const int64_t each = WeightsPerFactor(group, m.k);
  const int64_t groups = CeilDiv(m.k, each);
  std::vector<float> scales(static_cast<size_t>(groups * m.n));
  bool finite = true;
  std::vector<Int8Columns> rows;
  const auto quantize = [&](std::byte* out, int64_t g, int64_t first) {
    const int64_t begin = g * each, at = begin * m.row + first * m.col;
    const Strip strip = {m.row, m.col, std::min(kColumns, m.n - first)};
    rows.assign(static_cast<size_t>(std::min(m.k, begin + each) - begin), Int8Columns{});
    Load(strip, m.blob->bytes().data() + static_cast<size_t>(at) * sizeof(float), rows);
    const Int8Columns factors = ChooseInt8Factors(rows);
    for (int64_t j = 0; j < strip.columns; ++j) {
      const float factor = factors[static_cast<size_t>(j)];
      scales[static_cast<size_t>(g * m.n + first + j)] = factor;
      finite &= std::isfinite(factor);
    }
    if (finite) Store(strip, rows, InverseInt8Factors(factors), out + at);
    m.Read(static_cast<int64_t>(rows.size()) * strip.columns);
  };
  const auto blob = Blob::Make(static_cast<size_t>(m.k * m.n), [&](std::byte* out) {
    // As the matrix lies, so that pages which have been read are not needed again.
    const int64_t strips = CeilDiv(m.n, kColumns), inner = transposed ? groups : strips;
    for (int64_t i = 0; i < groups * strips && finite; ++i) {
      const int64_t outer = i / inner, rest = i % inner;
      quantize(out, transposed ? rest : outer, (transposed ? outer : rest) * kColumns);
    }
  });
  if (!finite) return {};
  Context& context = value.context();
  const int64_t extents[] = {groups, m.n};
  return {
      Attribute::Elements(context, Type::Tensor(context, DType::kI8, value.type().dims()), blob),
      Attribute::Elements(context, Type::Tensor(context, DType::kF32, extents),
                          Blob::Copy(std::as_bytes(std::span(scales))))};
}

class CompressWeights : public Pass {
 public:
  CompressWeights(bool int8, int64_t group, int64_t min_elements)
      : int8_(int8), group_(group), min_elements_(min_elements) {}

  absl::StatusOr<PassResult> Run(Operation* function, PassContext& context) override {
    std::vector<Operation*> ops;
    function->WalkPreOrder([&](Operation* op) {
      ops.push_back(op);
      return true;
    });
    made_.clear();
    bool changed = false;
    for (Operation* op : ops) {
      TENON_ASSIGN_OR_RETURN(const bool compressed, Visit(op, context));
      changed |= compressed;
    }
    return PassResult{changed};
  }

 private:
  struct Constants {
    Value w, scale;
  };

  absl::StatusOr<bool> Visit(Operation* op, PassContext& context) {
    std::optional<Linear> linear = LinearOf(op);
    if (!linear) return false;
    if (linear->w.type().num_elements() < min_elements_) {
      context.statistics->Add("kept-small");
      return false;
    }
    TENON_ASSIGN_OR_RETURN(const Constants constants,
                           ConstantsFor(linear->w, linear->attrs.transpose_w));
    if (!constants.w) {
      context.statistics->Add("kept-not-finite");
      return false;
    }
    if (int8_) linear->attrs.group = group_;
    OpBuilder builder = OpBuilder::Before(op);
    TENON_ASSIGN_OR_RETURN(const fused::CompressedLinearOp made,
                           fused::CompressedLinearOp::Create(
                               builder, op->location(), linear->x, constants.w, linear->bias,
                               linear->residual, constants.scale, linear->attrs));
    if (const Attribute kept = op->discardable_attrs()) made.op()->SetDiscardableAttrs(kept);
    context.statistics->Add("compressed");
    context.statistics->Add("bytes-saved", Bytes(linear->w) - Bytes(constants.w) -
                                               (constants.scale ? Bytes(constants.scale) : 0));
    Operation* const weights = linear->w.defining_op();
    op->result().ReplaceAllUsesWith(made.out());
    op->Erase();
    if (!weights->has_uses()) weights->Erase();
    return true;
  }

  static int64_t Bytes(Value value) {
    return value.type().num_elements() * static_cast<int64_t>(SizeOf(value.type().dtype()));
  }

  // Where the weights are, so that whatever uses the weights may use these. Users of one matrix
  // share them.
  absl::StatusOr<Constants> ConstantsFor(Value w, bool transposed) {
    const Attribute value = DefinedBy<core::ConstantOp>(w).value();
    const auto [found, is_new] =
        made_.try_emplace({value.storage(), w.defining_op()->block(), transposed});
    if (!is_new) return found->second;
    const Compressed compressed = int8_ ? ToInt8(value, transposed, group_) : ToBf16(value);
    if (!compressed.w) return found->second;
    // At the block's begin: the constants of equal values may come in any order.
    OpBuilder builder = OpBuilder::Before(w.defining_op()->block()->front());
    const Location location = w.defining_op()->location();
    TENON_ASSIGN_OR_RETURN(const core::ConstantOp made,
                           core::ConstantOp::Create(builder, location, {.value = compressed.w}));
    found->second.w = made.out();
    if (compressed.scale) {
      TENON_ASSIGN_OR_RETURN(
          const core::ConstantOp scale,
          core::ConstantOp::Create(builder, location, {.value = compressed.scale}));
      found->second.scale = scale.out();
    }
    return found->second;
  }

  bool int8_;
  int64_t group_, min_elements_;
  std::map<std::tuple<const void*, const void*, bool>, Constants> made_;
};

}  // namespace

PassInfo CompressWeightsPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.options = {
      {"to", PassOption::Type::kString, "i8", "element type of the weights", {"bf16", "i8"}},
      {"group", PassOption::Type::kCount, "32",
       "neighbouring weights of a column that share a factor (i8); 0: all"},
      {"min-elements", PassOption::Type::kCount, "4096", "smaller matrices stay as they are"}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<CompressWeights>(values.GetString("to") == "i8", values.GetInt("group"),
                                             values.GetInt("min-elements"));
  };
  return info;
}

}  // namespace tenon
