// SPDX-License-Identifier: Apache-2.0
//
// Hands a program to Cbc through its C interface and reads the answer. Whether
// an answer can be trusted is decided here, because Cbc's own flags are wrong
// when it stops early.
#include "lib/Remat/Milp.h"
#include <cfloat>
#include <coin/Cbc_C_Interface.h>
#include <ctime>
#include <memory>
#include <string>

namespace act::remat {

int32_t Milp::variable(double c, bool isWhole, double low) {
  cost.push_back(c);
  whole.push_back(isWhole);
  lower.push_back(low);
  return static_cast<int32_t>(cost.size()) - 1;
}

void Milp::row(const std::vector<Term> &terms, double low, double high) {
  for (const Term &t : terms) {
    column.push_back(t.variable);
    factor.push_back(t.factor);
  }
  start.push_back(static_cast<int32_t>(column.size()));
  rowLower.push_back(low);
  rowUpper.push_back(high);
}

namespace {

using Model = std::unique_ptr<Cbc_Model, void (*)(Cbc_Model *)>;

/// Cbc writes an infinite bound as DBL_MAX.
double finite(double v) {
  return v > DBL_MAX ? DBL_MAX : v < -DBL_MAX ? -DBL_MAX : v;
}

Model load(const Milp &p) {
  Model model(Cbc_newModel(), Cbc_deleteModel);
  Cbc_setLogLevel(model.get(), 0);
  const auto columns = static_cast<int>(p.cost.size());
  const auto rows = static_cast<int>(p.rowLower.size());
  // Cbc takes columns: transpose the rows by counting.
  std::vector<CoinBigIndex> first(columns + 1, 0);
  for (int32_t c : p.column)
    ++first[c + 1];
  for (int c = 0; c < columns; ++c)
    first[c + 1] += first[c];
  std::vector<CoinBigIndex> next(first.begin(), first.end() - 1);
  std::vector<int> index(p.column.size());
  std::vector<double> value(p.column.size());
  for (int r = 0; r < rows; ++r)
    for (int32_t e = p.start[r]; e < p.start[r + 1]; ++e) {
      CoinBigIndex at = next[p.column[e]]++;
      index[at] = r;
      value[at] = p.factor[e];
    }
  std::vector<double> upper(columns, 1), rowLower, rowUpper;
  for (int r = 0; r < rows; ++r) {
    rowLower.push_back(finite(p.rowLower[r]));
    rowUpper.push_back(finite(p.rowUpper[r]));
  }
  Cbc_loadProblem(model.get(), columns, rows, first.data(), index.data(),
                  value.data(), p.lower.data(), upper.data(), p.cost.data(),
                  rowLower.data(), rowUpper.data());
  return model;
}

} // namespace

MilpAnswer minimize(const Milp &problem, const MilpLimits &limits) {
  std::clock_t start = std::clock();
  Model model = load(problem);
  for (size_t c = 0; c < problem.whole.size(); ++c)
    if (problem.whole[c])
      Cbc_setInteger(model.get(), static_cast<int>(c));
  auto set = [&](const char *name, const std::string &value) {
    Cbc_setParameter(model.get(), name, value.c_str());
  };
  if (limits.cutoff < Milp::infinity)
    set("cutoff", std::to_string(limits.cutoff));
  set("ratioGap", std::to_string(limits.gap));
  set("maxNodes", std::to_string(limits.nodes));
  if (limits.seconds < 1e8)
    set("sec", std::to_string(limits.seconds));
  set("slogLevel", "0"); // the simplex method's own messages
  Cbc_solve(model.get());

  MilpAnswer answer;
  answer.nodes = Cbc_getNodeCount(model.get());
  answer.iterations = Cbc_getIterationCount(model.get());
  bool infeasible = Cbc_isProvenInfeasible(model.get());
  bool optimal = Cbc_isProvenOptimal(model.get());
  const double *best = Cbc_bestSolution(model.get());
  // Out of time, Cbc may wrongly report a problem as infeasible or solved. Its
  // bound is then valid only if it had begun to branch.
  bool outOfTime =
      Cbc_isSecondsLimitReached(model.get()) ||
      double(std::clock() - start) / CLOCKS_PER_SEC >= limits.seconds;
  answer.complete = !outOfTime && (infeasible || optimal);
  if (best && !infeasible && Cbc_getObjValue(model.get()) < 1e40) {
    answer.values.assign(best, best + problem.cost.size());
    answer.cost = Cbc_getObjValue(model.get());
  }
  if (answer.complete && answer.values.empty())
    answer.bound = limits.cutoff;
  else if (!outOfTime || (answer.nodes > 0 && !infeasible && !optimal))
    answer.bound = Cbc_getBestPossibleObjValue(model.get());
  return answer;
}

} // namespace act::remat
