#include "ir/base/guarded_read.h"

#include "ir/base/check.h"

namespace tenon {
namespace {

// Of this thread: predicates run on many at once, and what they read knows of no rule.
int& Guards() {
  thread_local int guards = 0;
  return guards;
}

}  // namespace

ReadGuard::ReadGuard() { ++Guards(); }
ReadGuard::~ReadGuard() { --Guards(); }

void ReadFailed(const char* file, int line, const char* condition) {
  if (Guards() == 0) CheckFailed(file, line, condition);
  throw AbsentRead{condition};
}

}  // namespace tenon
