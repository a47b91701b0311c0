// Which axis of a weight is that of the inputs, as its readers show.
#ifndef TENON_FRONTENDS_CPP_PARAMETERS_WEIGHT_AXES_H_
#define TENON_FRONTENDS_CPP_PARAMETERS_WEIGHT_AXES_H_

#include "ir/core/operation.h"

namespace tenon {

// Sets kInputsFirst of the replaceable parameters of `module` that are matrices. A product shows
// the axes of a matrix, also behind transposes, casts and elementwise operations; a lookup of rows
// shows nothing. The attribute goes where no product reads the matrix, where two readers differ,
// and where something else reads it. A parameter that no core.get_parameter names keeps what it
// has: the module may be lowered. Run it before passes that change products.
void NoteWeightAxes(Operation& module);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_PARAMETERS_WEIGHT_AXES_H_
