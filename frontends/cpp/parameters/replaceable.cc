#include "frontends/cpp/parameters/replaceable.h"

#include <map>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "frontends/cpp/rules/rule_names.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/suggest.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/location.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/replaceable.h"

namespace tenon {
namespace {

// What has a name: a parameter, or constants.
struct Named {
  core::ParameterOp parameter;
  std::vector<core::ConstantOp> constants;
};

class Marker {
 public:
  Marker(Operation& module, const ConstantNames* read)
      : module_(module), read_(read), symbols_(&module) {
    for (Operation& op : module.region().front()) {
      if (const auto parameter = DynCast<core::ParameterOp>(&op))
        named_[std::string(parameter.sym_name())].parameter = parameter;
    }
    Collect(module);
  }

  absl::Status Choose(const std::string& name) {
    const bool pattern = IsGlob(name);
    bool found = false;
    for (const auto& [candidate, what] : named_) {
      if (!(pattern ? MatchesGlob(name, candidate) : name == candidate)) continue;
      const std::string why = WhyNot(candidate, what);
      if (!why.empty()) {
        if (pattern) continue;
        return absl::InvalidArgumentError(
            fmt::format("'{}' cannot be replaceable: {}", ShownName(name), why));
      }
      if (pattern && !what.parameter && what.constants[0].value().type().num_elements() < 2)
        continue;
      found = true;
      chosen_.insert(candidate);
    }
    if (found) return absl::OkStatus();
    std::vector<std::string> names;
    for (const auto& [candidate, what] : named_) names.push_back(candidate);
    // Hosts make such patterns of names that users know.
    if (const std::string end = name.substr(1); pattern && name[0] == '*' && !IsGlob(end)) {
      return absl::InvalidArgumentError(
          fmt::format("no parameter and no named constant that can be replaceable has a name that "
                      "ends with '{}'{}",
                      ShownName(end), DidYouMean(end, names)));
    }
    return absl::InvalidArgumentError(fmt::format(
        "'{}' {} no parameter and no named constant that can be replaceable{}", ShownName(name),
        pattern ? "matches" : "names", pattern ? "" : DidYouMean(name, names)));
  }

  absl::Status Mark() {
    Context& context = module_.context();
    OpBuilder builder = OpBuilder::AtStart(context, &module_.region().front());
    for (const std::string& name : chosen_) {
      Named& what = named_.find(name)->second;
      if (!what.parameter) {
        const Attribute value = what.constants[0].value();
        TENON_ASSIGN_OR_RETURN(
            what.parameter, core::ParameterOp::Create(
                                builder, what.constants[0]->location(),
                                {.sym_name = name, .type = value.type().dtype(), .value = value}));
      }
      what.parameter->SetAttr(kReplaceable, Attribute::Unit(context));
      for (const core::ConstantOp& constant : what.constants) {
        OpBuilder at = OpBuilder::Before(constant.op());
        const Type type = constant.out().type();
        TENON_ASSIGN_OR_RETURN(
            const core::GetParameterOp get,
            core::GetParameterOp::Create(at, constant->location(), {&type, 1}, {.name = name}));
        constant.out().ReplaceAllUsesWith(get.out());
        constant.op()->Erase();
      }
    }
    return absl::OkStatus();
  }

 private:
  // Modules inside have parameters of their own.
  void Collect(Operation& around) {
    for (unsigned r = 0; r < around.num_regions(); ++r) {
      for (Block& block : around.region(r)) {
        for (Operation& op : block) {
          if (op.Has(Trait::kSymbolTable)) continue;
          Collect(op);
          const auto constant = DynCast<core::ConstantOp>(&op);
          if (!constant || op.location().is_unknown()) continue;
          const LocationData& location = Resolve(op.context(), op.location());
          if (location.kind != Location::Kind::kName || location.text.empty()) continue;
          Named& named = named_[std::string(location.text)];
          // What has the name of a parameter was made of something else.
          if (!named.parameter) named.constants.push_back(constant);
        }
      }
    }
  }

  // Why its value cannot change; empty if it can.
  std::string WhyNot(const std::string& name, const Named& what) const {
    if (what.parameter) {
      return what.parameter.value() ? "" : "the parameter has no value (--params gives values)";
    }
    if (read_ != nullptr && read_->contains(name))
      return "the importer has read its elements, and what it made of them would stay";
    const Attribute value = what.constants[0].value();
    for (const core::ConstantOp& constant : what.constants) {
      if (constant.value() != value) return "several constants of other values have the name";
    }
    const DType dtype = value.type().dtype();
    if (value.kind() != Attribute::Kind::kElements ||
        (dtype != DType::kF16 && dtype != DType::kBF16 && dtype != DType::kF32 &&
         dtype != DType::kF64)) {
      return fmt::format("it is a {} (expected elements of f16, bf16, f32 or f64)",
                         value.type().text());
    }
    // A path separates symbols by it.
    if (symbols_.Lookup(name) != nullptr || name.find("::@") != std::string::npos)
      return "the name cannot be that of a parameter";
    return "";
  }

  Operation& module_;
  const ConstantNames* const read_;
  const SymbolTable symbols_;
  std::map<std::string, Named, std::less<>> named_;
  ConstantNames chosen_;
};

}  // namespace

absl::Status MarkReplaceable(Operation& module, std::span<const std::string> names,
                             const ConstantNames* read) {
  if (names.empty()) return absl::OkStatus();
  Marker marker(module, read);
  for (const std::string& name : names) TENON_RETURN_IF_ERROR(marker.Choose(name));
  return marker.Mark();
}

}  // namespace tenon
