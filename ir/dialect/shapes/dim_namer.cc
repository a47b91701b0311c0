#include <vector>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/shape_data.h"

namespace tenon {
namespace {

bool HasUnknownDim(Type type) {
  if (!type.is_tensor()) return false;
  for (DimExpr d : type.dims()) {
    if (d.is_unknown()) return true;
  }
  return false;
}

// The first model name in a location; empty if there is none.
std::string_view FirstName(const Context& context, Location location) {
  const LocationData& data = Resolve(context, location);
  if (data.kind == Location::Kind::kName) return data.text;
  for (Location part : data.parts) {
    if (std::string_view name = FirstName(context, part); !name.empty()) return name;
  }
  return {};
}

void CollectSymbols(Type type, std::set<std::string, std::less<>>& out) {
  if (!type || !type.is_tensor()) return;
  std::vector<std::string_view> symbols;
  for (DimExpr d : type.dims()) d.CollectSymbols(symbols);
  for (std::string_view s : symbols) out.emplace(s);
}

}  // namespace

void DimNamer::Scan() {
  if (scanned_) return;
  scanned_ = true;
  if (function_ == nullptr) return;
  function_->WalkPreOrder([&](Operation* op) {
    for (unsigned i = 0; i < op->num_results(); ++i) CollectSymbols(op->result(i).type(), used_);
    for (unsigned r = 0; r < op->num_regions(); ++r) {
      for (Block& block : op->region(r)) {
        for (unsigned i = 0; i < block.num_arguments(); ++i) {
          CollectSymbols(block.argument(i).type(), used_);
        }
      }
    }
    return true;
  });
}

bool DimNamer::NameUnknownDims(Value value, std::string_view prefix) {
  const Type type = value.type();
  if (!HasUnknownDim(type)) return false;
  Scan();
  std::vector<DimExpr> dims(type.dims().begin(), type.dims().end());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].is_unknown()) continue;
    std::string name = fmt::format("{}.d{}", prefix, i);
    for (int n = 2; !used_.insert(name).second; ++n) name = fmt::format("{}.d{}_{}", prefix, i, n);
    dims[i] = DimExpr::Symbol(type.context(), name);
  }
  value.set_type(Type::Tensor(type.context(), type.dtype(), dims));
  return true;
}

bool DimNamer::NameUnknownDims(Operation* op) {
  bool any = false;
  std::string prefix;
  for (unsigned i = 0; i < op->num_results(); ++i) {
    if (!HasUnknownDim(op->result(i).type())) continue;
    if (prefix.empty()) {
      prefix = FirstName(op->context(), op->location());
      if (prefix.empty())
        prefix = fmt::format("{}_{}", op->name(), ordinals_[std::string(op->name())]++);
    }
    any |= NameUnknownDims(op->result(i), i == 0 ? prefix : fmt::format("{}.r{}", prefix, i));
  }
  return any;
}

void NameUnknownDims(Operation* op, std::string_view prefix) {
  DimNamer namer(nullptr);
  for (unsigned i = 0; i < op->num_results(); ++i) {
    namer.NameUnknownDims(op->result(i),
                          i == 0 ? std::string(prefix) : fmt::format("{}.r{}", prefix, i));
  }
}

}  // namespace tenon
