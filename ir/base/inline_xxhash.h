// xxHash, compiled into the file that includes this.
#ifndef TENON_IR_BASE_INLINE_XXHASH_H_
#define TENON_IR_BASE_INLINE_XXHASH_H_

#define XXH_INLINE_ALL
#include "xxhash.h"

#endif  // TENON_IR_BASE_INLINE_XXHASH_H_
