// The version of Tenon, for code that must compile with several. CMake reads it from here.
#ifndef TENON_FRONTENDS_CPP_VERSION_H_
#define TENON_FRONTENDS_CPP_VERSION_H_

// Changes with every incompatible release, from 1 on.
#define TENON_VERSION_MAJOR 0
// docs/compatibility.md says what may change with it.
#define TENON_VERSION_MINOR 2
// Changes with releases that only mend.
#define TENON_VERSION_PATCH 0
// All three as text.
#define TENON_VERSION "0.2.0"

#endif  // TENON_FRONTENDS_CPP_VERSION_H_
