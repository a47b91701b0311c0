#include "ir/core/context/release_unused.h"

#include <vector>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/operation.h"
#include "ir/core/walk.h"

namespace tenon {
namespace {

// What the pool has given for `op`. Erased operands keep their place, so that the slots say where
// the operands end.
size_t BytesOf(const Operation& op) {
  const auto* const operands = reinterpret_cast<const std::byte*>(&op + 1);
  const auto* const slots = reinterpret_cast<const std::byte*>(op.slots().data());
  return Operation::AllocationSize(static_cast<unsigned>((slots - operands) / sizeof(OpOperand)),
                                   op.num_results(), op.num_slots(), op.num_successors(),
                                   op.num_regions());
}

// Marks storages and what they consist of. Attributes and types may nest deep, so that those whose
// contents are not marked yet wait in lists.
class Marker {
 public:
  explicit Marker(ContextImpl& impl) : impl_(impl), locations_(impl.locations.size()) {}

  void Mark(DimExpr dim) {
    if (dim && NewMark(*dim.storage())) dims_.push_back(dim.storage());
  }
  void Mark(Type type) {
    if (type && NewMark(*type.storage())) types_.push_back(type.storage());
  }
  void Mark(Attribute attribute) {
    if (attribute && NewMark(*attribute.storage())) attributes_.push_back(attribute.storage());
  }
  void Mark(Location location) { impl_.locations.Mark(location, locations_); }

  void Mark(Operation& op) {
    Mark(op.location());
    for (unsigned i = 0; i < op.num_results(); ++i) Mark(op.result(i).type());
    for (const Attribute slot : op.slots()) Mark(slot);
    Mark(op.discardable_attrs());
    for (unsigned r = 0; r < op.num_regions(); ++r) {
      for (Block& block : op.region(r)) {
        for (unsigned i = 0; i < block.num_arguments(); ++i) {
          Mark(block.argument(i).type());
          Mark(block.argument(i).location());
        }
      }
    }
  }

  void Mark(const OpInfo& info) {
    for (int i = 0; i < info.num_slots(); ++i) Mark(info.default_value(i));
  }

  // What the Context itself names.
  void MarkContext() {
    for (const OpInfo& info : impl_.op_infos) Mark(info);
    for (const auto& info : impl_.unregistered_infos) Mark(*info);
    for (const DialectDefs* defs : {&impl_.dialect_types, &impl_.dialect_attributes}) {
      for (const auto& [name, def] : *defs) {
        for (const Attribute value : def.defaults) Mark(value);
      }
    }
    for (const Attribute value : {impl_.true_attr, impl_.false_attr, impl_.unit_attr}) Mark(value);
    Mark(impl_.unknown_dim);
    for (const DimExpr dim : impl_.small_dims) Mark(dim);
    for (const Type type : impl_.scalars) Mark(type);
    const std::lock_guard<std::mutex> lock(impl_.roots_mutex);
    for (const auto& weak : impl_.roots) {
      const std::shared_ptr<const InternedRoots::Handles> roots = weak.lock();
      if (roots == nullptr) continue;
      const std::lock_guard<std::mutex> handles_lock(roots->mutex);
      for (const Type type : roots->types) Mark(type);
      for (const Attribute attribute : roots->attributes) Mark(attribute);
      for (const DimExpr dim : roots->dims) Mark(dim);
      for (const Location location : roots->locations) Mark(location);
    }
  }

  // Marks what the marked ones consist of.
  void Finish() {
    while (!attributes_.empty() || !types_.empty() || !dims_.empty()) {
      while (!attributes_.empty()) MarkInside(*Pop(attributes_));
      while (!types_.empty()) MarkInside(*Pop(types_));
      while (!dims_.empty()) MarkInside(*Pop(dims_));
    }
  }

  const std::vector<bool>& locations() const { return locations_; }

 private:
  template <typename Storage>
  static bool NewMark(const Storage& storage) {
    if (storage.mark) return false;
    storage.mark = true;
    return true;
  }
  template <typename Storage>
  static const Storage* Pop(std::vector<const Storage*>& list) {
    const Storage* const last = list.back();
    list.pop_back();
    return last;
  }

