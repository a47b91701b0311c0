// The times of the passes of a run.
#ifndef TENON_PASS_PASS_TIMES_H_
#define TENON_PASS_PASS_TIMES_H_

#include <string>
#include <vector>

namespace tenon {

// Wall time of an entry of a pipeline, added up over all ops and threads.
struct PassTimes {
  std::string name;              // of a pass, or the anchor of a nested pipeline
  bool nested = false;           // it is a nested pipeline, or the whole one
  double seconds = 0;            // of the entry and all in it
  double verify_seconds = 0;     // of the verification behind it
  std::vector<PassTimes> parts;  // entries of a nested pipeline, in order
};

// What a program did around the passes, for its reports.
struct AroundPasses {
  double read_seconds = 0;   // reading and verifying the input
  double write_seconds = 0;  // printing and writing the result
};

// Returns a table of the times, nested like the pipeline. `times` is the whole pipeline. With
// `around`, the table has lines "(read)" and "(write)", and its total counts them.
std::string TimingReport(const PassTimes& times, const AroundPasses* around = nullptr);
// Returns the same as JSON: {"name", "seconds", "children": […]}, and "read_seconds" and
// "write_seconds" of `around`.
std::string TimingJson(const PassTimes& times, const AroundPasses* around = nullptr);

}  // namespace tenon

#endif  // TENON_PASS_PASS_TIMES_H_
