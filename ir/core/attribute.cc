#include "ir/core/attribute.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/guarded_read.h"
#include "ir/core/context/context_impl.h"

namespace tenon {
namespace {

using Kind = Attribute::Kind;

Attribute Intern(Context& context, const AttributeStorage::Key& key) {
  return Attribute(ImplOf(context).attributes.GetOrCreate(key, [&](AttributeStorage& s) {
    s.context = &context;
    s.kind = key.kind;
    s.splat = key.splat;
    s.type = key.type;
    s.number = key.number;
    s.size = key.payload.size();
  }));
}

// Attributes inside others are not counted by operations, so their bytes stay.
void Pin(Attribute attr) {
  if (!attr) return;
  if (const LargeElementsStorage* large = attr.storage()->large()) large->pinned.store(true);
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

Attribute Attribute::Unit(Context& context) { return Intern(context, {.kind = Kind::kUnit}); }

Attribute Attribute::Bool(Context& context, bool value) {
  Attribute cached = value ? ImplOf(context).true_attr : ImplOf(context).false_attr;
  if (cached) return cached;
  return Intern(
      context,
      {.kind = Kind::kBool, .type = Type::Scalar(context, DType::kBool), .number = value ? 1 : 0});
}

Attribute Attribute::Int(Context& context, int64_t value, Type type) {
  return Intern(context, {.kind = Kind::kInteger, .type = type, .number = value});
}

Attribute Attribute::I64(Context& context, int64_t value) {
  return Int(context, value, Type::Scalar(context, DType::kI64));
}

Attribute Attribute::Float(Context& context, double value, DType dtype) {
  TENON_CHECK(IsFloat(dtype));
  return Intern(context, {.kind = Kind::kFloat,
                          .type = Type::Scalar(context, dtype),
                          .number = std::bit_cast<int64_t>(Rounded(dtype, value))});
}

Attribute Attribute::Str(Context& context, std::string_view value) {
  return Intern(context, {.kind = Kind::kString, .payload = value});
}

Attribute Attribute::Array(Context& context, std::span<const Attribute> elements) {
  for (Attribute a : elements) Pin(a);
  return Intern(context, {.kind = Kind::kArray, .payload = PayloadOf(elements)});
}

Attribute Attribute::Ints(Context& context, DType dtype, std::span<const int64_t> values) {
  TENON_CHECK(IsInt(dtype) || dtype == DType::kBool);
  return Intern(context, {.kind = Kind::kDenseArray,
                          .type = Type::Scalar(context, dtype),
                          .payload = PayloadOf(values)});
}

Attribute Attribute::Floats(Context& context, DType dtype, std::span<const double> values) {
  TENON_CHECK(IsFloat(dtype));
  std::vector<double> rounded;
  rounded.reserve(values.size());
  for (double v : values) rounded.push_back(Rounded(dtype, v));
  return Intern(context, {.kind = Kind::kDenseArray,
                          .type = Type::Scalar(context, dtype),
                          .payload = PayloadOf(std::span<const double>(rounded))});
}

Attribute Attribute::I64s(Context& context, std::span<const int64_t> values) {
  return Ints(context, DType::kI64, values);
}

Attribute Attribute::F32s(Context& context, std::span<const float> values) {
  std::vector<double> wide(values.begin(), values.end());
  return Floats(context, DType::kF32, wide);
}

Attribute Attribute::TypeAttr(Context& context, Type type) {
  return Intern(context, {.kind = Kind::kType, .type = type});
}

Attribute Attribute::SymbolRef(Context& context, std::string_view path) {
  return Intern(context, {.kind = Kind::kSymbolRef, .payload = path});
}

Attribute Attribute::Dictionary(Context& context, std::span<const NamedAttribute> entries) {
  absl::InlinedVector<NamedAttribute, 8> sorted(entries.begin(), entries.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const NamedAttribute& a, const NamedAttribute& b) { return a.name < b.name; });
  for (const NamedAttribute& e : sorted) Pin(e.value);
  return Intern(context, {.kind = Kind::kDictionary,
                          .payload = PayloadOf(std::span<const NamedAttribute>(sorted))});
}

Attribute Attribute::Dims(Context& context, std::span<const DimExpr> dims) {
  return Intern(context, {.kind = Kind::kDims, .payload = PayloadOf(dims)});
}

Attribute Attribute::Opaque(Context& context, std::string_view text) {
  return Intern(context, {.kind = Kind::kOpaque, .payload = text});
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
  return Intern(context, {.kind = Kind::kElements,
                          .splat = type.num_elements() == 1,
                          .type = type,
                          .payload = PayloadOf(bytes)});
}

Attribute Attribute::Elements(Context& context, Type type, std::shared_ptr<const Blob> blob) {
  TENON_CHECK_MSG(blob != nullptr, "contents of a tensor need a blob");
  CheckContents(type, blob->size());
  size_t element = SizeOf(type.dtype());
  if (blob->size() <= kInlineBytes || AllElementsEqual(blob->bytes(), element)) {
    return Elements(context, type, blob->bytes());
  }
  return ImplOf(context).AddLargeElements(context, type, std::move(blob), nullptr);
}

Attribute Attribute::Splat(Context& context, Type type, std::span<const std::byte> element) {
  TENON_CHECK_MSG(type && type.is_static() && type.num_elements() >= 0 &&
                      element.size() == SizeOf(type.dtype()),
                  "a splat needs a tensor type with static dimensions, and one element");
  if (type.num_elements() == 0) return Elements(context, type, std::span<const std::byte>());
  return Intern(
      context,
      {.kind = Kind::kElements, .splat = true, .type = type, .payload = PayloadOf(element)});
}

Attribute::Kind Attribute::kind() const {
  TENON_CHECK_READ(storage_ != nullptr);
  return storage_->kind;
}
Context& Attribute::context() const { return *storage_->context; }

bool Attribute::bool_value() const {
  TENON_CHECK_READ(kind() == Kind::kBool);
  return storage_->number != 0;
}
int64_t Attribute::int_value() const {
  TENON_CHECK_READ(kind() == Kind::kInteger || kind() == Kind::kBool);
  return storage_->number;
}
double Attribute::float_value() const {
  TENON_CHECK_READ(kind() == Kind::kFloat);
  return std::bit_cast<double>(storage_->number);
}
std::string_view Attribute::str() const {
  TENON_CHECK_READ(kind() == Kind::kString || kind() == Kind::kSymbolRef ||
                   kind() == Kind::kOpaque);
  return storage_->text();
}
std::span<const Attribute> Attribute::elements() const {
  TENON_CHECK_READ(kind() == Kind::kArray);
  return storage_->list<Attribute>();
}
std::span<const int64_t> Attribute::ints() const {
  TENON_CHECK_READ(kind() == Kind::kDenseArray && !IsFloat(storage_->type.dtype()));
  return storage_->list<int64_t>();
}
std::span<const double> Attribute::floats() const {
  TENON_CHECK_READ(kind() == Kind::kDenseArray && IsFloat(storage_->type.dtype()));
  return storage_->list<double>();
}
std::span<const DimExpr> Attribute::dims() const {
  TENON_CHECK_READ(kind() == Kind::kDims);
  return storage_->list<DimExpr>();
}
std::span<const NamedAttribute> Attribute::entries() const {
  TENON_CHECK_READ(kind() == Kind::kDictionary);
  return storage_->list<NamedAttribute>();
}
Attribute Attribute::Get(std::string_view name) const {
  TENON_CHECK_READ(kind() == Kind::kDictionary);
  const std::span<const NamedAttribute> all = storage_->list<NamedAttribute>();
  auto it = std::lower_bound(
      all.begin(), all.end(), name,
      [](const NamedAttribute& e, std::string_view n) { return e.name.str() < n; });
  return it != all.end() && it->name.str() == name ? it->value : Attribute();
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
  if (const LargeElementsStorage* large = storage_->large()) {
    if (large->deferred) return large->deferred->Whole()->bytes();
    return large->blob ? large->blob->bytes() : std::span<const std::byte>();
  }
  return storage_->list<std::byte>();
}
std::shared_ptr<const Blob> Attribute::blob() const {
  TENON_CHECK_READ(kind() == Kind::kElements);
  const LargeElementsStorage* large = storage_->large();
  if (large == nullptr) return nullptr;
  return large->deferred ? large->deferred->Whole() : large->blob;
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
  const std::shared_ptr<const DeferredBlob>&p = a.storage()->large()->deferred,
                              &q = b.storage()->large()->deferred;
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