  void MarkInside(const AttributeStorage& storage) {
    Mark(storage.type);
    switch (storage.kind) {
      case Attribute::Kind::kArray:
        for (const Attribute a : storage.list<Attribute>()) Mark(a);
        break;
      case Attribute::Kind::kDictionary:
        for (const NamedAttribute& e : storage.list<NamedAttribute>()) Mark(e.value);
        break;
      case Attribute::Kind::kDims:
        for (const DimExpr d : storage.list<DimExpr>()) Mark(d);
        break;
      case Attribute::Kind::kOpaque:
        MarkParameters(&storage);
        break;
      default:
        break;
    }
  }
  void MarkInside(const TypeStorage& storage) {
    if (storage.kind == Type::Kind::kTensor) {
      for (const DimExpr d : storage.dims()) Mark(d);
    }
    for (const Type t : storage.inputs()) Mark(t);
    for (const Type t : storage.results()) Mark(t);
    if (storage.kind == Type::Kind::kOpaque) MarkParameters(&storage);
  }
  void MarkInside(const DimExprStorage& storage) {
    for (const DimTerm& term : storage.terms) {
      for (const DimExpr factor : term.factors) Mark(factor);
    }
    Mark(storage.a);
    Mark(storage.b);
  }
  void MarkParameters(const void* storage) {
    const auto found = impl_.dialect_instances.find(storage);
    if (found == impl_.dialect_instances.end()) return;
    for (const Attribute a : found->second.parameters) Mark(a);
  }

  ContextImpl& impl_;
  std::vector<bool> locations_;
  std::vector<const AttributeStorage*> attributes_;
  std::vector<const TypeStorage*> types_;
  std::vector<const DimExprStorage*> dims_;
};

}  // namespace

absl::StatusOr<ReleasedCounts> ReleaseUnused(Context& context,
                                             std::span<Operation* const> modules) {
  ContextImpl& impl = ImplOf(context);
  size_t bytes = 0;
  for (Operation* const module : modules) {
    WalkOps(module, [&](Operation* op) {
      bytes += BytesOf(*op);
      return WalkResult::kAdvance;
    });
  }
  if (const size_t all = context.op_bytes_in_use(); bytes != all) {
    return absl::FailedPreconditionError(
        fmt::format("the modules have {} bytes of operations, the Context {}: name all of its "
                    "modules, each once",
                    bytes, all));
  }
  const std::lock_guard<std::mutex> lock(impl.blob_mutex);
  if (!impl.blob_keepers.empty()) {
    return absl::FailedPreconditionError(
        "a parser, an importer or a run of passes is at work in the Context");
  }
  Marker marker(impl);
  marker.MarkContext();
  for (Operation* const module : modules) {
    WalkOps(module, [&](Operation* op) {
      marker.Mark(*op);
      return WalkResult::kAdvance;
    });
  }
  marker.Finish();
  // What lies beside storages goes with them.
  std::erase_if(impl.blob_attributes, [](const LargeElementsStorage* s) { return !s->mark; });
  ReleasedCounts released;
  released.attributes = impl.attributes.Sweep([&](const AttributeStorage& s) {
    if (s.is_large) impl.ranges.erase(&s);
    if (s.kind == Attribute::Kind::kOpaque) impl.dialect_instances.erase(&s);
  });
  released.types = impl.types.Sweep([&](const TypeStorage& s) {
    if (s.kind == Type::Kind::kOpaque) impl.dialect_instances.erase(&s);
  });
  released.dims = impl.dim_exprs.Sweep([](const DimExprStorage&) {});
  released.locations = impl.locations.Sweep(marker.locations());
  return released;
}

size_t InternedBytes(const Context& context) {
  ContextImpl& impl = ImplOf(context);
  return impl.types.reserved_bytes() + impl.attributes.reserved_bytes() +
         impl.dim_exprs.reserved_bytes() + impl.locations.reserved_bytes();
}

}  // namespace tenon
