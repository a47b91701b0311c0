// Reports after a run: times and counters of passes.
#ifndef TENON_PASS_PASS_REPORT_H_
#define TENON_PASS_PASS_REPORT_H_

#include <string>

#include "pass/pipeline.h"

namespace tenon {

// Returns a table of wall time per pass, nested like the pipeline. `total` is the time of the whole
// run in seconds.
std::string TimingReport(const PassPipeline& pipeline, double total);
// Returns the same as JSON: {"name", "seconds", "children": […]}.
std::string TimingJson(const PassPipeline& pipeline, double total);
// Returns the counters of each pass that counted something.
std::string StatisticsReport(const PassPipeline& pipeline);

}  // namespace tenon

#endif  // TENON_PASS_PASS_REPORT_H_
