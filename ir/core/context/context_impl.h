// Storage behind a Context. Internal to ir/core.
#ifndef TENON_IR_CORE_CONTEXT_CONTEXT_IMPL_H_
#define TENON_IR_CORE_CONTEXT_CONTEXT_IMPL_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "ir/base/limits.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/constants/number_range.h"
#include "ir/core/context/context.h"
#include "ir/core/context/op_pool.h"
#include "ir/core/context/side_table.h"
#include "ir/core/value.h"

namespace tenon {

// A coefficient times a product of factors. The factors are neither sums nor constants, and are
// sorted by text.
struct DimTerm {
  int64_t coefficient = 1;
  std::vector<DimExpr> factors;  // empty for a constant
};

struct DimExprStorage {
  Context* context = nullptr;
  DimExpr::Kind kind = DimExpr::Kind::kUnknown;
  int64_t value = 0;           // constant
  std::string symbol;          // symbol
  std::vector<DimTerm> terms;  // sorted by text, the constant last
  DimExpr a, b;                // floordiv, mod, min, max, broadcast
  int depth = 0;               // levels of parentheses in the text
  std::string text;
};

struct TypeStorage {
  Context* context = nullptr;
  Type::Kind kind = Type::Kind::kNone;
  DType dtype = DType::kInvalid;
  bool is_static = false;
  int64_t num_elements = -1;
  std::vector<DimExpr> dims;
  std::vector<Type> inputs, results;
  std::string text;  // opaque
};

struct AttributeStorage {
  Context* context = nullptr;
  Attribute::Kind kind = Attribute::Kind::kUnit;
  bool splat = false;
  int64_t int_value = 0;
  double float_value = 0;
  Type type;
  std::string str;  // string, symbol, opaque text, inline element bytes
  std::vector<Attribute> array;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<DimExpr> dims;
  std::vector<NamedAttribute> entries;
  // Large elements. ReleaseUnusedBlobs frees them when no operation uses them.
  mutable std::shared_ptr<const Blob> blob;
  mutable std::shared_ptr<const DeferredBlob> deferred;  // instead of `blob`
  mutable std::atomic<int64_t> blob_uses{0};
  mutable std::atomic<uint64_t> unused_since{0};  // ContextImpl::blob_epoch; 0: unknown
  mutable std::atomic<bool> pinned{false};        // part of another attribute, so never freed
};

// Interns storages by a key that encodes their contents. Addresses are stable. Thread-safe; keys
// are shared out so that threads seldom wait for each other.
template <typename Storage>
class InternTable {
 public:
  // `make` must not use the table.
  template <typename Make>
  const Storage* GetOrCreate(std::string_view key, Make&& make) {
    const size_t hash = absl::Hash<absl::string_view>()({key.data(), key.size()});
    Shard& shard = shards_[hash >> kHashShift];
    std::lock_guard<std::mutex> lock(shard.mutex);
    const auto found = shard.table.lazy_emplace(Key{key, hash}, [&](const auto& insert) {
      Storage& storage = shard.storages.emplace_back();
      make(storage);
      char* const kept = static_cast<char*>(shard.memory.allocate(key.size() + 1, 1));
      std::copy(key.begin(), key.end(), kept);
      insert(Key{{kept, key.size()}, hash}, &storage);
    });
    return found->second;
  }
  // A storage that equal contents do not share.
  template <typename Make>
  const Storage* CreateUnique(Make&& make) {
    Shard& shard = shards_[0];
    std::lock_guard<std::mutex> lock(shard.mutex);
    Storage& storage = shard.storages.emplace_back();
    make(storage);
    return &storage;
  }

