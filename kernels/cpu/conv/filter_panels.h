// The filters of a convolution in panels of two vectors, as the loops of tile.h read them.
#ifndef TENON_KERNELS_CPU_CONV_FILTER_PANELS_H_
#define TENON_KERNELS_CPU_CONV_FILTER_PANELS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::kernels::cpu {

// The panels of some filters. The last panel is narrow, of one vector, if that is enough.
struct FilterPanels {
  int64_t filters = 0, channels = 0, lanes = 0;  // lanes: floats of a vector
  int64_t count = 0;                             // panels
  bool has_narrow = false;                       // the last one is narrow

  // Returns the panels of so many filters.
  static FilterPanels Of(int64_t filters, int64_t channels, int64_t lanes);

  // True if the panel has one vector.
  bool IsNarrow(int64_t panel) const { return has_narrow && panel == count - 1; }
  // The columns of a panel.
  int64_t ColumnsOf(int64_t panel) const { return IsNarrow(panel) ? lanes : 2 * lanes; }
  // The first column of a panel.
  int64_t FirstOf(int64_t panel) const { return panel * 2 * lanes; }
  int64_t Columns() const { return (2 * count - (has_narrow ? 1 : 0)) * lanes; }  // of all panels
  // Returns the layout for PrepareArgs::Pack. `method` names the kernel.
  std::string Layout(std::string_view method) const;
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_FILTER_PANELS_H_
