// Programs that are almost what a rule expects.
#ifndef TENON_TESTS_FUZZ_NEAR_MISS_H_
#define TENON_TESTS_FUZZ_NEAR_MISS_H_

#include <random>
#include <string>

#include "ir/core/operation.h"

namespace tenon::fuzz {

// Operands of `module` become other values of their types, of the same block: a program that nobody
// wrote and no pattern expects. It may not verify.
void Rewire(Operation* module, std::mt19937& random);

// Another digit in a small number of some operation's attributes: a perm, an axis, a constant. What
// comes of it may be no program.
std::string ChangeAttributes(std::string text, std::mt19937& random);

// A few changes that leave `module` a program, with results of the same types: operands rewired or
// in another order, other numbers in constants, operations between a value and its users.
void MakeNearMiss(Operation* module, std::mt19937& random);

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_NEAR_MISS_H_
