#include "ir/core/context/context.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/context/declared_ops.h"
#include "ir/core/operation.h"
#include "ir/core/text/lexer.h"
#include "ir/core/text/parser.h"
#include "ir/core/verify/op_checks.h"

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

namespace {

// Identifiers joined by dots.
bool IsDottedName(std::string_view name) {
  return IsBareIdentifier(name) && !name.ends_with('.') && name.find("..") == name.npos;
}

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> text, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(text, std::forward<Args>(args)...));
}

// Slots that an Operation can count.
constexpr size_t kMaxSlots = 255;

constexpr std::string_view kIdentifier =
    "(expected a letter or '_', then letters, digits, '_', '$' and '.')";

// What an Operation has room for.
absl::Status CheckLimits(const OpDef& def) {
  const struct {
    std::string_view what;
    size_t count, most;
  } limits[] = {
      {"attributes", def.attrs.size(), kMaxSlots},
      {"regions", def.regions.size(), kMaxRegions},
      {"successors", def.successors.size(), kMaxSuccessors},
      {"results", def.results.size(), kMaxResults},
  };
  for (const auto& [what, count, most] : limits) {
    if (count > most)
      return Wrong("'{}' has {} {} (expected at most {})", def.name, count, what, most);
  }
  for (const SuccessorDef& successor : def.successors) {
    if (successor.operand_group >= -1 &&
        successor.operand_group < static_cast<int>(def.operands.size())) {
      continue;
    }
    return Wrong("successor '{}' of '{}' gets operand group {} of {}", successor.name, def.name,
                 successor.operand_group, def.operands.size());
  }
  return absl::OkStatus();
}

