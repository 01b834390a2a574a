// SPDX-License-Identifier: Apache-2.0
//
// A mixed-integer linear program and its solver: the only user of the MILP
// library (COIN-OR Cbc).
#ifndef ACT_LIB_REMAT_MILP_H
#define ACT_LIB_REMAT_MILP_H
#include <cstdint>
#include <limits>
#include <vector>

namespace act::remat {

struct Milp {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  struct Term {
    int32_t variable;
    double factor;
  };

  /// Variables lie in [lower, 1]; `whole` ones are integers.
  int32_t variable(double cost, bool whole, double lower = 0);
  /// Terms of the same variable must be merged by the caller.
  void row(const std::vector<Term> &terms, double lower, double upper);

  std::vector<double> cost, lower;
  std::vector<char> whole;
  std::vector<double> rowLower, rowUpper;
  std::vector<int32_t> start{0}, column; // rows, one behind the other
  std::vector<double> factor;
};

struct MilpLimits {
  /// Looks only for solutions that cost less.
  double cutoff = Milp::infinity;
  /// Stop when bound >= (1 - gap) * found.
  double gap = 0;
  int64_t nodes = 1'000'000;
  double seconds = 1e9; // of processor time
};

struct MilpAnswer {
  /// Lower bound on all solutions below the cutoff: the cutoff itself if there
  /// are none, minus infinity if nothing is known.
  double bound = -Milp::infinity;
  /// Empty if none was found.
  std::vector<double> values;
  double cost = Milp::infinity;
  bool complete = false; // proven optimal within the gap, or infeasible
  int64_t nodes = 0, iterations = 0;
};

MilpAnswer minimize(const Milp &problem, const MilpLimits &limits);

} // namespace act::remat
#endif
