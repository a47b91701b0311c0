// Parser of the text below operations: types, attributes, locations. Internal to ir/core.
#ifndef TENON_IR_CORE_TEXT_ASM_PARSER_H_
#define TENON_IR_CORE_TEXT_ASM_PARSER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ir/core/context/context.h"
#include "ir/core/text/lexer.h"

namespace tenon {

// Recursive descent over one text with one token of lookahead. Parse functions return false at the
// first error, which status() keeps. Who clears it may go on. Keys are absl::string_view because
// Abseil of Debian 12 hashes no other view.
class AsmParser {
 public:
  using Key = absl::string_view;
  static Key ToKey(std::string_view text) { return Key(text.data(), text.size()); }

  AsmParser(Context& context, std::string_view text, std::string_view file_name)
      : context_(context), lexer_(text), file_name_(file_name), line_end_(text.find('\n')) {
    Advance();
  }

  const absl::Status& status() const { return status_; }
  bool AtEnd() const { return token_.kind == TokenKind::kEof; }
  bool ExpectEnd();

  bool ParseType(Type& type);
  bool ParseAttribute(Attribute& attribute);
  // The text after "loc", with its parentheses.
  bool ParseLocation(Location& location);

 protected:
  // ---- tokens
  bool At(TokenKind kind) const { return token_.kind == kind; }
  bool AtKeyword(std::string_view word) const {
    return At(TokenKind::kBareId) && token_.text == word;
  }
  void Advance() {
    previous_end_ = lexer_.position();
    token_ = lexer_.Next();
  }
  bool Consume(TokenKind kind) {
    if (!At(kind)) return false;
    Advance();
    return true;
  }
  bool ConsumeKeyword(std::string_view word) {
    if (!AtKeyword(word)) return false;
    Advance();
    return true;
  }
  // `what` completes "expected …".
  bool Expect(TokenKind kind, const char* what) {
    if (!At(kind)) return ErrorExpected(what);
    Advance();
    return true;
  }
  size_t offset() const { return lexer_.OffsetOf(token_); }

  // ---- errors; these functions always return false
  bool ErrorAt(size_t offset, std::string message, std::vector<Diagnostic> notes = {});
  bool Error(std::string message) { return ErrorAt(offset(), std::move(message)); }
  // Reports "expected X, got 'token'", or the error of the lexer. Reports the end of the previous
  // token if the current one is on a later line.
  bool ErrorExpected(const char* what);
  // Reports what is missing once. `missing` is its name: a second error about it is not told.
  bool ErrorOnce(std::string_view missing, size_t offset, std::string message);
  // True if `depth_` plus the `more` levels of an alias are within the limit of the Context.
  // Reports an error otherwise.
  bool CheckDepth(int more = 0);
  struct Position {
    uint32_t line = 0, col = 0;
  };
  Position PositionAt(size_t offset);  // cheap for growing offsets
  Location LocationAt(Position position);

  // ---- pieces of types and attributes
  bool ParseTypeList(std::vector<Type>& types, TokenKind close);  // after the opening bracket
  bool ParseFunctionType(std::vector<Type>& inputs, std::vector<Type>& results);
  // At "{". `offsets`, if not null, receives the position of each entry.
  bool ParseDictionary(std::vector<NamedAttribute>& entries,
                       std::vector<size_t>* offsets = nullptr);
  bool ParseSymbolName(std::string& name);  // "@name" without the "@"
  bool ParseString(std::string& value, const char* what);
  bool ParseMetadata();  // at "{-#"
  // Reads the resource section before everything else, because attributes refer to it.
  void FindResources();
  bool ParseAliasDefinition();  // at "#name =" or "!name =" between top-level ops
  // For "loc(#name)" of an alias that is defined later, sets `pending_alias`; the caller resolves
  // it.
  bool ParseTrailingLocation(Location& location, std::string_view& pending_alias);
  bool FindLocationAlias(std::string_view name, Location& location) const;
  // Reports an error if a reference makes the text too long or too deep.
  bool CountReference(std::string_view alias);
  bool CheckLocation(std::span<const Location> parts);

  Context& context_;
  Lexer lexer_;
  Token token_;
  std::string_view file_name_;
  absl::Status status_;
  absl::Status first_error_;               // of those that were told
  int num_errors_ = 0;                     // told
  absl::flat_hash_set<std::string> told_;  // names of what is missing
  int depth_ = 0;
  size_t previous_end_ = 0;  // of the token before the current one