// Names for messages and generated code, each once.
template <typename Named>
absl::Status CheckNames(const OpDef& def, std::string_view what, const std::vector<Named>& all) {
  absl::flat_hash_set<std::string_view> names;
  for (const Named& one : all) {
    std::string_view name;
    if constexpr (std::is_same_v<Named, std::string>) {
      name = one;
    } else {
      name = one.name;
    }
    if (!IsBareIdentifier(name)) {
      return Wrong("{} '{}' of op '{}' has a name that is no identifier {}", what, name, def.name,
                   kIdentifier);
    }
    if (!names.insert(name).second) return Wrong("op '{}' has two {}s '{}'", def.name, what, name);
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const OpDef& def, std::string_view what,
                         const std::vector<OperandDef>& groups) {
  TENON_RETURN_IF_ERROR(CheckNames(def, what, groups));
  for (const OperandDef& group : groups) {
    const TypeConstraint& types = group.constraint;
    if (types.any || types.dtypes != 0 || types.scalar_i1 || !types.dialect_type.empty()) continue;
    return Wrong("{} '{}' of op '{}' accepts no type (expected a constraint that accepts some)",
                 what, group.name, def.name);
  }
  return absl::OkStatus();
}

absl::Status CheckDefinition(Context& context, const Dialect& dialect, const OpDef& def) {
  if (std::string_view(def.name).substr(0, dialect.name.size() + 1) != dialect.name + ".")
    return Wrong("op '{}' does not belong to dialect '{}'", def.name, dialect.name);
  if (!IsDottedName(def.name))
    return Wrong("op '{}' has a name that is no identifier {}", def.name, kIdentifier);
  TENON_RETURN_IF_ERROR(CheckGroups(def, "operand", def.operands));
  TENON_RETURN_IF_ERROR(CheckGroups(def, "result", def.results));
  TENON_RETURN_IF_ERROR(CheckNames(def, "region", def.regions));
  TENON_RETURN_IF_ERROR(CheckNames(def, "successor", def.successors));
  bool has_segments = false;
  for (size_t i = 0; i < def.attrs.size(); ++i) {
    const AttrDef& attr = def.attrs[i];
    if (attr.type == AttrType::kEnum && attr.enums.empty()) {
      return Wrong("attribute '{}' of op '{}' is an enum of no strings (expected some)", attr.name,
                   def.name);
    }
    if (!IsBareIdentifier(attr.name)) {
      return Wrong("attribute '{}' of op '{}' has a name that is no identifier {}", attr.name,
                   def.name, kIdentifier);
    }
    if (i > 0 && def.attrs[i - 1].name >= attr.name) {
      return Wrong("attributes '{}' and '{}' of '{}' are not sorted by name", def.attrs[i - 1].name,
                   attr.name, def.name);
    }
    has_segments |= attr.name == "operandSegmentSizes";
    if (attr.default_text.empty()) continue;
    const absl::StatusOr<Attribute> value = ParseAttribute(context, attr.default_text);
    if (!value.ok()) {
      return Wrong("the default of attribute '{}' of '{}' cannot be read: {}", attr.name, def.name,
                   attr.default_text);
    }
    const std::string message = CheckAttribute(attr, *value);
    if (!message.empty()) return Wrong("default of op '{}': {}", def.name, message);
  }
  const bool constant = (def.traits & static_cast<uint32_t>(Trait::kConstantLike)) != 0;
  if (constant && (def.attrs.empty() || def.results.size() != 1)) {
    return Wrong(
        "op '{}' is ConstantLike with {} attributes and {} results (expected an attribute "
        "for the value, and 1 result)",
        def.name, def.attrs.size(), def.results.size());
  }
  const auto is_flexible = [](const OperandDef& group) { return group.arity != Arity::kSingle; };
  const auto early = std::find_if(def.results.begin(), def.results.end(), is_flexible);
  if (early != def.results.end() && std::next(early) != def.results.end()) {
    return Wrong("result '{}' of '{}' is optional or variadic and not the last", early->name,
                 def.name);
  }
  TENON_RETURN_IF_ERROR(CheckLimits(def));
  const auto flexible = std::count_if(def.operands.begin(), def.operands.end(), is_flexible);
  if ((flexible > 1) == has_segments) return absl::OkStatus();
  return Wrong(
      "'{}' has {} optional or variadic operands (an attribute 'operandSegmentSizes' is needed "
      "if and only if there are several)",
      def.name, flexible);
}

// Adds types or attributes of a dialect to `to`.
absl::Status AddDefs(Context& context, const Dialect& dialect, const char* what,
                     const std::vector<ParametricDef>& defs, DialectDefs& to) {
  for (const ParametricDef& def : defs) {
    if (!IsDottedName(def.name) ||
        std::string_view(def.name).substr(0, dialect.name.size() + 1) != dialect.name + ".")
      return Wrong("{} '{}' does not belong to dialect '{}'", what, def.name, dialect.name);
    RegisteredDef registered{def, {}};
    absl::flat_hash_set<std::string_view> names;
    for (const AttrDef& parameter : def.parameters) {
      if (!IsBareIdentifier(parameter.name) || !names.insert(parameter.name).second) {
        return Wrong("parameter '{}' of {} '{}' has a name that is taken or no identifier {}",
                     parameter.name, what, def.name, kIdentifier);
      }
      Attribute value;
      if (!parameter.default_text.empty()) {
        const absl::StatusOr<Attribute> parsed = ParseAttribute(context, parameter.default_text);
        if (!parsed.ok() || !CheckAttribute(parameter, *parsed).empty()) {
          return Wrong("the default of parameter '{}' of '{}' does not fit: {}", parameter.name,
                       def.name, parameter.default_text);
        }
        value = *parsed;
      }
      if (!value && !registered.defaults.empty() && registered.defaults.back()) {
        return Wrong("parameter '{}' of '{}' has no default, but the one before it has",
                     parameter.name, def.name);
      }
      registered.defaults.push_back(value);
    }
    if (!to.emplace(def.name, std::move(registered)).second)
      return absl::AlreadyExistsError(fmt::format("{} '{}' is defined twice", what, def.name));
  }
  return absl::OkStatus();
}

bool Same(const OperandDef& a, const OperandDef& b) {
  return a.name == b.name && a.arity == b.arity && a.constraint.any == b.constraint.any &&
         a.constraint.dtypes == b.constraint.dtypes &&
         a.constraint.dialect_type == b.constraint.dialect_type &&
         a.constraint.scalar_i1 == b.constraint.scalar_i1;
}

bool Same(const AttrDef& a, const AttrDef& b) {
  return a.name == b.name && a.type == b.type && a.required == b.required &&
         a.default_text == b.default_text && a.enums == b.enums;
}

// Whether two definitions say the same of programs. Summaries are for people.
bool Same(const OpDef& a, const OpDef& b) {
  const auto same = [](const auto& x, const auto& y) { return Same(x, y); };
  return std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                    same) &&
         std::equal(a.results.begin(), a.results.end(), b.results.begin(), b.results.end(), same) &&
         std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end(), same) &&
         a.regions == b.regions && a.successors.size() == b.successors.size() &&
         a.traits == b.traits && a.infer == b.infer && a.verify == b.verify && a.fold == b.fold &&
         a.interfaces == b.interfaces;
}

