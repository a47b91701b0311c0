// Pieces of IR text at which a parser may trip.
#ifndef TENON_TESTS_FUZZ_IR_PIECES_H_
#define TENON_TESTS_FUZZ_IR_PIECES_H_

#include <string>
#include <vector>

namespace tenon::fuzz {

inline const std::vector<std::string>& IrPieces() {
  static const std::vector<std::string> pieces = {"(",
                                                  ")",
                                                  "{",
                                                  "}",
                                                  "<",
                                                  ">",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "=",
                                                  "->",
                                                  "\"",
                                                  "%0",
                                                  "%0#1",
                                                  "%a:2 = ",
                                                  "^bb0",
                                                  "^bb1:",
                                                  "@f",
                                                  "#a",
                                                  "!a",
                                                  "#core.dims<",
                                                  "tensor<",
                                                  "tensor<?x2xf32, [\"B\", \"\"]>",
                                                  "dense<",
                                                  "array<i64: 1>",
                                                  "dense_resource<x>",
                                                  "loc(",
                                                  "unknown",
                                                  "fused[",
                                                  "{-#",
                                                  "#-}",
                                                  "0x",
                                                  "-",
                                                  "1.5e300",
                                                  "99999999999999999999",
                                                  "i1",
                                                  "f32",
                                                  "x.a()",
                                                  "() -> ()",
                                                  "?",
                                                  "*x",
                                                  "\\",
                                                  "\n",
                                                  "//",
                                                  "<{",
                                                  "}>",
                                                  "({",
                                                  "})",
                                                  "operandSegmentSizes = array<i32: 1, 2>",
                                                  "bias = %x",
                                                  "true_args = [%x, %y]",
                                                  "%x_0",
                                                  "%arg1",
                                                  "\x80",
                                                  "\x01",
                                                  "::",
                                                  "true",
                                                  "unit",
                                                  "callsite(",
                                                  " at "};
  return pieces;
}

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_IR_PIECES_H_
