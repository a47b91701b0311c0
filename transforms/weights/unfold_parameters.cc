// unfold-parameters: named constants become parameters of the module.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/location.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/core_ops.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

class UnfoldParameters : public Pass {
 public:
  explicit UnfoldParameters(int64_t least) : least_(least) {}

  absl::StatusOr<PassResult> Run(Operation* module, PassContext& context) override {
    std::vector<Operation*> constants;
    Collect(module, constants);
    if (constants.empty()) return PassResult();
    const SymbolTable symbols(module);
    std::map<std::string, Attribute, std::less<>> made;
    OpBuilder builder = OpBuilder::AtStart(module->context(), &module->region().front());
    for (Operation* op : constants) {
      const Attribute value = Cast<core::ConstantOp>(op).value();
      const std::string wanted(Resolve(op->context(), op->location()).text);
      // Of constants with one name and different values, each gets a name of its own.
      std::string name = wanted;
      for (int i = 1; Taken(symbols, made, name, value); ++i)
        name = fmt::format("{}_{}", wanted, i);
      if (made.emplace(name, value).second) {
        const auto parameter = core::ParameterOp::Create(
            builder, op->location(),
            {.sym_name = name, .type = value.type().dtype(), .value = value});
        if (!parameter.ok()) return parameter.status();
        context.statistics->Add("parameters", 1);
      }
      OpBuilder at = OpBuilder::Before(op);
      const Type type = op->result().type();
      const auto get = core::GetParameterOp::Create(at, op->location(), {&type, 1}, {.name = name});
      if (!get.ok()) return get.status();
      op->result().ReplaceAllUsesWith(get->out());
      op->Erase();
    }
    return PassResult{true};
  }

 private:
  // Constants of floats that carry a name. Modules inside have parameters of their own.
  void Collect(Operation* around, std::vector<Operation*>& constants) const {
    for (unsigned r = 0; r < around->num_regions(); ++r) {
      for (Block& block : around->region(r)) {
        for (Operation& op : block) {
          if (op.Has(Trait::kSymbolTable)) continue;
          Collect(&op, constants);
          if (!Isa<core::ConstantOp>(op) || op.location().is_unknown()) continue;
          const Attribute value = Cast<core::ConstantOp>(&op).value();
          const LocationData& location = Resolve(op.context(), op.location());
          if (location.kind == Location::Kind::kName && !location.text.empty() &&
              value.kind() == Attribute::Kind::kElements && IsFloat(value.type().dtype()) &&
              value.type().num_elements() >= least_) {
            constants.push_back(&op);
          }
        }
      }
    }
  }

  static bool Taken(const SymbolTable& symbols,
                    const std::map<std::string, Attribute, std::less<>>& made,
                    const std::string& name, Attribute value) {
    if (const auto found = made.find(name); found != made.end()) return found->second != value;
    // A path separates symbols by it.
    return symbols.Lookup(name) != nullptr || name.find("::@") != std::string::npos;
  }

  const int64_t least_;
};

}  // namespace

PassInfo UnfoldParametersPassInfo() {
  PassInfo info;
  info.anchor = "builtin.module";
  info.statistics = {{"parameters", "constants that became parameters"}};
  info.options = {{.name = "min-elements",
                   .type = PassOption::Type::kCount,
                   .default_text = "2",
                   .help = "fewer elements stay a constant"}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<UnfoldParameters>(values.GetInt("min-elements"));
  };
  return info;
}

}  // namespace tenon
