// Where the code of this process comes from, and where the loader looks for more.
#ifndef TENON_EXECUTOR_GPU_OWN_PATH_H_
#define TENON_EXECUTOR_GPU_OWN_PATH_H_

#include <string>
#include <vector>

namespace tenon {

// The file of the program or library that holds `code`, as the kernel mapped it. The name by which
// the program was called plays no part. Empty if the file is gone or the system does not tell.
std::string FileOfCode(const void* code);

struct LoaderFolders {
  std::vector<std::string> absolute;
  bool has_relative = false;  // an empty or relative entry, of LD_LIBRARY_PATH for instance
};
// The folders in which the dynamic loader looks for libraries, without those of its cache.
LoaderFolders FoldersOfLoader();

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_OWN_PATH_H_
