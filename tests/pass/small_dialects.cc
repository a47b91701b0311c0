#include "tests/pass/small_dialects.h"

#include <initializer_list>
#include <vector>

#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

uint32_t Bits(std::initializer_list<Trait> traits) {
  uint32_t bits = 0;
  for (const Trait trait : traits) bits |= static_cast<uint32_t>(trait);
  return bits;
}

OpDef Op(std::string name, uint32_t traits) {
  OpDef def;
  def.name = std::move(name);
  def.summary = "for tests";
  def.traits = traits;
  return def;
}

AttrDef Optional(std::string name, AttrType type) {
  AttrDef def;
  def.name = std::move(name);
  def.type = type;
  def.required = false;
  return def;
}

class BodyPass : public Pass {
 public:
  explicit BodyPass(PassBody body) : body_(std::move(body)) {}
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    return body_(op, context);
  }

 private:
  PassBody body_;
};

}  // namespace

void RegisterSmallDialects(Context& context) {
  OpDef module = Op("builtin.module", Bits({Trait::kIsolatedFromAbove, Trait::kSymbolTable,
                                            Trait::kNoTerminator, Trait::kSingleBlock}));
  module.attrs = {Optional("sym_name", AttrType::kStr)};
  module.regions = {"body"};
  OpDef function = Op("func.func", Bits({Trait::kIsolatedFromAbove, Trait::kSymbol}));
  function.attrs = {Optional("sym_name", AttrType::kStr)};
  function.regions = {"body"};
  const OpDef end = Op("func.return", Bits({Trait::kTerminator}));
  OpDef op = Op("t.op", 0);
  op.attrs = {Optional("callee", AttrType::kSymbol), Optional("n", AttrType::kI64)};
  const auto add = [&](std::string name, std::vector<OpDef> ops) {
    Dialect dialect;
    dialect.name = std::move(name);
    dialect.summary = "for tests";
    dialect.ops = std::move(ops);
    TENON_CHECK(context.RegisterDialect(std::move(dialect)).ok());
  };
  add("builtin", {module});
  add("func", {function, end});
  add("t", {op});
}

std::string FunctionsText(int functions, int most) {
  std::string text;
  for (int i = 0; i < functions; ++i) {
    text += fmt::format("func.func() <{{sym_name = \"f{}\"}}> ({{\n", i);
    for (int n = 0; n <= i % most; ++n)
      text += fmt::format("  t.op() <{{n = {} : i64}}> : () -> ()\n", n);
    text += "  func.return() : () -> ()\n}) : () -> ()\n";
  }
  return text;
}

PassInfo PassOf(std::string name, std::string anchor, PassBody body) {
  PassInfo info;
  info.name = std::move(name);
  info.anchor = std::move(anchor);
  info.create = [body = std::move(body)](const PassOptionValues&) {
    return std::make_unique<BodyPass>(body);
  };
  return info;
}

void AddPass(PassRegistry& registry, std::string name, std::string anchor, PassBody body,
             const std::function<void(PassInfo&)>& adjust) {
  PassInfo info = PassOf(std::move(name), std::move(anchor), std::move(body));
  adjust(info);
  TENON_CHECK(registry.Register(std::move(info)).ok());
}

}  // namespace tenon
