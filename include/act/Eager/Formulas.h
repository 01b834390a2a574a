// SPDX-License-Identifier: Apache-2.0
//
// PyTorch eager's retained and peak bytes as formulas in a model's sizes.
//
//   auto run = act::eager::run(model, options);
//   auto f = act::eager::formulas(model, options, *run);
//   f->retained.str();   // b*s*(L*(...) + 4*V + ...)
//
// The model runs again with other sizes, each with a prime factor of its own,
// so a tensor's dimension is a product of sizes in one way only. That gives
// each storage its polynomial; retained and live bytes are sums of these. The
// number of layers becomes a letter if two runs that differ by one layer agree.
//
// The result is verified: at the requested sizes and at further ones it has to
// give the exact bytes of every saved tensor and the exact peak, or it is
// rejected. Tensors with a size of one sometimes have a layout of their own;
// then that size stays a number, and `conditions` says so.
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
  /// A size for which alone the formulas hold: holds_b, 1.
  struct Condition {
    std::string name, text;
    int64_t value = 0;
  };
  std::vector<Condition> conditions;
};

/// `run` is the run of `model` with `options`. Fails if no formula found holds.
Result<Formulas> formulas(const Model &model, const Options &options,
                          const Run &run);

} // namespace act::eager
#endif
