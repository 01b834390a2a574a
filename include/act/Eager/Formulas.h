// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch eager keeps and peaks at, in the letters of a model.
//
//   auto run = act::eager::run(model, options);
//   auto f = act::eager::formulas(model, options, *run);
//   f->retained.str();   // b*s*(L*(...) + 4*V + ...)
//
// The model runs again, with other sizes, of which each has a prime factor of
// its own: a dimension of a tensor of that run can be a product of sizes in one
// way only. So each storage has its polynomial, and what is kept and alive at a
// moment is a sum of those. The number of layers is a letter where two runs,
// with a layer more, say so.
//
// What comes out is tried: at the sizes asked for and at yet other ones it has
// to give every byte of what is kept and the very peak, or it is none. Sizes of
// one are laid out in their own way sometimes; then they stay numbers, and
// `conditions` says so.
#ifndef ACT_EAGER_FORMULAS_H
#define ACT_EAGER_FORMULAS_H
#include "act/Eager/Eager.h"
#include "act/Symbolic/Expr.h"

namespace act::eager {

struct Formulas {
  /// b, s, h, a, k (where heads are grouped), d, f, V, P and L.
  symbolic::Letters letters;
  symbolic::Polynomial retained;
  symbolic::Expr peak;
  std::vector<symbolic::Polynomial> saved; ///< of each of run.saved
  /// A size that the formulas hold for: holds_b, 1.
  struct Condition {
    std::string name, text;
    int64_t value = 0;
  };
  std::vector<Condition> conditions;
};

/// `run` is of `model` and `options`. Fails where nothing holds that was tried.
Result<Formulas> formulas(const Model &model, const Options &options,
                          const Run &run);

} // namespace act::eager
#endif
