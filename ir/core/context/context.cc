#include "ir/core/context/context.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/context/definition_checks.h"
#include "ir/core/operation.h"

namespace tenon {

void OpTable::Insert(const OpInfo* info) {
  if (2 * ++size_ > entries_.size()) {
    std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
    size_ = 1;
    for (const Entry& entry : old) {
      if (entry.info != nullptr) Insert(entry.info);
    }
  }
  size_t i = info->id();
  while (entries_[i & (entries_.size() - 1)].info != nullptr) ++i;
  entries_[i & (entries_.size() - 1)] = {info->id(), info};
}

Context::Context() : impl_(std::make_unique<ContextImpl>()) {
  impl_->segment_sizes = Intern("operandSegmentSizes");
  impl_->unknown_dim = DimExpr::Unknown(*this);
  for (int i = 1; i < kNumDTypes; ++i)
    impl_->scalars[i] = Type::Scalar(*this, static_cast<DType>(i));
  for (size_t i = 0; i < impl_->small_dims.size(); ++i) {
    impl_->small_dims[i] = DimExpr::Constant(*this, static_cast<int64_t>(i));
  }
  impl_->true_attr = Attribute::Bool(*this, true);
  impl_->false_attr = Attribute::Bool(*this, false);
  impl_->unit_attr = Attribute::Unit(*this);
}

Context::~Context() = default;

absl::Status Context::RegisterDialect(Dialect dialect) {
  if (!IsDottedName(dialect.name))
    return absl::InvalidArgumentError(fmt::format(
        "dialect '{}' has a name that is no identifier {}", dialect.name, kIdentifierHint));
  if (HasDialect(dialect.name)) {
    return absl::AlreadyExistsError(
        fmt::format("dialect '{}' is already registered", dialect.name));
  }
  absl::flat_hash_map<OpId, std::string_view> ids;
  for (const OpDef& def : dialect.ops) {
    TENON_RETURN_IF_ERROR(CheckDefinition(*this, dialect, def));
    const OpId id = HashOpName(def.name);
    const OpInfo* other = FindOp(id);
    const auto [at, inserted] = ids.emplace(id, other == nullptr ? def.name : other->name());
    if (inserted && other == nullptr) continue;
    return absl::AlreadyExistsError(
        fmt::format("op '{}' has the same name or hash as '{}'", def.name, at->second));
  }
  DialectDefs types, attributes;
  TENON_RETURN_IF_ERROR(AddDefs(*this, dialect, "type", dialect.types, types));
  TENON_RETURN_IF_ERROR(AddDefs(*this, dialect, "attribute", dialect.attributes, attributes));
  impl_->dialect_types.merge(types);
  impl_->dialect_attributes.merge(attributes);
  if (dialect.make_constant != nullptr)
    impl_->make_constant.emplace(dialect.name, std::move(dialect.make_constant));
  impl_->dialects.emplace(std::move(dialect.name), std::move(dialect.summary));
  for (OpDef& def : dialect.ops) AddOp(std::move(def), *this);
  return absl::OkStatus();
}

bool Context::HasDialect(std::string_view name) const {
  return impl_->dialects.find(name) != impl_->dialects.end();
}

std::vector<std::string> Context::DialectNames() const {
  std::vector<std::string> names;
  for (const auto& [name, summary] : impl_->dialects) names.push_back(name);
  return names;
}

std::vector<const OpInfo*> Context::OpsOf(std::string_view dialect) const {
  std::vector<const OpInfo*> ops;
  for (const auto& [name, info] : impl_->ops_by_name) {
    if (info->dialect() == dialect) ops.push_back(info);
  }
  return ops;
}

const OpInfo* Context::FindOp(std::string_view name) const {
  auto it = impl_->ops_by_name.find(name);
  return it == impl_->ops_by_name.end() ? nullptr : it->second;
}

const OpInfo* Context::FindOp(OpId id) const { return impl_->ops_by_id.Find(id); }

const OpInfo* Context::GetUnregisteredOp(std::string_view name) {
  std::lock_guard<std::mutex> lock(impl_->unregistered_mutex);
  auto it = impl_->unregistered_by_name.find(name);
  if (it != impl_->unregistered_by_name.end()) return it->second;
  impl_->unregistered_infos.emplace_back(OpInfo::Unregistered(this, name));
  const OpInfo* info = impl_->unregistered_infos.back().get();
  impl_->unregistered_by_name.emplace(std::string(name), info);
  return info;
}

bool Context::allow_unregistered_dialects() const { return impl_->allow_unregistered; }
void Context::set_allow_unregistered_dialects(bool allow) { impl_->allow_unregistered = allow; }
void Context::AllowUnregisteredDialect(std::string_view name) {
  impl_->unregistered_dialects.emplace(name);
}
bool Context::IsUnregisteredDialectAllowed(std::string_view name) const {
  return impl_->allow_unregistered ||
         impl_->unregistered_dialects.find(name) != impl_->unregistered_dialects.end();
}

Identifier Context::Intern(std::string_view text) {
  std::lock_guard<std::mutex> lock(impl_->identifier_mutex);
  const absl::string_view key(text.data(), text.size());
  auto it = impl_->identifiers.find(key);
  if (it == impl_->identifiers.end()) it = impl_->identifiers.emplace(key).first;
  return Identifier(&*it);
}

DiagnosticEngine& Context::diagnostics() { return impl_->diagnostics; }

Attribute ContextImpl::AddLargeElements(Context& context, Type type,
                                        std::shared_ptr<const Blob> blob,
                                        std::shared_ptr<const DeferredBlob> deferred) {
  const auto* storage = attributes.CreateUnique<LargeElementsStorage>([&](LargeElementsStorage& s) {
    s.context = &context;
    s.kind = Attribute::Kind::kElements;
    s.is_large = 1;
    s.type = type;
    s.blob = std::move(blob);
    s.deferred = std::move(deferred);
  });
  const std::lock_guard<std::mutex> lock(blob_mutex);
  blob_attributes.push_back(storage);
  return Attribute(storage);
}

void ContextImpl::ReleaseUnusedBlobs() {
  release_waits = false;
  std::erase_if(blob_attributes, [this](const LargeElementsStorage* s) {
    if (s->pinned.load() || s->uses.load(std::memory_order_acquire) > 0) return false;
    const uint64_t since = s->unused_since.load(std::memory_order_relaxed);
    if (!blob_keepers.empty() && (since == 0 || since >= *blob_keepers.begin())) {
      if (since == 0) s->unused_since.store(blob_epoch, std::memory_order_relaxed);
      release_waits = true;
      return false;
    }
    s->blob.reset();
    s->deferred.reset();
    return true;
  });
}

void Context::ReleaseUnusedBlobs() {
  std::lock_guard<std::mutex> lock(impl_->blob_mutex);
  impl_->ReleaseUnusedBlobs();
}

KeepUnusedBlobs::KeepUnusedBlobs(Context& context) : context_(context) {
  std::lock_guard<std::mutex> lock(ImplOf(context).blob_mutex);
  epoch_ = ++ImplOf(context).blob_epoch;
  ImplOf(context).blob_keepers.insert(epoch_);
}

KeepUnusedBlobs::~KeepUnusedBlobs() {
  ContextImpl& impl = ImplOf(context_);
  std::lock_guard<std::mutex> lock(impl.blob_mutex);
  impl.blob_keepers.erase(epoch_);
  if (impl.release_waits) impl.ReleaseUnusedBlobs();
}

size_t Context::live_blob_bytes() const {
  std::lock_guard<std::mutex> lock(impl_->blob_mutex);
  size_t total = 0;
  for (const LargeElementsStorage* s : impl_->blob_attributes) {
    if (s->blob) total += s->blob->size();
    if (s->deferred && s->deferred->has_whole()) total += s->deferred->size();
  }
  return total;
}

size_t Context::op_bytes_in_use() const { return impl_->op_pool.bytes_in_use(); }

}  // namespace tenon
