// Reports about a profile: text, JSON and trace files.
#ifndef TENON_EXECUTOR_PROFILE_PROFILE_REPORT_H_
#define TENON_EXECUTOR_PROFILE_PROFILE_REPORT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "executor/profile/profiler.h"

namespace tenon {

// Returns tables with at most `rows` rows each, the slowest first: by model node and kernel, by
// kernel, and by layer. If there are fallbacks (fallbacks.h), a table lists their reasons. Times
// are means per run.
std::string ProfileTable(const Profiler& profiler, size_t rows = 20);

// Returns the same without a limit as JSON, with every kernel call and its shapes.
std::string ProfileJson(const Profiler& profiler);

// Returns all runs in the Trace Event Format, which Perfetto and chrome://tracing read. It has a
// track of instructions, and one per thread for its shares of the work.
std::string ProfileTrace(const Profiler& profiler);

// Returns the layer of a node: its path up to the first part with a number. For example
// "/encoder/layer.3" for "/encoder/layer.3/attention/MatMul". Without such a part, all but the last
// part.
std::string_view LayerOf(std::string_view node);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PROFILE_PROFILE_REPORT_H_
