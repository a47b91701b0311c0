#include "ir/core/attribute.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/guarded_read.h"
#include "ir/core/context/context_impl.h"

namespace tenon {
namespace {

using Kind = Attribute::Kind;

template <typename T>
void AppendRaw(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// The key begins with the kind.
template <typename Fill>
Attribute InternAs(Context& context, Kind kind, std::string_view key, Fill fill) {
  return Attribute(ImplOf(context).attributes.GetOrCreate(key, [&](AttributeStorage& s) {
    s.context = &context;
    s.kind = kind;
    fill(s);
  }));
}

template <typename Fill>
Attribute Intern(Context& context, Kind kind, std::string key, Fill fill) {
  key.insert(key.begin(), static_cast<char>(kind));
  return InternAs(context, kind, key, fill);
}

// The key of small contents, on the stack.
class KeyOfElements {
 public:
  KeyOfElements(char form, Type type, std::span<const std::byte> bytes)
      : key_(2 + sizeof(Type) + bytes.size()) {
    key_[0] = static_cast<char>(Kind::kElements);
    key_[1] = form;
    std::memcpy(&key_[2], static_cast<const void*>(&type), sizeof(Type));
    if (!bytes.empty()) std::memcpy(&key_[2 + sizeof(Type)], bytes.data(), bytes.size());
  }
  std::string_view text() const { return {key_.data(), key_.size()}; }

 private:
  absl::InlinedVector<char, 2 + sizeof(Type) + Attribute::kInlineBytes> key_;
};

// Attributes inside others are not counted by operations, so their bytes stay.
void Pin(Attribute attr) {
  if (attr && attr.kind() == Kind::kElements) attr.storage()->pinned.store(true);
}

bool AllElementsEqual(std::span<const std::byte> bytes, size_t element) {
  return bytes.size() > element &&
         std::memcmp(bytes.data(), bytes.data() + element, bytes.size() - element) == 0;
}

double Rounded(DType dtype, double value) {
  std::byte element[8];
  StoreFromDouble(dtype, value, element);
  return LoadAsDouble(dtype, element);
}

}  // namespace

Attribute Attribute::Unit(Context& context) {
  return Intern(context, Kind::kUnit, "", [](AttributeStorage&) {});
}

Attribute Attribute::Bool(Context& context, bool value) {
  Attribute cached = value ? ImplOf(context).true_attr : ImplOf(context).false_attr;
  if (cached) return cached;
  return Intern(context, Kind::kBool, value ? "1" : "0", [&](AttributeStorage& s) {
    s.int_value = value;
    s.type = Type::Scalar(context, DType::kBool);
  });
}

Attribute Attribute::Int(Context& context, int64_t value, Type type) {
  std::string key;
  AppendRaw(key, value);
  AppendRaw(key, type);
  return Intern(context, Kind::kInteger, std::move(key), [&](AttributeStorage& s) {
    s.int_value = value;
    s.type = type;
  });
}

Attribute Attribute::I64(Context& context, int64_t value) {
  return Int(context, value, Type::Scalar(context, DType::kI64));
}

Attribute Attribute::Float(Context& context, double value, DType dtype) {
  TENON_CHECK(IsFloat(dtype));
  const double rounded = Rounded(dtype, value);
  std::string key;
  AppendRaw(key, rounded);
  AppendRaw(key, dtype);
  return Intern(context, Kind::kFloat, std::move(key), [&](AttributeStorage& s) {
    s.float_value = rounded;
    s.type = Type::Scalar(context, dtype);
  });
}

Attribute Attribute::Str(Context& context, std::string_view value) {
  return Intern(context, Kind::kString, std::string(value),
                [&](AttributeStorage& s) { s.str = std::string(value); });
}

Attribute Attribute::Array(Context& context, std::span<const Attribute> elements) {
  std::string key;
  for (Attribute a : elements) AppendRaw(key, a);
  return Intern(context, Kind::kArray, std::move(key), [&](AttributeStorage& s) {
    s.array.assign(elements.begin(), elements.end());
    for (Attribute a : elements) Pin(a);
  });
}

Attribute Attribute::Ints(Context& context, DType dtype, std::span<const int64_t> values) {
  TENON_CHECK(IsInt(dtype) || dtype == DType::kBool);
  std::string key(1, static_cast<char>(dtype));
  for (int64_t v : values) AppendRaw(key, v);
  return Intern(context, Kind::kDenseArray, std::move(key), [&](AttributeStorage& s) {
    s.type = Type::Scalar(context, dtype);
    s.ints.assign(values.begin(), values.end());
  });
}

Attribute Attribute::Floats(Context& context, DType dtype, std::span<const double> values) {
  TENON_CHECK(IsFloat(dtype));
  std::vector<double> rounded;
  rounded.reserve(values.size());
  for (double v : values) rounded.push_back(Rounded(dtype, v));
  std::string key(1, static_cast<char>(dtype));
  for (double v : rounded) AppendRaw(key, v);
  return Intern(context, Kind::kDenseArray, std::move(key), [&](AttributeStorage& s) {
    s.type = Type::Scalar(context, dtype);
    s.floats = std::move(rounded);
  });
}

Attribute Attribute::I64s(Context& context, std::span<const int64_t> values) {
  return Ints(context, DType::kI64, values);
}

Attribute Attribute::F32s(Context& context, std::span<const float> values) {
  std::vector<double> wide(values.begin(), values.end());
  return Floats(context, DType::kF32, wide);
}

Attribute Attribute::TypeAttr(Context& context, Type type) {
  std::string key;
  AppendRaw(key, type);
  return Intern(context, Kind::kType, std::move(key), [&](AttributeStorage& s) { s.type = type; });
}

Attribute Attribute::SymbolRef(Context& context, std::string_view path) {
  return Intern(context, Kind::kSymbolRef, std::string(path),
                [&](AttributeStorage& s) { s.str = std::string(path); });
}

Attribute Attribute::Dictionary(Context& context, std::span<const NamedAttribute> entries) {
  std::vector<NamedAttribute> sorted(entries.begin(), entries.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const NamedAttribute& a, const NamedAttribute& b) { return a.name < b.name; });
  std::string key;
  for (const NamedAttribute& e : sorted) AppendRaw(key, e);
  return Intern(context, Kind::kDictionary, std::move(key), [&](AttributeStorage& s) {
    for (const NamedAttribute& e : sorted) Pin(e.value);
    s.entries = std::move(sorted);
  });
}

Attribute Attribute::Dims(Context& context, std::span<const DimExpr> dims) {
  std::string key;
  for (DimExpr d : dims) AppendRaw(key, d);
  return Intern(context, Kind::kDims, std::move(key),
                [&](AttributeStorage& s) { s.dims.assign(dims.begin(), dims.end()); });
}

Attribute Attribute::Opaque(Context& context, std::string_view text) {
  return Intern(context, Kind::kOpaque, std::string(text),
                [&](AttributeStorage& s) { s.str = std::string(text); });
}

namespace {

void CheckContents(Type type, size_t bytes) {
  TENON_CHECK_MSG(type && type.is_static() && type.num_elements() >= 0,
                  "contents of a tensor need a tensor type with static dimensions");
  size_t expected = 0;
  const bool overflows = __builtin_mul_overflow(static_cast<size_t>(type.num_elements()),
                                                SizeOf(type.dtype()), &expected);
  TENON_CHECK_MSG(!overflows && bytes == expected,
                  fmt::format("{} bytes for {}", bytes, type.text()));
}

}  // namespace

Attribute Attribute::Elements(Context& context, Type type, std::span<const std::byte> bytes) {
  CheckContents(type, bytes.size());
  size_t element = SizeOf(type.dtype());
  if (AllElementsEqual(bytes, element)) return Splat(context, type, bytes.first(element));
  if (bytes.size() > kInlineBytes) return Elements(context, type, Blob::Copy(bytes));
  const KeyOfElements key('d', type, bytes);
  return InternAs(context, Kind::kElements, key.text(), [&](AttributeStorage& s) {
    s.type = type;
    s.splat = type.num_elements() == 1;
    s.str.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
}

Attribute Attribute::Elements(Context& context, Type type, std::shared_ptr<const Blob> blob) {
  TENON_CHECK_MSG(blob != nullptr, "contents of a tensor need a blob");
  CheckContents(type, blob->size());
  size_t element = SizeOf(type.dtype());
  if (blob->size() <= kInlineBytes || AllElementsEqual(blob->bytes(), element)) {
    return Elements(context, type, blob->bytes());
  }
  const AttributeStorage* storage =
      ImplOf(context).attributes.CreateUnique([&](AttributeStorage& s) {
        s.context = &context;
        s.kind = Kind::kElements;
        s.type = type;
        s.blob = std::move(blob);
      });
  std::lock_guard<std::mutex> lock(ImplOf(context).blob_mutex);
  ImplOf(context).blob_attributes.push_back(storage);
  return Attribute(storage);
}

Attribute Attribute::Splat(Context& context, Type type, std::span<const std::byte> element) {
  TENON_CHECK_MSG(type && type.is_static() && type.num_elements() >= 0 &&
                      element.size() == SizeOf(type.dtype()),
                  "a splat needs a tensor type with static dimensions, and one element");
  if (type.num_elements() == 0) return Elements(context, type, std::span<const std::byte>());
  const KeyOfElements key(type.num_elements() == 1 ? 'd' : 's', type, element);
  return InternAs(context, Kind::kElements, key.text(), [&](AttributeStorage& s) {
    s.type = type;
    s.splat = true;
    s.str.assign(reinterpret_cast<const char*>(element.data()), element.size());
  });
}

Attribute::Kind Attribute::kind() const {
  TENON_CHECK_READ(storage_ != nullptr);
  return storage_->kind;
}
Context& Attribute::context() const { return *storage_->context; }

bool Attribute::bool_value() const {
  TENON_CHECK_READ(kind() == Kind::kBool);
  return storage_->int_value != 0;
}
int64_t Attribute::int_value() const {
  TENON_CHECK_READ(kind() == Kind::kInteger || kind() == Kind::kBool);
  return storage_->int_value;
}
double Attribute::float_value() const {
  TENON_CHECK_READ(kind() == Kind::kFloat);
  return storage_->float_value;
}
std::string_view Attribute::str() const {
  TENON_CHECK_READ(kind() == Kind::kString || kind() == Kind::kSymbolRef ||
                   kind() == Kind::kOpaque);
  return storage_->str;
}
std::span<const Attribute> Attribute::elements() const {
  TENON_CHECK_READ(kind() == Kind::kArray);
  return storage_->array;
}
std::span<const int64_t> Attribute::ints() const {
  TENON_CHECK_READ(kind() == Kind::kDenseArray && !IsFloat(storage_->type.dtype()));
  return storage_->ints;
}
std::span<const double> Attribute::floats() const {
  TENON_CHECK_READ(kind() == Kind::kDenseArray && IsFloat(storage_->type.dtype()));
  return storage_->floats;
}
std::span<const DimExpr> Attribute::dims() const {
  TENON_CHECK_READ(kind() == Kind::kDims);
  return storage_->dims;
}
std::span<const NamedAttribute> Attribute::entries() const {
  TENON_CHECK_READ(kind() == Kind::kDictionary);
  return storage_->entries;
}
Attribute Attribute::Get(std::string_view name) const {
  TENON_CHECK_READ(kind() == Kind::kDictionary);
  auto it = std::lower_bound(
      storage_->entries.begin(), storage_->entries.end(), name,
      [](const NamedAttribute& e, std::string_view n) { return e.name.str() < n; });
  return it != storage_->entries.end() && it->name.str() == name ? it->value : Attribute();
}
Type Attribute::type() const {
  TENON_CHECK_READ(storage_ != nullptr);
  return storage_->type;
}

bool Attribute::is_splat() const {
  TENON_CHECK_READ(kind() == Kind::kElements);
  return storage_->splat;
}
std::span<const std::byte> Attribute::raw_bytes() const {
  TENON_CHECK_READ(kind() == Kind::kElements);
  if (storage_->blob) return storage_->blob->bytes();
  if (storage_->deferred) return storage_->deferred->Whole()->bytes();
  return {reinterpret_cast<const std::byte*>(storage_->str.data()), storage_->str.size()};
}
std::shared_ptr<const Blob> Attribute::blob() const {
  TENON_CHECK_READ(kind() == Kind::kElements);
  return storage_->deferred ? storage_->deferred->Whole() : storage_->blob;
}
std::shared_ptr<const Blob> Attribute::DenseBlob() const {
  if (std::shared_ptr<const Blob> large = blob()) return large;
  std::span<const std::byte> raw = raw_bytes();
  if (!is_splat()) return Blob::Copy(raw);
  auto n = static_cast<size_t>(type().num_elements());
  return Blob::Make(n * raw.size(), [&](std::byte* to) {
    for (size_t i = 0; i < n; ++i) std::memcpy(to + i * raw.size(), raw.data(), raw.size());
  });
}

double Attribute::ElementAsDouble(int64_t i) const {
  TENON_CHECK_READ(is_splat() || (i >= 0 && i < type().num_elements()));
  size_t element = SizeOf(type().dtype());
  return LoadAsDouble(type().dtype(), raw_bytes().data() + (is_splat() ? 0 : i * element));
}
int64_t Attribute::ElementAsInt(int64_t i) const {
  TENON_CHECK_READ(is_splat() || (i >= 0 && i < type().num_elements()));
  size_t element = SizeOf(type().dtype());
  return LoadAsInt(type().dtype(), raw_bytes().data() + (is_splat() ? 0 : i * element));
}

bool SameElements(Attribute a, Attribute b) {
  if (a == b) return true;
  if (!a || !b || a.kind() != Kind::kElements || b.kind() != Kind::kElements ||
      a.type() != b.type())
    return false;
  if (!IsLargeElements(a) || !IsLargeElements(b)) return false;
  const std::shared_ptr<const DeferredBlob>&p = a.storage()->deferred, &q = b.storage()->deferred;
  using BlobPtr = std::shared_ptr<const Blob>;
  const auto same = [](const BlobPtr& x, const BlobPtr& y) {
    return x == y || (x->size() == y->size() && x->content_hash() == y->content_hash());
  };
  if (p && q && p->recipe() == q->recipe() &&
      std::ranges::equal(p->sources(), q->sources(), same)) {
    return true;
  }
  return ContentHash(a) == ContentHash(b);
}

}  // namespace tenon
