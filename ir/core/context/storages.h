// What handles of types, attributes and dimensions point to. Internal to ir/core.
#ifndef TENON_IR_CORE_CONTEXT_STORAGES_H_
#define TENON_IR_CORE_CONTEXT_STORAGES_H_

#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "ir/core/attribute.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/dims/dim_expr.h"
#include "ir/core/type.h"

namespace tenon {

// A coefficient times a product of factors. The factors are neither sums nor constants, and are
// sorted by text.
struct DimTerm {
  int64_t coefficient = 1;
  std::vector<DimExpr> factors;  // empty for a constant
};

// The bytes of `elements`, as a payload behind a storage.
template <typename T>
std::string_view PayloadOf(std::span<const T> elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size_bytes()};
}
inline size_t HashOfPayload(std::string_view payload) {
  return absl::HashOf(absl::string_view(payload.data(), payload.size()));
}

struct DimExprStorage {
  struct Key {
    DimExpr::Kind kind;
    int64_t value;          // of a constant
    std::string_view text;  // of all others
    static constexpr std::string_view payload = {};
    size_t Hash() const { return absl::HashOf(kind, value, HashOfPayload(text)); }
    bool Matches(const DimExprStorage& s) const {
      return s.kind == kind && s.value == value &&
             (kind == DimExpr::Kind::kConstant || s.text == text);
    }
  };
  static void Destroy(DimExprStorage* storage) { storage->~DimExprStorage(); }
  size_t bytes() const { return sizeof(*this); }
  // The name of a symbol.
  std::string_view symbol() const {
    const std::string_view all = text;
    return all[0] == '`' ? all.substr(1, all.size() - 2) : all;
  }

  Context* context = nullptr;
  size_t hash = 0;
  int64_t value = 0;           // constant
  std::vector<DimTerm> terms;  // of a sum: sorted by text, the constant last
  DimExpr a, b;                // floordiv, mod, min, max, broadcast
  std::string text;
  int depth = 0;  // levels of parentheses in the text
  DimExpr::Kind kind = DimExpr::Kind::kUnknown;
  mutable bool mark = false;  // in use (release_unused.cc)
};

// Behind it lie the dimensions, the types inside, or the text.
struct TypeStorage {
  struct Key {
    Type::Kind kind;
    DType dtype = DType::kInvalid;
    uint32_t num_inputs = 0;  // of a function, which come before the results
    std::string_view payload = {};
    size_t Hash() const { return absl::HashOf(kind, dtype, num_inputs, HashOfPayload(payload)); }
    bool Matches(const TypeStorage& s) const {
      return s.kind == kind && s.dtype == dtype && s.num_inputs == num_inputs &&
             s.text() == payload;
    }
  };
  static void Destroy(TypeStorage*) {}
  size_t bytes() const { return sizeof(*this) + size; }
  std::string_view text() const { return {reinterpret_cast<const char*>(this + 1), size}; }
  std::span<const DimExpr> dims() const {
    return {reinterpret_cast<const DimExpr*>(this + 1), size / sizeof(DimExpr)};
  }
  // Of a function or a tuple; none of other kinds.
  std::span<const Type> inputs() const {
    return {reinterpret_cast<const Type*>(this + 1), num_inputs};
  }
  // Of a function; none of other kinds.
  std::span<const Type> results() const {
    if (kind != Type::Kind::kFunction) return {};
    return {reinterpret_cast<const Type*>(this + 1) + num_inputs, size / sizeof(Type) - num_inputs};
  }

  Context* context = nullptr;
  size_t hash = 0;
  size_t size = 0;  // of the payload
  int64_t num_elements = -1;
  uint32_t num_inputs = 0;
  Type::Kind kind = Type::Kind::kNone;
  DType dtype = DType::kInvalid;
  bool is_static = false;
  mutable bool mark = false;  // in use (release_unused.cc)
};

struct LargeElementsStorage;

// Behind it lie the text, the elements, the entries, or the bytes of small constants.
struct AttributeStorage {
  struct Key {
    Attribute::Kind kind;
    bool splat = false;
    Type type = {};
    int64_t number = 0;
    std::string_view payload = {};
    size_t Hash() const {
      return absl::HashOf(kind, splat, type.storage(), number, HashOfPayload(payload));
    }
    bool Matches(const AttributeStorage& s) const {
      return s.kind == kind && s.splat == splat && s.type == type && s.number == number &&
             s.text() == payload;
    }
  };
  static void Destroy(AttributeStorage* storage);
  size_t bytes() const;
  std::string_view text() const { return {reinterpret_cast<const char*>(this + 1), size}; }
  template <typename T>
  std::span<const T> list() const {
    return {reinterpret_cast<const T*>(this + 1), size / sizeof(T)};
  }
  // Null for all but large elements.
  const LargeElementsStorage* large() const;

  Context* context = nullptr;
  size_t hash = 0;
  Type type;
  int64_t number = 0;    // an integer, or the bits of a float
  size_t size : 48 = 0;  // of the payload
  size_t is_large : 1 = 0;
  size_t splat : 1 = 0;
  mutable size_t mark : 1 = 0;  // in use (release_unused.cc)
  Attribute::Kind kind = Attribute::Kind::kUnit;
};
static_assert(std::is_trivially_destructible_v<AttributeStorage>);
static_assert(sizeof(AttributeStorage) == 40 && sizeof(TypeStorage) == 40);

// Large elements. ReleaseUnusedBlobs frees their bytes when no operation uses them.
struct LargeElementsStorage : AttributeStorage {
  mutable std::shared_ptr<const Blob> blob;
  mutable std::shared_ptr<const DeferredBlob> deferred;  // instead of `blob`
  mutable std::atomic<int64_t> uses{0};
  mutable std::atomic<uint64_t> unused_since{0};  // ContextImpl::blob_epoch; 0: unknown
  mutable std::atomic<bool> pinned{false};        // part of another attribute, so never freed
};

inline const LargeElementsStorage* AttributeStorage::large() const {
  return is_large ? static_cast<const LargeElementsStorage*>(this) : nullptr;
}
inline size_t AttributeStorage::bytes() const {
  return is_large ? sizeof(LargeElementsStorage) : sizeof(*this) + size;
}
inline void AttributeStorage::Destroy(AttributeStorage* storage) {
  if (storage->is_large) static_cast<LargeElementsStorage*>(storage)->~LargeElementsStorage();
}

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_STORAGES_H_
