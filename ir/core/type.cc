#include "ir/core/type.h"

#include <cstring>

#include "absl/container/inlined_vector.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/guarded_read.h"
#include "ir/core/context/context_impl.h"

namespace tenon {
namespace {

// Values keep numbers in the upper 16 bits of these pointers (value.h).
void CheckAddress(const TypeStorage& storage) {
  TENON_CHECK_MSG(reinterpret_cast<uintptr_t>(&storage) >> 48 == 0,
                  "a type lies beyond the first 48 bits of addresses");
}

// `fill` adds to a new storage what follows from the key.
template <typename Fill>
Type Intern(Context& context, const TypeStorage::Key& key, Fill fill) {
  return Type(ImplOf(context).types.GetOrCreate(key, [&](TypeStorage& s) {
    CheckAddress(s);
    s.context = &context;
    s.kind = key.kind;
    s.dtype = key.dtype;
    s.num_inputs = key.num_inputs;
    s.size = key.payload.size();
    fill(s);
  }));
}
Type Intern(Context& context, const TypeStorage::Key& key) {
  return Intern(context, key, [](TypeStorage&) {});
}

}  // namespace

Type Type::Scalar(Context& context, DType dtype) {
  TENON_CHECK(dtype != DType::kInvalid);
  Type cached = ImplOf(context).scalars[static_cast<int>(dtype)];
  if (cached) return cached;
  return Intern(context, {.kind = Kind::kScalar, .dtype = dtype});
}

Type Type::Index(Context& context) { return Intern(context, {.kind = Kind::kIndex}); }

Type Type::None(Context& context) { return Intern(context, {.kind = Kind::kNone}); }

Type Type::Tensor(Context& context, DType dtype, std::span<const DimExpr> dims) {
  TENON_CHECK(dtype != DType::kInvalid);
  const TypeStorage::Key key = {.kind = Kind::kTensor, .dtype = dtype, .payload = PayloadOf(dims)};
  return Intern(context, key, [&](TypeStorage& s) {
    s.is_static = true;
    int64_t n = 1;
    bool zero = false;
    for (DimExpr d : dims) {
      if (!d.is_constant()) {
        s.is_static = false;
        return;
      }
      zero = zero || d.constant() == 0;
    }
    for (DimExpr d : dims) {
      if (!zero && (d.constant() < 0 || __builtin_mul_overflow(n, d.constant(), &n))) return;
    }
    s.num_elements = zero ? 0 : n;
  });
}

Type Type::Tensor(Context& context, DType dtype, std::span<const int64_t> dims) {
  absl::InlinedVector<DimExpr, 8> exprs;
  for (int64_t d : dims) exprs.push_back(DimExpr::Constant(context, d));
  return Tensor(context, dtype, std::span<const DimExpr>(exprs.data(), exprs.size()));
}

Type Type::Unranked(Context& context, DType dtype) {
  return Intern(context, {.kind = Kind::kUnranked, .dtype = dtype});
}

Type Type::Function(Context& context, std::span<const Type> inputs, std::span<const Type> results) {
  absl::InlinedVector<Type, 8> types(inputs.begin(), inputs.end());
  types.insert(types.end(), results.begin(), results.end());
  return Intern(context, {.kind = Kind::kFunction,
                          .num_inputs = static_cast<uint32_t>(inputs.size()),
                          .payload = PayloadOf(std::span<const Type>(types))});
}

Type Type::Tuple(Context& context, std::span<const Type> types) {
  return Intern(context, {.kind = Kind::kTuple,
                          .num_inputs = static_cast<uint32_t>(types.size()),
                          .payload = PayloadOf(types)});
}

Type Type::Opaque(Context& context, std::string_view text) {
  return Intern(context, {.kind = Kind::kOpaque, .payload = text});
}

Type::Kind Type::kind() const {
  TENON_CHECK_READ(storage_ != nullptr);
  return storage_->kind;
}
DType Type::dtype() const {
  TENON_CHECK_READ(storage_ != nullptr);
  return storage_->dtype;
}
int64_t Type::rank() const {
  TENON_CHECK_READ(is_tensor());
  return static_cast<int64_t>(storage_->dims().size());
}
std::span<const DimExpr> Type::dims() const {
  TENON_CHECK_READ(is_tensor());
  return storage_->dims();
}
DimExpr Type::dim(int64_t i) const {
  std::span<const DimExpr> all = dims();
  if (i < 0) i += static_cast<int64_t>(all.size());
  TENON_CHECK_READ(i >= 0 && i < static_cast<int64_t>(all.size()));
  return all[i];
}
bool Type::is_static() const {
  TENON_CHECK_READ(storage_ != nullptr);
  return storage_->is_static;
}
int64_t Type::num_elements() const {
  TENON_CHECK_READ(storage_ != nullptr);
  return storage_->num_elements;
}
std::span<const Type> Type::inputs() const { return storage_->inputs(); }
std::span<const Type> Type::results() const { return storage_->results(); }
std::string_view Type::opaque_text() const {
  return storage_->kind == Kind::kOpaque ? storage_->text() : std::string_view();
}
Context& Type::context() const {
  TENON_CHECK_READ(storage_ != nullptr);
  return *storage_->context;
}

Type WithDims(Type tensor, std::span<const DimExpr> dims) {
  return Type::Tensor(tensor.context(), tensor.dtype(), dims);
}

Type WithDType(Type tensor, DType dtype) {
  return tensor.is_tensor() ? Type::Tensor(tensor.context(), dtype, tensor.dims())
                            : Type::Unranked(tensor.context(), dtype);
}

}  // namespace tenon
