#include "ir/core/type.h"

#include <cstring>

#include "absl/container/inlined_vector.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/guarded_read.h"
#include "ir/core/context/context_impl.h"

namespace tenon {
namespace {

void AppendRaw(std::string& key, const void* data, size_t size) {
  key.append(static_cast<const char*>(data), size);
}

// Values keep numbers in the upper 16 bits of these pointers (value.h).
void CheckAddress(const TypeStorage& storage) {
  TENON_CHECK_MSG(reinterpret_cast<uintptr_t>(&storage) >> 48 == 0,
                  "a type lies beyond the first 48 bits of addresses");
}

template <typename Fill>
Type Intern(Context& context, std::string key, Type::Kind kind, Fill fill) {
  key.insert(key.begin(), static_cast<char>(kind));
  return Type(ImplOf(context).types.GetOrCreate(key, [&](TypeStorage& s) {
    CheckAddress(s);
    s.context = &context;
    s.kind = kind;
    fill(s);
  }));
}

}  // namespace

Type Type::Scalar(Context& context, DType dtype) {
  TENON_CHECK(dtype != DType::kInvalid);
  Type cached = ImplOf(context).scalars[static_cast<int>(dtype)];
  if (cached) return cached;
  return Intern(context, std::string(1, static_cast<char>(dtype)), Kind::kScalar,
                [&](TypeStorage& s) { s.dtype = dtype; });
}

Type Type::Index(Context& context) {
  return Intern(context, "", Kind::kIndex, [](TypeStorage&) {});
}

Type Type::None(Context& context) {
  return Intern(context, "", Kind::kNone, [](TypeStorage&) {});
}

Type Type::Tensor(Context& context, DType dtype, std::span<const DimExpr> dims) {
  TENON_CHECK(dtype != DType::kInvalid);
  absl::InlinedVector<char, 2 + 8 * sizeof(void*)> key(2 + dims.size() * sizeof(void*));
  key[0] = static_cast<char>(Kind::kTensor);
  key[1] = static_cast<char>(dtype);
  for (size_t i = 0; i < dims.size(); ++i) {
    const void* const p = dims[i].storage();
    std::memcpy(&key[2 + i * sizeof(p)], &p, sizeof(p));
  }
  return Type(ImplOf(context).types.GetOrCreate({key.data(), key.size()}, [&](TypeStorage& s) {
    CheckAddress(s);
    s.context = &context;
    s.kind = Kind::kTensor;
    s.dtype = dtype;
    s.dims.assign(dims.begin(), dims.end());
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
  }));
}

Type Type::Tensor(Context& context, DType dtype, std::span<const int64_t> dims) {
  absl::InlinedVector<DimExpr, 8> exprs;
  for (int64_t d : dims) exprs.push_back(DimExpr::Constant(context, d));
  return Tensor(context, dtype, std::span<const DimExpr>(exprs.data(), exprs.size()));
}

Type Type::Unranked(Context& context, DType dtype) {
  return Intern(context, std::string(1, static_cast<char>(dtype)), Kind::kUnranked,
                [&](TypeStorage& s) { s.dtype = dtype; });
}

Type Type::Function(Context& context, std::span<const Type> inputs, std::span<const Type> results) {
  const size_t num_inputs = inputs.size();
  std::string key;
  // Intern puts the kind in front.
  key.reserve(1 + sizeof(num_inputs) + (num_inputs + results.size()) * sizeof(void*));
  AppendRaw(key, &num_inputs, sizeof(num_inputs));
  for (std::span<const Type> list : {inputs, results}) {
    for (Type t : list) {
      const void* const p = t.storage();
      AppendRaw(key, &p, sizeof(p));
    }
  }
  return Intern(context, std::move(key), Kind::kFunction, [&](TypeStorage& s) {
    s.inputs.assign(inputs.begin(), inputs.end());
    s.results.assign(results.begin(), results.end());
  });
}

Type Type::Tuple(Context& context, std::span<const Type> types) {
  std::string key;
  for (Type t : types) {
    const void* const p = t.storage();
    AppendRaw(key, &p, sizeof(p));
  }
  return Intern(context, std::move(key), Kind::kTuple,
                [&](TypeStorage& s) { s.inputs.assign(types.begin(), types.end()); });
}

Type Type::Opaque(Context& context, std::string_view text) {
  return Intern(context, std::string(text), Kind::kOpaque,
                [&](TypeStorage& s) { s.text = std::string(text); });
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
  return static_cast<int64_t>(storage_->dims.size());
}
std::span<const DimExpr> Type::dims() const {
  TENON_CHECK_READ(is_tensor());
  return storage_->dims;
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
std::span<const Type> Type::inputs() const { return storage_->inputs; }
std::span<const Type> Type::results() const { return storage_->results; }
std::string_view Type::opaque_text() const { return storage_->text; }
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
