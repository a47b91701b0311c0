// The C API of Tenon, all of it. docs/guide/use-from-c.md shows it in use; frontends/c/status.h has
// the rules that all calls follow.
#ifndef TENON_FRONTENDS_C_TENON_C_H_
#define TENON_FRONTENDS_C_TENON_C_H_

#include "frontends/c/adapters.h"
#include "frontends/c/attributes.h"
#include "frontends/c/build.h"
#include "frontends/c/extensions.h"
#include "frontends/c/ir.h"
#include "frontends/c/kernels.h"
#include "frontends/c/models.h"
#include "frontends/c/op_definitions.h"
#include "frontends/c/passes.h"
#include "frontends/c/programs.h"
#include "frontends/c/runs.h"
#include "frontends/c/saved_programs.h"
#include "frontends/c/status.h"
#include "frontends/c/types.h"
#include "frontends/c/visit.h"

#endif  // TENON_FRONTENDS_C_TENON_C_H_
