// SPDX-License-Identifier: Apache-2.0
#include "test/passes/groups-to-host/Operands.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace act::test;

Call act::test::call(const KernelRunner &runner, const std::string &name,
                     std::vector<Operand> operands,
                     std::vector<Operand> results) {
  auto once = [&](unsigned threads, bool reversed) {
    Call outcome{operands, results, false};
    std::vector<void *> args;
    for (Operand &operand : outcome.operands)
      args.push_back(operand.data());
    for (Operand &result : outcome.results)
      args.push_back(result.data());
    outcome.ran = runner.run(name, args, threads, reversed);
    return outcome;
  };
  Call first = once(1, false);
  for (auto &other : {once(2, false), once(1, true)}) {
    EXPECT_TRUE(first.operands == other.operands)
        << name << ": operands depend on the schedule";
    EXPECT_TRUE(first.results == other.results)
        << name << ": results depend on the schedule";
  }
  EXPECT_TRUE(first.ran);
  return first;
}

Call act::test::compileAndCall(const std::string &text, const std::string &name,
                               std::vector<Operand> operands,
                               std::vector<Operand> results) {
  auto runner = KernelRunner::create(text);
  EXPECT_TRUE(runner != nullptr) << text;
  return runner ? call(*runner, name, std::move(operands), std::move(results))
                : Call{operands, results, false};
}

void act::test::expectClose(const Operand &actual,
                            const std::function<double(int64_t)> &expected,
                            double relative, double floor) {
  double worst = 0;
  int64_t where = -1;
  for (int64_t i = 0; i < actual.size(); ++i) {
    double want = expected(i), got = actual.get(i);
    if (want == got || (std::isnan(want) && std::isnan(got)))
      continue;
    double error = std::abs(got - want) / std::max(std::abs(want), floor);
    if (!(error <= worst))
      worst = std::isnan(error) ? INFINITY : error, where = i;
  }
  EXPECT_LE(worst, relative)
      << "at element " << where << ": "
      << actual.get(std::max<int64_t>(where, 0)) << ", expected "
      << expected(std::max<int64_t>(where, 0));
}
