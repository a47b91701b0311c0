// Reports after a run: where the time went, and what passes counted.
#ifndef TENON_PASS_PASS_REPORT_H_
#define TENON_PASS_PASS_REPORT_H_

#include <string>

#include "pass/pipeline.h"

namespace tenon {

// A table of wall time per pass, nested as the pipeline is; `total` seconds for the whole run.
std::string TimingReport(const PassPipeline& pipeline, double total);
// The same as JSON: {"name", "seconds", "children": […]}.
std::string TimingJson(const PassPipeline& pipeline, double total);
// Counters of every pass that counted something.
std::string StatisticsReport(const PassPipeline& pipeline);

}  // namespace tenon

#endif  // TENON_PASS_PASS_REPORT_H_