 private:
  // The text of a key with its hash, which a table that grows asks for again.
  struct Key {
    std::string_view text;
    size_t hash;
    bool operator==(const Key& other) const { return hash == other.hash && text == other.text; }
  };
  struct HashOfKey {
    size_t operator()(const Key& key) const { return key.hash; }
  };
  // The uppermost bits of the hash, as the tables use the lowest ones.
  static constexpr size_t kShardBits = 4, kHashShift = sizeof(size_t) * 8 - kShardBits;
  struct alignas(64) Shard {
    std::mutex mutex;
    // Of keys and storages, which live as long as the table.
    std::pmr::monotonic_buffer_resource memory;
    absl::flat_hash_map<Key, const Storage*, HashOfKey> table;
    std::pmr::deque<Storage> storages{&memory};
  };
  std::array<Shard, size_t{1} << kShardBits> shards_;
};

// Append-only table of locations; reading needs no lock.
class LocationTable {
 public:
  LocationTable();
  ~LocationTable();
  uint32_t Add(const LocationData& data);  // the caller holds the mutex
  const LocationData& Get(uint32_t id) const {
    return chunks_[id >> kChunkBits].load(std::memory_order_acquire)[id & kChunkMask];
  }
  mutable std::mutex mutex;
  absl::flat_hash_map<std::string, uint32_t> by_key;
  std::deque<std::vector<Location>> parts;
  // Locations that the text of one writes out, and their levels.
  struct Extent {
    uint32_t size = 1, depth = 1;
  };
  absl::flat_hash_map<uint32_t, Extent> extents;            // of those with parts, by id
  Extent ExtentOf(std::span<const Location> inside) const;  // the caller holds the mutex
  LocationData last_file;  // consecutive ops at one position share an entry
  uint32_t last_file_id = 0;

 private:
  static constexpr uint32_t kChunkBits = 12, kChunkMask = (1u << kChunkBits) - 1;
  static constexpr uint32_t kMaxChunks = 1u << 14;
  uint32_t size_ = 0;
  std::unique_ptr<std::atomic<LocationData*>[]> chunks_;
};

// Registered ops by id: open addressing, with the ids as hashes.
class OpTable {
 public:
  OpTable() : entries_(kFirstSize) {}
  const OpInfo* Find(OpId id) const {
    for (size_t i = id;; ++i) {
      const Entry& entry = entries_[i & (entries_.size() - 1)];
      if (entry.id == id || entry.info == nullptr) return entry.info;
    }
  }
  void Insert(const OpInfo* info);  // requires an id that is not in the table

 private:
  static constexpr size_t kFirstSize = 256;  // a power of two
  struct Entry {
    OpId id = 0;
    const OpInfo* info = nullptr;
  };
  std::vector<Entry> entries_;
  size_t size_ = 0;
};

// A type or an attribute that a dialect defines, with the defaults of its parameters.
struct RegisteredDef {
  ParametricDef def;
  std::vector<Attribute> defaults;  // null: none
};
using DialectDefs = std::map<std::string, RegisteredDef, std::less<>>;  // by full name
// One such type or attribute.
struct DialectInstance {
  std::string_view name;  // of the definition
  std::vector<Attribute> parameters;
};

struct ContextImpl {
  // Its address identifies this Context as long as somebody holds it (context_identity.h).
  const std::shared_ptr<const char> identity = std::make_shared<const char>();

  Limits limits;
  DiagnosticEngine diagnostics;
  OpPool op_pool;

  std::mutex identifier_mutex;
  absl::node_hash_set<std::string> identifiers;

  InternTable<DimExprStorage> dim_exprs;
  InternTable<TypeStorage> types;
  InternTable<AttributeStorage> attributes;
  LocationTable locations;

  std::mutex blob_mutex;
  std::vector<const AttributeStorage*> blob_attributes;
  std::set<uint64_t> blob_keepers;  // epochs at which living KeepUnusedBlobs began
  uint64_t blob_epoch = 0;          // of the latest keeper
  bool release_waits = false;       // for a keeper to end

  // Frees the bytes that no operation has held since before the oldest keeper began. Requires that
  // blob_mutex is held.
  void ReleaseUnusedBlobs();

  // Ranges of large constants. Their storages are never freed, only their bytes.
  std::mutex range_mutex;
  absl::flat_hash_map<const AttributeStorage*, NumberRange> ranges;

  // Discardable attributes, shared out so that threads seldom wait for each other.
  struct alignas(64) DiscardableShard {
    std::mutex mutex;
    SideTable<Attribute> attrs;  // by operation
  };
  std::array<DiscardableShard, 64> discardable;
  DiscardableShard& DiscardableOf(const Operation* op) {
    // The uppermost bits: where all hashes of a table end alike, it finds no free place.
    static_assert(std::tuple_size_v<decltype(discardable)> == 64);
    return discardable[absl::HashOf(SideTable<Attribute>::PageOf(op)) >> (sizeof(size_t) * 8 - 6)];
  }

