// What this program adds to Tenon: an operation with a kernel, a rule that makes it, a pass.
#ifndef ACME_H_
#define ACME_H_

#include <memory>

#include "tenon/frontends/cpp/extension.h"

std::shared_ptr<const tenon::Extension> AcmeExtension();

#endif  // ACME_H_
