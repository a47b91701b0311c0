// What a profiler has recorded, as text, as JSON and for trace viewers.
#ifndef TENON_EXECUTOR_PROFILE_REPORT_H_
#define TENON_EXECUTOR_PROFILE_REPORT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "executor/profiler.h"

namespace tenon {

// Three tables, each with at most `rows` rows, those that took longest: by model node (and kernel),
// by kernel, by layer; and a fourth where there are fallbacks (fallbacks.h), with the reasons.
// Times are of one run, the mean of all.
std::string ProfileTable(const Profiler& profiler, size_t rows = 20);

// The same without a limit, and every kernel run with its shapes.
std::string ProfileJson(const Profiler& profiler);

// All runs in the Trace Event Format, which Perfetto and chrome://tracing open: a track of the
// instructions and one of the shares of work for each thread.
std::string ProfileTrace(const Profiler& profiler);

// The part of a model that a node belongs to: its path up to the first name that has a number, for
// "/encoder/layer.3/attention/MatMul" "/encoder/layer.3". Without such a name: all but the last.
std::string_view LayerOf(std::string_view node);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PROFILE_REPORT_H_
