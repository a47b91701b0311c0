// Reports after a run: times and counters of passes.
#ifndef TENON_PASS_PASS_REPORT_H_
#define TENON_PASS_PASS_REPORT_H_

#include <string>

#include "pass/pass_times.h"
#include "pass/pipeline.h"

namespace tenon {

// Returns the times of the last run. `total` is that of the whole run in seconds.
PassTimes TimesOf(const PassPipeline& pipeline, double total);
// Returns the counters of each pass that counted something.
std::string StatisticsReport(const PassPipeline& pipeline);
// Returns the same as JSON: {"passes": [{"name", "number", "statistics": {…}}, …]}. `number` is
// PipelineItem::number. With `rule_counts`, "rules" has them.
std::string StatisticsJson(const PassPipeline& pipeline,
                           const std::map<std::string, int64_t, std::less<>>* rule_counts);

}  // namespace tenon

#endif  // TENON_PASS_PASS_REPORT_H_
