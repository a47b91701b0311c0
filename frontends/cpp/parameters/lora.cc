#include "frontends/cpp/parameters/lora.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "frontends/cpp/files/json_text.h"
#include "frontends/onnx/file/mapped_file.h"
#include "ir/base/check.h"
#include "ir/base/element_access.h"
#include "ir/base/shown_text.h"
#include "ir/base/suggest.h"

namespace tenon {
namespace {

using nlohmann::json;

constexpr std::string_view kPrefix = "base_model.model.";
constexpr size_t kMostSettings = size_t{1} << 20;  // bytes of a file of settings

bool IsWide(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

absl::Status Bad(const std::string& file, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", ShownName(file), what));
}

// What the file of settings says.
struct Settings {
  std::optional<double> alpha;
  bool root_of_rank = false;
  std::map<std::string, double, std::less<>> alphas;  // by the end of a module's name
};

absl::StatusOr<json> ReadJson(const std::string& path) {
  TENON_ASSIGN_OR_RETURN(const onnx::FileBytes file,
                         onnx::MapFile(path, static_cast<int64_t>(kMostSettings)));
  if (file.bytes.size() > kMostSettings) {
    return absl::ResourceExhaustedError(fmt::format("{}: {} bytes of settings (at most {})",
                                                    ShownName(path), file.bytes.size(),
                                                    kMostSettings));
  }
  constexpr int kDeepest = 16;
  const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  JsonMistake mistake;
  json settings = ReadJsonText(text, kDeepest, mistake);
  switch (mistake.kind) {
    case JsonMistake::Kind::kSyntax:
      return Bad(path, fmt::format("the settings are not JSON: line {}, column {}", mistake.line,
                                   mistake.column));
    case JsonMistake::Kind::kNumber:
      return Bad(path, "the settings have a number that no double holds");
    case JsonMistake::Kind::kTwice:
      return Bad(path, fmt::format("the settings have '{}' twice", ShownName(mistake.key)));
    case JsonMistake::Kind::kDepth:
    case JsonMistake::Kind::kNone:
      break;
  }
  if (!settings.is_object()) return Bad(path, "the settings are not an object of JSON");
  return settings;
}

// True if the entry says something, as `false`, `null`, 0 and empty lists do not.
bool IsSet(const json& settings, const char* name) {
  const auto found = settings.find(name);
  if (found == settings.end() || found->is_null()) return false;
  if (found->is_boolean()) return found->get<bool>();
  if (found->is_number()) return found->get<double>() != 0;
  return !found->empty();
}

absl::StatusOr<Settings> ReadSettings(const std::string& path) {
  TENON_ASSIGN_OR_RETURN(const json settings, ReadJson(path));
  const auto type = settings.find("peft_type");
  if (type != settings.end() && *type != "LORA") return Bad(path, "peft_type is not LORA");
  for (const char* other : {"use_dora", "lora_bias", "layer_replication", "use_qalora",
                            "trainable_token_indices", "target_parameters"}) {
    if (IsSet(settings, other)) {
      return absl::UnimplementedError(
          fmt::format("{}: adapters with {} are not supported", ShownName(path), other));
    }
  }
  if (const auto bias = settings.find("bias"); bias != settings.end() && *bias != "none") {
    return absl::UnimplementedError(
        fmt::format("{}: adapters with biases are not supported", ShownName(path)));
  }
  Settings made;
  made.root_of_rank = IsSet(settings, "use_rslora");
  if (const auto alpha = settings.find("lora_alpha"); alpha != settings.end()) {
    if (!alpha->is_number()) return Bad(path, "lora_alpha is not a number");
    made.alpha = alpha->get<double>();
  }
  const auto pattern = settings.find("alpha_pattern");
  if (pattern == settings.end() || pattern->is_null()) return made;
  if (!pattern->is_object()) return Bad(path, "alpha_pattern is not an object");
  for (const auto& [name, alpha] : pattern->items()) {
    if (!alpha.is_number()) return Bad(path, "alpha_pattern has a value that is not a number");
    // A dot is a character of any regular expression that is the name of a module.
    if (name.find_first_of("*+?()[]{}|^$\\") != std::string::npos) {
      return absl::UnimplementedError(
          fmt::format("{}: alpha_pattern has the expression '{}' (expected names of modules)",
                      ShownName(path), ShownName(name)));
    }
    made.alphas.emplace(name, alpha.get<double>());
  }
  return made;
}

// Is `name` the end of `whole`, behind a dot or as a whole?
bool IsEndOf(std::string_view name, std::string_view whole) {
  if (!whole.ends_with(name)) return false;
  return whole.size() == name.size() || whole[whole.size() - name.size() - 1] == '.';
}

double AlphaOf(const Settings& settings, const AdapterOptions& options, const std::string& module,
               double rank) {
  if (options.alpha) return *options.alpha;
  // Each end of the name, rather than each pattern: both files may be long. The first pattern by
  // name counts.
  auto first = settings.alphas.find(module);
  for (size_t dot = module.find('.'); dot != std::string::npos; dot = module.find('.', dot + 1)) {
    const auto found = settings.alphas.find(std::string_view(module).substr(dot + 1));
    if (first == settings.alphas.end() ||
        (found != settings.alphas.end() && found->first < first->first)) {
      first = found;
    }
  }
  return first != settings.alphas.end() ? first->second : settings.alpha.value_or(rank);
}

// Takes "encoder.lora_A.weight" or "encoder.lora_A.default.weight" apart: the module, and 'A' or
// 'B'. Nullopt for another name.
std::optional<std::pair<std::string, char>> PartOf(std::string_view name) {
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  for (const char part : {'A', 'B'}) {
    const std::string key = fmt::format(".lora_{}.", part);
    const size_t at = name.rfind(key);
    if (at == std::string_view::npos || at == 0) continue;
    const std::string_view rest = name.substr(at + key.size());
    const bool named = rest.ends_with(".weight") && rest.find('.') == rest.size() - 7;
    if (rest == "weight" || named) return std::pair(std::string(name.substr(0, at)), part);
  }
  return std::nullopt;
}

absl::Status CheckPair(const std::string& path, const LowRankUpdate& update) {
  const std::string module = ShownName(update.module);
  if (update.a.bytes == nullptr || update.b.bytes == nullptr) {
    return Bad(path, fmt::format("module '{}' has no lora_{}", module,
                                 update.a.bytes == nullptr ? 'A' : 'B'));
  }
  if (!IsWide(update.a.dtype) || !IsWide(update.b.dtype)) {
    return Bad(path, fmt::format("module '{}' has elements of {} and {} (expected f16, bf16, f32 "
                                 "or f64)",
                                 module, Name(update.a.dtype), Name(update.b.dtype)));
  }
  if (update.a.dims.size() > 2 && update.a.dims.size() == update.b.dims.size()) {
    return absl::UnimplementedError(
        fmt::format("{}: module '{}' is a convolution, whose adapters are not supported",
                    ShownName(path), module));
  }
  if (update.a.dims.size() != 2 || update.b.dims.size() != 2 ||
      update.a.dims[0] != update.b.dims[1] || update.a.dims[0] == 0) {
    return Bad(path,
               fmt::format("the matrices of module '{}' are [{}] and [{}] (expected [rank, "
                           "inputs] and [outputs, rank])",
                           module, fmt::join(update.a.dims, ", "), fmt::join(update.b.dims, ", ")));
  }
  if (!std::isfinite(update.scale))
    return Bad(path, fmt::format("the scale of module '{}' is not finite", module));
  return absl::OkStatus();
}

// The parameter that is the weight of a module.
absl::StatusOr<TensorSpec> WeightOf(const Program& program, const std::string& module,
                                    const ApplyOptions& options) {
  const auto given = options.weights.find(module);
  const std::string wanted =
      given != options.weights.end() ? given->second.parameter : module + ".weight";
  std::vector<std::string> names;
  std::vector<TensorSpec> ends;
  for (const TensorSpec& spec : program.parameters()) {
    if (spec.name == wanted) return spec;
    if (given == options.weights.end() && IsEndOf(wanted, spec.name)) ends.push_back(spec);
  }
  if (ends.size() == 1) return ends[0];
  if (ends.empty())
    for (const TensorSpec& spec : program.parameters()) names.push_back(spec.name);
  if (!ends.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("the weight of module '{}' may be '{}' or '{}' (ApplyOptions::weights says "
                    "which)",
                    ShownName(module), ShownName(ends[0].name), ShownName(ends[1].name)));
  }
  return absl::NotFoundError(fmt::format(
      "'{}' is no replaceable parameter of the program, and module '{}' of the adapter needs it{}",
      ShownName(wanted), ShownName(module), DidYouMean(wanted, names)));
}

absl::Status DoesNotFit(const std::string& name, const Tensor& weight,
                        const LowRankUpdate& update) {
  return absl::InvalidArgumentError(fmt::format(
      "parameter '{}' is {}, and module '{}' of the adapter has {} inputs and {} outputs",
      ShownName(name), weight.type_text(), ShownName(update.module), update.a.dims[1],
      update.b.dims[0]));
}

std::vector<double> Doubles(const SafeTensor& tensor) {
  const size_t size = SizeOf(tensor.dtype);
  const std::span<const std::byte> bytes = tensor.bytes->bytes();
  std::vector<double> values(bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = LoadAsDouble(tensor.dtype, bytes.data() + i * size);
  return values;
}

// Is the weight [inputs, outputs]?
absl::StatusOr<bool> IsTransposed(const TensorSpec& spec, const Tensor& weight,
                                  const LowRankUpdate& update, const ApplyOptions& options) {
  const int64_t inputs = update.a.dims[1], outputs = update.b.dims[0];
  const std::span<const int64_t> shape = weight.shape();
  const bool plain = shape.size() == 2 && shape[0] == outputs && shape[1] == inputs;
  const bool swapped = shape.size() == 2 && shape[0] == inputs && shape[1] == outputs;
  if ((!plain && !swapped) || !IsWide(weight.dtype())) return DoesNotFit(spec.name, weight, update);
  const auto given = options.weights.find(update.module);
  if (given != options.weights.end() && given->second.transposed) {
    const bool transposed = *given->second.transposed;
    if (!(transposed ? swapped : plain)) return DoesNotFit(spec.name, weight, update);
    return transposed;
  }
  if (!plain || !swapped) return swapped;
  if (spec.inputs_first) return *spec.inputs_first;
  return absl::InvalidArgumentError(fmt::format(
      "parameter '{0}' is a square, which does not tell whether it is [outputs, inputs] or "
      "[inputs, "
      "outputs], and nor do its readers (--adapter-weight={1}={0}^N says the first, ^T the second, "
      "as AdapterWeight::transposed does)",
      ShownName(spec.name), ShownName(update.module)));
}

absl::StatusOr<Tensor> Merged(const Tensor& weight, const LowRankUpdate& update, bool transposed) {
  TENON_ASSIGN_OR_RETURN(Tensor merged, Tensor::TryMake(weight.dtype(), weight.shape()));
  const auto rank = static_cast<size_t>(update.a.dims[0]);
  const auto inputs = static_cast<size_t>(update.a.dims[1]);
  const auto outputs = static_cast<size_t>(update.b.dims[0]);
  const std::vector<double> a = Doubles(update.a), b = Doubles(update.b);
  const size_t size = SizeOf(weight.dtype());
  std::vector<double> row(inputs);  // of B A
  for (size_t o = 0; o < outputs; ++o) {
    std::fill(row.begin(), row.end(), 0.0);
    for (size_t k = 0; k < rank; ++k) {
      const double factor = b[o * rank + k];
      for (size_t i = 0; i < inputs; ++i) row[i] += factor * a[k * inputs + i];
    }
    for (size_t i = 0; i < inputs; ++i) {
      const size_t at = (transposed ? i * outputs + o : o * inputs + i) * size;
      const double before = LoadAsDouble(weight.dtype(), weight.as<std::byte>() + at);
      StoreFromDouble(weight.dtype(), before + update.scale * row[i], merged.as<std::byte>() + at);
    }
  }
  return merged;
}

}  // namespace

absl::StatusOr<Adapter> ReadAdapter(const std::string& path, const AdapterOptions& options) {
  Settings settings;
  const bool given = !options.config.empty();
  const size_t slash = path.rfind('/');
  const std::string beside =
      (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + "adapter_config.json";
  // A link that leads nowhere is no absence: the scale would be another one in silence.
  std::error_code error;
  const bool absent = std::filesystem::symlink_status(beside, error).type() ==
                      std::filesystem::file_type::not_found;
  if (given || !absent) {
    TENON_ASSIGN_OR_RETURN(settings, ReadSettings(given ? options.config : beside));
  }
  TENON_ASSIGN_OR_RETURN(SafeTensors file, ReadSafeTensors(path, options.limits));
  std::map<std::string, LowRankUpdate> updates;
  for (SafeTensor& tensor : file.tensors) {
    const auto part = PartOf(tensor.name);
    if (!part) {
      return absl::UnimplementedError(fmt::format(
          "{}: tensor '{}' is no part of a low-rank update (expected names that end with "
          ".lora_A.weight or .lora_B.weight)",
          ShownName(path), ShownName(tensor.name)));
    }
    SafeTensor& place = part->second == 'A' ? updates[part->first].a : updates[part->first].b;
    if (place.bytes != nullptr) {
      return Bad(path, fmt::format("module '{}' has two matrices lora_{}", ShownName(part->first),
                                   part->second));
    }
    place = std::move(tensor);
  }
  Adapter adapter;
  for (auto& [module, update] : updates) {
    update.module = module;
    if (!update.a.dims.empty()) {
      const auto rank = static_cast<double>(std::max<int64_t>(update.a.dims[0], 1));
      update.scale = AlphaOf(settings, options, module, rank) /
                     (settings.root_of_rank ? std::sqrt(rank) : rank);
    }
    TENON_RETURN_IF_ERROR(CheckPair(path, update));
    adapter.updates.push_back(std::move(update));
  }
  if (adapter.updates.empty()) return Bad(path, "the adapter changes no weight");
  return adapter;
}

absl::StatusOr<std::vector<ParameterValue>> ApplyAdapter(Program& program, const Adapter& adapter,
                                                         const ApplyOptions& options) {
  for (const auto& [module, weight] : options.weights) {
    if (std::none_of(adapter.updates.begin(), adapter.updates.end(),
                     [&module = module](const LowRankUpdate& u) { return u.module == module; })) {
      std::vector<std::string> names;
      for (const LowRankUpdate& update : adapter.updates) names.push_back(update.module);
      return absl::NotFoundError(fmt::format("the adapter has no module '{}'{}", ShownName(module),
                                             DidYouMean(module, names)));
    }
  }
  std::vector<ParameterValue> before, after;
  for (const LowRankUpdate& update : adapter.updates) {
    TENON_ASSIGN_OR_RETURN(const TensorSpec spec, WeightOf(program, update.module, options));
    TENON_ASSIGN_OR_RETURN(const Tensor weight, program.Parameter(spec.name));
    TENON_ASSIGN_OR_RETURN(const bool transposed, IsTransposed(spec, weight, update, options));
    TENON_ASSIGN_OR_RETURN(Tensor merged, Merged(weight, update, transposed));
    before.push_back({spec.name, weight});
    after.push_back({spec.name, std::move(merged)});
  }
  TENON_RETURN_IF_ERROR(program.ReplaceParameters(after));
  return before;
}

}  // namespace tenon
