// SPDX-License-Identifier: Apache-2.0
//
// The region of act.attention that rewrites a score: scalar arith and math ops
// on (score, b, head, query, key). A lowering inlines it for every element of a
// tile, and the gradient inlines it together with its derivative.
//
// The derivative uses forward mode, with dual numbers: a region is a function
// of one real number, so each op's value comes with d value / d score (Griewank
// and Walther, Evaluating Derivatives, chapter 3).
#ifndef ACT_DIALECTS_ACT_SCOREREGION_H
#define ACT_DIALECTS_ACT_SCOREREGION_H
#include "dialects/act/LinalgBuilder.h"

namespace act {

/// Whether `region` can be inlined: its ops have no regions and use only values
/// of the region, and if `differentiated`, have a derivative where they depend
/// on the score. Reports the offending op.
mlir::LogicalResult checkScoreRegion(mlir::Region &region, bool differentiated);

struct ScoreAndSlope {
  mlir::Value score, slope;
};

/// Inlines a checked region on `args`. `slope` is null unless `differentiated`,
/// and also if the result does not depend on the score.
ScoreAndSlope inlineScoreRegion(Scalars &s, mlir::Region &region,
                                mlir::ValueRange args, bool differentiated);

} // namespace act
#endif