 private:
  struct DepthGuard {
    explicit DepthGuard(AsmParser& parser) : parser(parser) { ++parser.depth_; }
    ~DepthGuard() { --parser.depth_; }
    AsmParser& parser;
  };
  // The size of an alias where it is written out.
  struct AliasSize {
    int64_t parts = 0;
    int depth = 0;
  };
  bool ParseTypeUncounted(Type& type);
  bool ParseTensorType(Type& type);  // at "<"
  bool ParseTensorBody(Type& type);
  bool ParseDimensions(std::vector<int64_t>& dims, bool& unranked);
  bool ParseEncoding(std::vector<DimExpr>& dims);
  bool ParseExtendedType(Type& type);
  // Sets `text` to the dialect symbol at the current token, with a balanced <…> after it.
  bool ParseDialectSymbol(std::string_view& text);
  bool SkipBalanced();
  // At the name of a type or attribute of MLIR that is kept as text, such as memref<4xf32, #map>.
  bool ParseBuiltinText(std::string& text);
  // Writes aliases in the text of a type or attribute out, since its own text names none.
  bool ExpandAliases(size_t at, std::string_view text, bool known_only, std::string& out);
  // Behind the name of a type or attribute that a registered dialect defines: reads "<…>".
  bool ParseParameters(std::vector<Attribute>& parameters);
  bool CheckDialect(size_t at, std::string_view symbol, const char* what);

  bool ParseAttributeUncounted(Attribute& attribute);
  bool ParseNumber(Attribute& attribute);
  bool ParseArray(Attribute& attribute);
  bool ParseDenseArray(Attribute& attribute);
  bool ParseSymbolRef(Attribute& attribute);
  bool ParseExtendedAttribute(Attribute& attribute);
  bool ParseDims(Attribute& attribute);
  bool ParseDense(Attribute& attribute);
  bool ParseDenseResource(Attribute& attribute);
  bool ParseResource(std::string_view key);
  bool ParseResourceGroup(bool builtin);

  // A number as written: its sign and token.
  struct Literal {
    Token token;
    bool negative = false;
  };
  bool ParseLiteral(Literal& literal);
  // Says that an attribute other than a dense constant has a narrow element type.
  bool ErrorNarrow(size_t at, DType dtype);
  bool ToInteger(const Literal& literal, DType dtype, int64_t& value);
  bool ToFloat(const Literal& literal, DType dtype, double& value);
  bool ParseLiteralList(std::vector<Literal>& literals, std::vector<int64_t>& shape, size_t axis);
  bool BuildElements(Type type, const std::vector<Literal>& literals,
                     const std::vector<int64_t>& shape, size_t at, Attribute& attribute);
  bool BuildHexElements(Type type, const Token& token, Attribute& attribute);
  // Digits of a string of hexadecimal bytes, in pairs, and the bytes of such digits.
  bool HexDigits(const Token& token, std::string_view& digits);
  bool DecodeHex(std::string_view digits, std::byte* bytes);
  bool ParseStaticTensorType(Type& type, const char* what);

  bool ParseLocationBody(Location& location);
  bool ParseFileLineCol(std::string_view file, Location& location);
  bool ParseFused(Location& location);

  // The line of the last call of PositionAt.
  size_t line_start_ = 0, line_end_;
  uint32_t line_ = 1;

  absl::flat_hash_map<Key, Type> tensor_types_;  // by the text between "<" and ">"
  std::map<std::string, Type, std::less<>> type_aliases_;
  std::map<std::string, Attribute, std::less<>> attribute_aliases_;
  std::map<std::string, Location, std::less<>> location_aliases_;
  std::map<std::string, AliasSize, std::less<>> alias_sizes_;  // of all aliases
  // Types, attributes and locations so far, with those of aliases at each reference.
  int64_t parts_ = 0;
  int64_t alias_parts_ = 0;  // those of references alone
  int deepest_ = 0;          // of the alias that is being read
  std::map<std::string, std::shared_ptr<const Blob>, std::less<>> resources_;
  absl::flat_hash_map<std::pair<const Blob*, const TypeStorage*>, Attribute> resource_attributes_;
  // The section that FindResources has read; it is skipped when the parser arrives at it.
  size_t metadata_begin_ = std::string_view::npos, metadata_end_ = 0;
  // FindResources keeps errors here. An error stays if the unreadable text begins a line.
  struct SilentError {
    size_t offset;
    std::string message;
  };
  std::optional<SilentError> silent_error_;
  absl::flat_hash_set<size_t> error_offsets_;  // one error for each place
  bool silent_ = false;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_TEXT_ASM_PARSER_H_
