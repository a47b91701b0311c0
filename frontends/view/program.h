// A program as a picture shows it: operations, the values between them, and nested groups.
#ifndef TENON_FRONTENDS_VIEW_PROGRAM_H_
#define TENON_FRONTENDS_VIEW_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/core/operation.h"

namespace tenon::view {

// What became of an operation, or how it came about.
enum class Fate : uint8_t {
  kKept,       // is in both programs
  kFused,      // one operation stands for several
  kRewritten,  // another operation stands for it
  kFolded,     // only before: a constant stands for it
  kRemoved,    // only before: nothing stands for it
  kNew         // only after: it stands for no operation of the program before
};

// An operand: a value that the picture shows, or a constant, which is a text.
struct Input {
  int value = -1;          // by Program::values; -1: a constant
  std::string name{};      // of the operand group, such as "lhs"; may be empty
  std::string constant{};  // such as "constant tensor<4xf32>"
};

// An operation, or an argument of a function or region. Constants are not shown.
struct Op {
  std::string name;               // such as "ten.add"; "input" and "argument" for arguments
  std::string label;              // the part of its node name that its groups leave over
  std::string node;               // the first node of the model that it comes from; may be empty
  int group = 0;                  // that it belongs to
  int inner = -1;                 // the group of its regions; -1: it has none
  std::vector<Input> inputs;      // of all operand groups, in order
  std::vector<int> results;       // by Program::values
  std::string attributes;         // one a line, without defaults
  std::vector<std::string> from;  // all nodes or file positions that it comes from
  Fate fate = Fate::kKept;        // Compare sets it and what follows
  std::string rule{};             // that made it; empty: none did
  std::string place{};            // where the rule is defined
  std::string pass{};             // in which the rule ran
  double ms = -1;                 // in a profile; negative: unknown
  std::vector<int> misses{};      // near misses that involve it
};

// A result or argument.
struct Shown {
  std::string type;  // such as "f32[2,128]"
  int op = 0;        // that has it as a result
  int result = 0;    // its position there
};

// A part of the module hierarchy, a function, or the regions of an operation.
struct Group {
  std::string label;  // relative to its parent
  int parent = -1;    // of a smaller number; -1: the whole program
  int op = -1;        // the operation whose regions it shows; -1: none
};

// A whole program. Its texts are as they are in the model, not escaped.
struct Program {
  std::vector<Op> ops;              // in the order of the program
  std::vector<Shown> values;        // all results and arguments that are shown
  std::vector<Group> groups;        // the first is the whole program
  std::vector<std::string> folded;  // the nodes that constants come from
};

// Groups in each other, at most. Further parts of a name stay in the label.
inline constexpr int kMaxGroupDepth = 12;

// Reads a module. Operations are grouped by functions, regions, and the parts of their node names
// between slashes. A group of one member is a part of the label of this member.
Program ReadProgram(const Operation& module);

}  // namespace tenon::view

#endif  // TENON_FRONTENDS_VIEW_PROGRAM_H_
