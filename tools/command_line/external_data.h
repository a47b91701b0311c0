// Options of all programs that say where the weights of a model lie.
#ifndef TENON_TOOLS_COMMAND_LINE_EXTERNAL_DATA_H_
#define TENON_TOOLS_COMMAND_LINE_EXTERNAL_DATA_H_

#include <string>
#include <vector>

#include "frontends/cpp/tenon.h"
#include "tools/command_line/option_table.h"

namespace tenon::tools {

// What a program was given. Its options hold it in a field `external_data`.
struct ExternalDataOptions {
  std::string folder;                   // --external-data; empty: that of the model
  bool links = false;                   // --external-data-links
  std::vector<std::string> parameters;  // --params
};

// The row of --external-data.
template <typename Options>
constexpr Option<Options> ExternalDataRow() {
  return {{"external-data", "", Takes::kValue, "DIR",
           "folder of a model's external data (default: that of the model)", Times::kOnce, true},
          [](Options& o, const Given& g) { return Set(o.external_data.folder, g.value); }};
}
// The row of --external-data-links.
template <typename Options>
constexpr Option<Options> ExternalDataLinksRow() {
  return {
      {"external-data-links", "", Takes::kFlag, "",
       "accept links as external data, also out of that folder (default: off)", Times::kOnce, true},
      [](Options& o, const Given& g) { return Set(o.external_data.links, g.on); }};
}

// The row of --params.
template <typename Options>
constexpr Option<Options> ParamsRow() {
  return {{"params", "", Takes::kInput, "FILE",
           "values of parameters and named weights, as safetensors; repeatable", Times::kAny, true},
          [](Options& o, const Given& g) {
            o.external_data.parameters.emplace_back(g.value);
            return absl::OkStatus();
          }};
}

// Hands them to Load.
inline void SetExternalData(const ExternalDataOptions& given, LoadOptions& load) {
  load.external_data_root = given.folder;
  load.allow_external_data_links = given.links;
  load.parameter_files = given.parameters;
}

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_EXTERNAL_DATA_H_
