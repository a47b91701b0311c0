// The version of Tenon, for code that must compile with several. CMake reads it from here.
#ifndef TENON_FRONTENDS_API_VERSION_H_
#define TENON_FRONTENDS_API_VERSION_H_

#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0
#define TENON_VERSION "0.1.0"

#endif  // TENON_FRONTENDS_API_VERSION_H_