  // Names of values, shared out in the same way.
  struct alignas(64) NameShard {
    std::mutex mutex;
    SideTable<std::string> names;  // by value
  };
  std::array<NameShard, 64> value_names;
  NameShard& NamesOf(const ValueImpl* value) {
    static_assert(std::tuple_size_v<decltype(value_names)> == 64);
    return value_names[absl::HashOf(SideTable<std::string>::PageOf(value)) >>
                       (sizeof(size_t) * 8 - 6)];
  }

  // Symbols of large tables (symbol_table.h), as they were when `symbol_epoch` was
  // `indexed_symbol_epoch`. The epoch ends with every change of a symbol or of a table.
  std::atomic<uint64_t> symbol_epoch = 0;
  std::mutex symbol_mutex;
  uint64_t indexed_symbol_epoch = 0;
  absl::flat_hash_map<const Operation*, absl::flat_hash_map<std::string_view, Operation*>> symbols;

  // Written during registration only.
  std::map<std::string, std::string, std::less<>> dialects;  // name, summary
  DialectDefs dialect_types, dialect_attributes;
  std::map<std::string, MakeConstantFn, std::less<>> make_constant;  // of dialects that have one
  std::set<std::string, std::less<>> declared_dialects;  // those that DeclareOp has made
  std::deque<OpInfo> op_infos;
  OpTable ops_by_id;
  std::map<std::string, const OpInfo*, std::less<>> ops_by_name;

  std::mutex dialect_mutex;
  // By storage of the opaque type or attribute. Entries are never moved or erased.
  std::unordered_map<const void*, DialectInstance> dialect_instances;

  std::mutex unregistered_mutex;
  std::deque<std::unique_ptr<OpInfo>> unregistered_infos;
  std::map<std::string, const OpInfo*, std::less<>> unregistered_by_name;
  bool allow_unregistered = false;
  std::set<std::string, std::less<>> unregistered_dialects;

  // Often-used values.
  Attribute true_attr, false_attr, unit_attr;
  DimExpr unknown_dim;
  std::array<DimExpr, 64> small_dims;
  std::array<Type, kNumDTypes> scalars;
  Identifier segment_sizes;
};

// What `context` holds, for the files of ir/core.
inline ContextImpl& ImplOf(const Context& context) { return *context.impl_; }

// Says that a symbol or a table of symbols came, went or got another name. Thread-safe.
inline void EndSymbolEpoch(const Context& context) {
  ImplOf(context).symbol_epoch.fetch_add(1, std::memory_order_relaxed);
}

// True for an opaque type with this name, with or without parameters.
inline bool IsOfDialectType(std::string_view name, const TypeStorage& type) {
  if (type.kind != Type::Kind::kOpaque || type.text.size() < name.size() + 1) return false;
  const std::string_view text = type.text;
  const bool ends = text.size() == name.size() + 1 || text[name.size() + 1] == '<';
  return ends && text.substr(1, name.size()) == name;
}

// TypeConstraint::Accepts, inlined for code that checks every value of every op.
inline bool AcceptsType(const TypeConstraint& constraint, Type type) {
  if (constraint.any) return true;
  const TypeStorage& s = *type.storage();
  if (!constraint.dialect_type.empty()) return IsOfDialectType(constraint.dialect_type, s);
  if (constraint.scalar_i1) return s.kind == Type::Kind::kScalar && s.dtype == DType::kBool;
  return (s.kind == Type::Kind::kTensor || s.kind == Type::Kind::kUnranked) &&
         ((constraint.dtypes >> static_cast<int>(s.dtype)) & 1) != 0;
}

// Counts the uses of a large constant, when an operation gains or loses an attribute.
inline void CountBlobUse(Attribute attr, int delta) {
  if (!attr) return;
  const AttributeStorage* s = attr.storage();
  if (s->kind == Attribute::Kind::kElements && (s->blob || s->deferred)) {
    s->unused_since.store(0, std::memory_order_relaxed);
    s->blob_uses.fetch_add(delta, std::memory_order_release);
  }
}

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_CONTEXT_IMPL_H_
