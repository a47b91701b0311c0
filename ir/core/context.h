// Owner of everything that IR shares: dialects, interned types, attributes, locations, op memory.
#ifndef TENON_IR_CORE_CONTEXT_H_
#define TENON_IR_CORE_CONTEXT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ir/core/attribute.h"
#include "ir/core/diagnostic.h"
#include "ir/core/op_info.h"

namespace tenon {

struct ContextImpl;

struct Dialect {
  std::string name;
  std::string summary;
  std::vector<OpDef> ops;
};

// Contexts are independent of each other. Within one, interning, op allocation and diagnostics are
// thread-safe, and passes may run on different functions in parallel; registration and settings are
// not. A Context must outlive all IR made in it, and every Type, Attribute, DimExpr and Location,
// which belong to it and are never freed before.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Refuses a repeated dialect or op, a hash collision of op names, and a definition that is wrong
  // (names, order of attributes, defaults, segment sizes); nothing is registered then.
  absl::Status RegisterDialect(Dialect dialect);
  bool HasDialect(std::string_view name) const;
  std::vector<std::string> DialectNames() const;                     // sorted
  std::vector<const OpInfo*> OpsOf(std::string_view dialect) const;  // sorted by name

  // A registered op, or null.
  const OpInfo* FindOp(std::string_view name) const;
  const OpInfo* FindOp(OpId id) const;
  // The info of an op of an unknown dialect (made on first use).
  const OpInfo* GetUnregisteredOp(std::string_view name);
  // May ops of unknown dialects be parsed? Off by default.
  bool allow_unregistered_dialects() const;
  void set_allow_unregistered_dialects(bool allow);
  // Ops of this dialect are accepted unregistered in any case ("onnx").
  void AllowUnregisteredDialect(std::string_view name);
  bool IsUnregisteredDialectAllowed(std::string_view name) const;

  Identifier Intern(std::string_view text);
  DiagnosticEngine& diagnostics();

  // Frees bytes of large constants that no operation holds. Between passes; see keep_blobs.h.
  void ReleaseUnusedBlobs();
  size_t live_blob_bytes() const;

  // Of the memory of operations: handed out and not freed.
  size_t op_bytes_in_use() const;

  ContextImpl& impl() const { return *impl_; }

 private:
  std::unique_ptr<ContextImpl> impl_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_H_
