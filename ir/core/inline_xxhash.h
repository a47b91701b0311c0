// xxHash, compiled into the file that includes this.
#ifndef TENON_IR_CORE_INLINE_XXHASH_H_
#define TENON_IR_CORE_INLINE_XXHASH_H_

#define XXH_INLINE_ALL
// GCC at -Og, with which sanitized tests are compiled, refuses the inlining that xxHash demands.
#ifdef __SANITIZE_ADDRESS__
#define XXH_NO_INLINE_HINTS 1
#endif
#include "xxhash.h"

#endif  // TENON_IR_CORE_INLINE_XXHASH_H_
