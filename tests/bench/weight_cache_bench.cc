// What a start of a model costs: with its weights to pack, and with them mapped from the cache.
//
//   weight_cache_bench MODEL FOLDER [NAME=SIZE ...] [--rounds N]
//
// FOLDER: for the cache; what is there already is used. Sizes are of the model's named dimensions.
// A start is what follows the optimisation of the model, in turns with and without the cache:
// making the program, and preparing a session for the input's shapes. The first run is timed apart,
// because it touches the mapped pages for the first time.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"

namespace {

using Clock = std::chrono::steady_clock;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Start {
  double compile_ms = 0, prepare_ms = 0, first_run_ms = 0, later_run_ms = 0;
  tenon::PackedWeights::Stats stats;
};

double Lap(Clock::time_point& since) {
  const auto now = Clock::now();
  const double ms = std::chrono::duration<double, std::milli>(now - since).count();
  since = now;
  return ms;
}

absl::StatusOr<Start> Measure(const tenon::Model& model, const std::vector<tenon::Tensor>& inputs,
                              const std::string& folder) {
  std::vector<tenon::kernels::TensorView> views;
  for (const tenon::Tensor& input : inputs) views.push_back(input.view());
  Start result;
  auto time = Clock::now();
  tenon::PackedWeights::Options options;
  options.files = model.files();
  options.cache_folder = folder;
  options.warn = [](const std::string& message) { fmt::print(stderr, "{}\n", message); };
  const auto weights = std::make_shared<tenon::PackedWeights>(std::move(options));
  absl::StatusOr<tenon::Program> program =
      tenon::Compile(model, {.threads = 1, .weights = weights});
  if (!program.ok()) return program.status();
  result.compile_ms = Lap(time);
  tenon::Session session = program->NewSession();
  if (absl::Status status = session.OutputShapes(views).status(); !status.ok()) return status;
  result.prepare_ms = Lap(time);
  for (double* ms : {&result.first_run_ms, &result.later_run_ms}) {
    if (absl::Status status = session.Run(inputs).status(); !status.ok()) return status;
    *ms = Lap(time);
  }
  result.stats = weights->stats();
  return result;
}

absl::Status Main(const std::vector<std::string_view>& args) {
  std::map<std::string, int64_t> sizes;
  int64_t rounds = 5;
  for (size_t i = 2; i < args.size(); ++i) {
    const size_t equals = args[i].find('=');
    const bool is_rounds = args[i] == "--rounds" && i + 1 < args.size();
    const std::string_view number = is_rounds ? args[++i] : args[i].substr(equals + 1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size() || value < 1 ||
        (!is_rounds && equals == std::string_view::npos))
      return absl::InvalidArgumentError(fmt::format("'{}' was not expected", args[i]));
    (is_rounds ? rounds : sizes[std::string(args[i].substr(0, equals))]) = value;
  }
  absl::StatusOr<tenon::Model> model = tenon::Load(std::string(args[0]));
  if (!model.ok()) return model.status();
  absl::StatusOr<tenon::Sample> sample = tenon::SampleInputs(model->main(), 0, sizes);
  if (!sample.ok()) return sample.status();
  if (absl::Status status = tenon::Optimize(*model); !status.ok()) return status;
  const std::string folder(args[1]);
  const absl::StatusOr<Start> first = Measure(*model, sample->inputs, folder);
  if (!first.ok()) return first.status();
  fmt::print("first start with the cache: {:.1f} ms, {} packed, {} from disk\n",
             first->compile_ms + first->prepare_ms, first->stats.packed, first->stats.from_disk);
  std::vector<double> packs, maps, ratios, first_packs, first_maps, later_packs, later_maps;
  for (int64_t round = 0; round < rounds; ++round) {
    const absl::StatusOr<Start> pack = Measure(*model, sample->inputs, "");
    const absl::StatusOr<Start> map = Measure(*model, sample->inputs, folder);
    if (!pack.ok()) return pack.status();
    if (!map.ok()) return map.status();
    packs.push_back(pack->compile_ms + pack->prepare_ms);
    maps.push_back(map->compile_ms + map->prepare_ms);
    ratios.push_back(packs.back() / maps.back());
    first_packs.push_back(pack->first_run_ms);
    first_maps.push_back(map->first_run_ms);
    later_packs.push_back(pack->later_run_ms);
    later_maps.push_back(map->later_run_ms);
    if (round > 0) continue;
    fmt::print("packed {} ({:.1f} MB); mapped {} ({:.1f} MB)\n", pack->stats.packed,
               static_cast<double>(pack->stats.packed_bytes) / 1e6, map->stats.from_disk,
               static_cast<double>(map->stats.from_disk_bytes) / 1e6);
  }
  fmt::print("start       pack {:8.2f} ms   map {:8.2f} ms   ratio {:.1f}\n", Median(packs),
             Median(maps), Median(ratios));
  fmt::print("first run        {:8.2f} ms       {:8.2f} ms\n", Median(first_packs),
             Median(first_maps));
  fmt::print("second run       {:8.2f} ms       {:8.2f} ms\n", Median(later_packs),
             Median(later_maps));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + 1, argv + argc);
  const absl::Status status =
      args.size() < 2 ? absl::InvalidArgumentError("expected MODEL FOLDER [NAME=SIZE ...]")
                      : Main(args);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", std::string(status.message()));
  return 1;
}
