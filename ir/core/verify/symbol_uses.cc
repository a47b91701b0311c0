#include "ir/core/verify/symbol_uses.h"

#include "ir/core/block.h"
#include "ir/core/verify/symbol_table.h"

namespace tenon {
namespace {

void VisitAttribute(Attribute attribute, const std::function<void(std::string_view path)>& visit) {
  if (!attribute) return;
  switch (attribute.kind()) {
    case Attribute::Kind::kSymbolRef:
      return visit(attribute.str());
    case Attribute::Kind::kArray:
      for (Attribute element : attribute.elements()) VisitAttribute(element, visit);
      return;
    case Attribute::Kind::kDictionary:
      for (const NamedAttribute& entry : attribute.entries()) VisitAttribute(entry.value, visit);
      return;
    default:
      return;
  }
}

}  // namespace

void ForEachSymbolRef(const Operation& op,
                      const std::function<void(std::string_view path)>& visit) {
  for (Attribute slot : op.slots()) VisitAttribute(slot, visit);
  VisitAttribute(op.discardable_attrs(), visit);
}

std::vector<Operation*> SymbolsOnPath(const Operation& from, std::string_view path) {
  std::vector<Operation*> found;
  Operation* table = NearestSymbolTable(from);
  while (table != nullptr) {
    const size_t end = path.find("::@");
    Operation* const symbol = LookupSymbol(table, path.substr(0, end));
    if (symbol == nullptr) break;
    found.push_back(symbol);
    if (end == std::string_view::npos) break;
    path.remove_prefix(end + 3);
    table = symbol;
  }
  return found;
}

std::vector<Operation*> SymbolUsers(Operation& root, const Operation& symbol) {
  std::vector<Operation*> users;
  root.WalkPreOrder([&](Operation* op) {
    bool uses = false;
    ForEachSymbolRef(*op, [&](std::string_view path) {
      for (const Operation* found : SymbolsOnPath(*op, path)) uses |= found == &symbol;
    });
    if (uses) users.push_back(op);
    return true;
  });
  return users;
}

bool IsPublicSymbol(const Operation& symbol) {
  const Attribute visibility = symbol.attr("sym_visibility");
  if (!visibility || visibility.kind() != Attribute::Kind::kString) return true;
  return visibility.str() != "private" && visibility.str() != "nested";
}

}  // namespace tenon
