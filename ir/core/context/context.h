// The owner of everything that IR shares: dialects, types, attributes, locations and op memory.
#ifndef TENON_IR_CORE_CONTEXT_CONTEXT_H_
#define TENON_IR_CORE_CONTEXT_CONTEXT_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ir/core/attribute.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/context/op_info.h"

namespace tenon {

struct ContextImpl;

class OpBuilder;

// Creates an op of a dialect, at the insertion point of `builder`, whose only result is the
// constant `value` of type `type`. Returns null if the dialect has no such constant, and creates
// nothing then. Must be thread-safe.
using MakeConstantFn =
    Hook<Operation*(OpBuilder& builder, Attribute value, Type type, Location location)>;

// A type or an attribute of a dialect, with parameters. Its text is !acme.money<"EUR", 2 : i64>, or
// #acme.money<…> for an attribute, and !acme.money without parameters. See dialect_types.h.
struct ParametricDef {
  std::string name;     // with its dialect: "acme.money"
  std::string summary;  // one sentence for people
  // In the order of the text. Those behind one with a default have one too.
  std::vector<AttrDef> parameters;
  // Checks parameters of the right number and kinds. Returns an error without the name of the type.
  // Must be thread-safe. Null: nothing more to check.
  Hook<absl::Status(std::span<const Attribute> parameters)> verify = nullptr;
};

// A named group of op definitions, as passed to Context::RegisterDialect.
struct Dialect {
  std::string name;        // a prefix of the op names: "ten" for "ten.add"
  std::string summary;     // one sentence for people
  std::vector<OpDef> ops;  // in any order
  // Makes the constants into which ops of the dialect fold. Null: core.constant, if it fits.
  MakeConstantFn make_constant = {};
  std::vector<ParametricDef> types = {};       // in any order
  std::vector<ParametricDef> attributes = {};  // in any order
};

// Owns dialects, interned types, attributes and dimensions, locations, and the memory of
// operations. Interned data stays until ReleaseUnused (release_unused.h) or the end of the Context,
// which must outlive all IR, Type, Attribute, DimExpr, Identifier and Location that belong to it.
// Contexts are independent of each other.
//
// Interning, op allocation and diagnostics are thread-safe, and passes may run on different
// functions at the same time. Registration and settings are not thread-safe: finish them first.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Adds a dialect and its ops. RegisterAllDialects (ir/dialect/dialects.h) adds those of Tenon.
  // AlreadyExists if the dialect, an op name or the hash of an op name is taken. InvalidArgument if
  // a definition is wrong: a name, an attribute order, a default, operandSegmentSizes, a count, or
  // the parameters of a type or an attribute.
  // On error nothing is registered.
  absl::Status RegisterDialect(Dialect dialect);
  bool HasDialect(std::string_view name) const;   // True if it is registered.
  std::vector<std::string> DialectNames() const;  // sorted
  // The registered ops of a dialect, sorted by name.
  std::vector<const OpInfo*> OpsOf(std::string_view dialect) const;

  // A registered op, or null.
  const OpInfo* FindOp(std::string_view name) const;
  const OpInfo* FindOp(OpId id) const;
  // Returns the info of an op of an unregistered dialect, which is made on first use. Thread-safe.
  const OpInfo* GetUnregisteredOp(std::string_view name);
  // Whether text may contain ops of dialects that are not registered. Off by default.
  bool allow_unregistered_dialects() const;
  void set_allow_unregistered_dialects(bool allow);  // True allows all of them.
  // Accepts unregistered ops of the dialect `name` in any case.
  void AllowUnregisteredDialect(std::string_view name);
  // True if text may contain unregistered ops of the dialect `name`.
  bool IsUnregisteredDialectAllowed(std::string_view name) const;

  // Returns the identifier with this text. Thread-safe.
  Identifier Intern(std::string_view text);
  // Receives the errors, warnings and remarks of everything done in this Context.
  DiagnosticEngine& diagnostics();

  // Frees the bytes of large constants that no operation holds. The pass manager calls it between
  // passes. While a KeepUnusedBlobs lives, it frees less (keep_blobs.h). Thread-safe.
  void ReleaseUnusedBlobs();
  // Bytes of large constants that have not been freed, mapped files included.
  size_t live_blob_bytes() const;

  // Bytes of all operations that exist.
  size_t op_bytes_in_use() const;

 private:
  friend ContextImpl& ImplOf(const Context& context);  // context_impl.h

  std::unique_ptr<ContextImpl> impl_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_CONTEXT_H_
