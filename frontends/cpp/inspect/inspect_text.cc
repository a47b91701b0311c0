// An Inspection as text and as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "frontends/cpp/inspect/inspect.h"
#include "ir/base/shown_text.h"

namespace tenon {
namespace {

using OrderedJson = nlohmann::ordered_json;

// A number with a unit of thousands, and in full up to a million.
std::string Scaled(double number, std::string_view unit) {
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  if (number < 1e6 && unit.empty()) return fmt::format("{:.0f}", number);
  size_t prefix = 0;
  double scaled = number;
  while (scaled >= 1000 && prefix + 1 < std::size(kPrefixes)) scaled /= 1000, ++prefix;
  return prefix == 0 ? fmt::format("{:.0f}{}{}", number, unit.empty() ? "" : " ", unit)
                     : fmt::format("{:.2f} {}{}", scaled, kPrefixes[prefix], unit);
}

std::string AmountText(const Amount& amount, std::string_view unit) {
  std::string text;
  if (amount.expression.empty() || amount.number != 0) text = Scaled(amount.number, unit);
  if (!amount.expression.empty()) {
    if (!text.empty()) text += " + ";
    const std::string shown = ShownMessage(amount.expression);
    text += unit.empty() ? shown : fmt::format("({}) {}", shown, unit);
  }
  if (amount.uncounted > 0) text += fmt::format(" (without {} operations)", amount.uncounted);
  return text;
}

std::string TypeText(const InspectedValue& value) {
  if (!value.ranked) return ShownName(value.dtype);
  std::vector<std::string> dims;
  for (const std::string& dim : value.dims) dims.push_back(ShownName(dim));
  return fmt::format("{} [{}]", value.dtype, fmt::join(dims, ", "));
}

// Rows of a name, padded, and what follows it.
std::string Table(std::string_view title,
                  const std::vector<std::pair<std::string, std::string>>& rows) {
  if (rows.empty()) return "";
  size_t width = 0;
  for (const auto& [name, text] : rows) width = std::max(width, ShownName(name).size());
  std::string table = fmt::format("\n{}\n", title);
  for (const auto& [name, text] : rows)
    table += text.empty() ? fmt::format("  {}\n", ShownName(name))
                          : fmt::format("  {:<{}}  {}\n", ShownName(name), width, text);
  return table;
}

std::string DomainText(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

OrderedJson AmountJson(const Amount& amount) {
  return {{"number", amount.number},
          {"expression", amount.expression},
          {"uncounted_operations", amount.uncounted}};
}

OrderedJson ValuesJson(const std::vector<InspectedValue>& values) {
  OrderedJson json = OrderedJson::array();
  for (const InspectedValue& value : values) {
    OrderedJson dims = OrderedJson::array();
    for (const std::string& dim : value.dims) {
      const bool number = !dim.empty() && std::all_of(dim.begin(), dim.end(),
                                                      [](char c) { return c >= '0' && c <= '9'; });
      dims.push_back(number ? OrderedJson(std::stoll(dim)) : OrderedJson(dim));
    }
    json.push_back({{"name", value.name},
                    {"dtype", value.dtype},
                    {"shape", value.ranked ? dims : OrderedJson(nullptr)}});
  }
  return json;
}

}  // namespace

std::string InspectionText(const Inspection& inspection) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (!inspection.producer.empty()) rows.emplace_back("producer", ShownName(inspection.producer));
  if (inspection.ir_version != 0)
    rows.emplace_back("format", fmt::format("ONNX, IR version {}", inspection.ir_version));
  if (!inspection.opsets.empty()) {
    std::vector<std::string> opsets;
    for (const auto& [domain, version] : inspection.opsets)
      opsets.push_back(fmt::format("{} {}", ShownName(DomainText(domain)), version));
    rows.emplace_back("opsets", fmt::format("{}", fmt::join(opsets, ", ")));
  }
  rows.emplace_back(
      "parameters",
      fmt::format("{} in {} tensors, {}", Scaled(static_cast<double>(inspection.parameters), ""),
                  inspection.parameter_tensors,
                  Scaled(static_cast<double>(inspection.parameter_bytes), "B")));
  rows.emplace_back("FLOPs", AmountText(inspection.flops, ""));
  rows.emplace_back("bytes moved", AmountText(inspection.bytes, "B"));
  std::string text = Table("model", rows).substr(1);
  for (const bool outputs : {false, true}) {
    rows.clear();
    for (const InspectedValue& value : outputs ? inspection.outputs : inspection.inputs)
      rows.emplace_back(value.name, TypeText(value));
    text += Table(outputs ? "outputs" : "inputs", rows);
  }
  rows.clear();
  for (const auto& [key, value] : inspection.metadata) rows.emplace_back(key, ShownName(value));
  if (!inspection.description.empty())
    rows.emplace_back("doc_string", ShownName(inspection.description));
  text += Table("metadata", rows);
  rows.clear();
  for (const auto& [name, count] : inspection.operators)
    rows.emplace_back(name, fmt::format("{:>6}", count));
  text += Table("operators of the file", rows);
  rows.clear();
  for (const auto& [name, ops] : inspection.operations) {
    const Amount& flops = ops.flops;
    const bool counts = flops.number != 0 || !flops.expression.empty() || flops.uncounted > 0;
    rows.emplace_back(name,
                      fmt::format("{:>6}{}", ops.count,
                                  counts ? fmt::format("  {} FLOPs", AmountText(flops, "")) : ""));
  }
  text += Table("operations", rows);
  rows.clear();
  for (const UnsupportedOp& op : inspection.unsupported) {
    rows.emplace_back(op.op, fmt::format("{}{}{}", ShownName(op.node),
                                         op.reason.empty() ? "" : ": ", ShownMessage(op.reason)));
  }
  return text + Table("unsupported", rows);
}

std::string InspectionJson(const Inspection& inspection) {
  OrderedJson opsets = OrderedJson::object(), metadata = OrderedJson::object(),
              operations = OrderedJson::object();
  for (const auto& [domain, version] : inspection.opsets) opsets[DomainText(domain)] = version;
  for (const auto& [key, value] : inspection.metadata) metadata[key] = value;
  for (const auto& [name, ops] : inspection.operations)
    operations[name] = {{"count", ops.count}, {"flops", AmountJson(ops.flops)}};
  OrderedJson unsupported = OrderedJson::array();
  for (const UnsupportedOp& op : inspection.unsupported)
    unsupported.push_back({{"op", op.op}, {"node", op.node}, {"reason", op.reason}});
  OrderedJson operators = OrderedJson::object();
  for (const auto& [name, count] : inspection.operators) operators[name] = count;
  const OrderedJson json = {{"producer", inspection.producer},
                            {"ir_version", inspection.ir_version},
                            {"opsets", std::move(opsets)},
                            {"metadata", std::move(metadata)},
                            {"doc_string", inspection.description},
                            {"inputs", ValuesJson(inspection.inputs)},
                            {"outputs", ValuesJson(inspection.outputs)},
                            {"parameters",
                             {{"tensors", inspection.parameter_tensors},
                              {"elements", inspection.parameters},
                              {"bytes", inspection.parameter_bytes}}},
                            {"flops", AmountJson(inspection.flops)},
                            {"bytes_moved", AmountJson(inspection.bytes)},
                            {"operators", std::move(operators)},
                            {"operations", std::move(operations)},
                            {"unsupported", std::move(unsupported)}};
  return json.dump(2, ' ', true, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace tenon