void Add(OpDef def, Context& context) {
  ContextImpl& impl = ImplOf(context);
  const OpInfo* info = &impl.op_infos.emplace_back(&context, std::move(def));
  impl.ops_by_id.Insert(info);
  impl.ops_by_name.emplace(std::string(info->name()), info);
}

}  // namespace

absl::Status Context::RegisterDialect(Dialect dialect) {
  if (!IsDottedName(dialect.name))
    return Wrong("dialect '{}' has a name that is no identifier {}", dialect.name, kIdentifier);
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
  for (OpDef& def : dialect.ops) Add(std::move(def), *this);
  return absl::OkStatus();
}

absl::Status DeclareOp(OpDef def, Context& context) {
  ContextImpl& impl = ImplOf(context);
  Dialect dialect;
  dialect.name = def.name.substr(0, def.name.find('.'));
  const bool declared = impl.declared_dialects.contains(dialect.name);
  const OpInfo* known = context.FindOp(def.name);
  if (known != nullptr && declared && Same(known->def(), def)) return absl::OkStatus();
  const auto taken = [&](std::string_view why) {
    return absl::AlreadyExistsError(fmt::format("op '{}' {}", def.name, why));
  };
  if (known != nullptr) {
    return taken(declared ? "has another definition already (expected the same one, or a new name)"
                          : "is an operation of the library (expected a new name)");
  }
  if (context.HasDialect(dialect.name) && !declared) {
    return taken(
        fmt::format("is in the dialect '{}', which files cannot extend (expected a "
                    "dialect of your own)",
                    dialect.name));
  }
  TENON_RETURN_IF_ERROR(CheckDefinition(context, dialect, def));
  if (const OpInfo* other = context.FindOp(HashOpName(def.name)); other != nullptr)
    return taken(fmt::format("has the hash of '{}' (expected another name)", other->name()));
  {
    std::lock_guard<std::mutex> lock(impl.unregistered_mutex);
    if (impl.unregistered_by_name.find(def.name) != impl.unregistered_by_name.end())
      return taken("is in the program without a definition (load its definition first)");
  }
  impl.dialects.emplace(dialect.name, "Operations that files declare.");
  impl.declared_dialects.insert(std::move(dialect.name));
  Add(std::move(def), context);
  return absl::OkStatus();
}

bool IsDeclared(const OpInfo& op) {
  return op.is_registered() && ImplOf(op.context()).declared_dialects.contains(op.dialect());
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

void ContextImpl::ReleaseUnusedBlobs() {
  release_waits = false;
  std::erase_if(blob_attributes, [this](const AttributeStorage* s) {
    if (s->pinned.load() || s->blob_uses.load(std::memory_order_acquire) > 0) return false;
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
  for (const AttributeStorage* s : impl_->blob_attributes) {
    if (s->blob) total += s->blob->size();
    if (s->deferred && s->deferred->has_whole()) total += s->deferred->size();
  }
  return total;
}

size_t Context::op_bytes_in_use() const { return impl_->op_pool.bytes_in_use(); }

}  // namespace tenon
