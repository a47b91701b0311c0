// Decision trees in the form that cpu.tree_ensemble walks through.
//
// Numbers become integers in the same order, so that each test is whether such a key lies in an
// interval: one subtraction and one comparison without a sign. NaN is the largest key, and an
// interval that begins with it goes on at the least key. The two sides of a branch lie behind each
// other. A leaf leads to itself, so that rows of one tree take the same number of steps.
#ifndef TENON_KERNELS_CPU_TREE_RECORDS_H_
#define TENON_KERNELS_CPU_TREE_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "kernels/calls/tree_call.h"
#include "kernels/cpu/number_keys.h"

namespace tenon::kernels::cpu {

// A branch or a leaf. Places are bytes behind the first record.
template <typename T>
struct alignas(4 * sizeof(T)) TreeRecord {  // a power of 2: a step then has no jump
  using Key = KeyType<T>;
  using Span = std::make_unsigned_t<Key>;

  Key first = 0;         // the interval
  Span span = 0;         // its length less 1
  uint32_t feature = 0;  // bytes from the keys of the first feature that is used
  uint32_t yes = 0;      // the record of that side, with the other one behind it
};

// What a leaf adds: the weight of the only target, or some of the weights.
union TreeLeaf {
  double weight;
  struct {
    uint32_t first, count;
  } weights;
};

// Where the parts of packed trees lie, and their sizes.
struct TreeHeader {
  int64_t features;       // one more than the largest that is compared
  int64_t used_features;  // the number of them that are compared
  int64_t rows;           // of a block, whose keys lie feature by feature; a multiple of 64
  int64_t depth;          // of the deepest tree
  int64_t is_one_weight;  // each leaf has one weight, and there is one target
  int64_t is_valid;       // else the tables are wrong
};

// The layout of packed trees with so many branches, roots and weights. Records have room for tests
// of equality that NaN passes, which take two.
struct TreeLayout {
  TreeLayout(const TreeCall& call, int64_t record_bytes);

  std::string Name(int64_t num_targets) const;

  int64_t max_records;
  int64_t record_bytes;
  size_t roots_at;     // uint32_t[roots], places of records
  size_t depths_at;    // uint32_t[roots]
  size_t features_at;  // int64_t[branches], those that are compared
  size_t leaves_at;    // TreeLeaf[max_records]
  size_t targets_at;   // uint32_t[weights]
  size_t weights_at;   // double[weights]; a leaf has at most one for each target
  size_t records_at;   // TreeRecord[max_records]
  size_t bytes;
};

// Writes the trees of `call` to `packed`, which has layout.bytes bytes. T is float or double, as
// the splits are.
template <typename T>
void PackTrees(const TreeCall& call, int64_t num_targets, const TreeLayout& layout,
               std::byte* packed);

extern template void PackTrees<float>(const TreeCall&, int64_t, const TreeLayout&, std::byte*);
extern template void PackTrees<double>(const TreeCall&, int64_t, const TreeLayout&, std::byte*);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_TREE_RECORDS_H_
