// The file of this code, and the folders of the dynamic loader.
#ifndef TENON_EXECUTOR_GPU_OWN_PATH_H_
#define TENON_EXECUTOR_GPU_OWN_PATH_H_

#include <string>
#include <vector>

namespace tenon {

// Returns the file of the program or library that contains `code`, as the kernel mapped it,
// whatever name the program was called by. Empty if the file is gone or the system does not tell.
std::string FileOfCode(const void* code);

// Folders from the environment and the binary.
struct LoaderFolders {
  std::vector<std::string> absolute;
  bool has_relative = false;  // an empty or relative entry, for example in LD_LIBRARY_PATH
};
// Returns the folders in which the dynamic loader looks for libraries, except those of its cache.
LoaderFolders FoldersOfLoader();

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_OWN_PATH_H_
