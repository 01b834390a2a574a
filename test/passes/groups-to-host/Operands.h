// SPDX-License-Identifier: Apache-2.0
//
// Operands of a kernel under test: typed memory that reads and writes as f64,
// and a call that runs a kernel every way that must not matter.
#ifndef ACT_TEST_PASSES_GROUPSTOHOST_OPERANDS_H
#define ACT_TEST_PASSES_GROUPSTOHOST_OPERANDS_H
#include "test/passes/groups-to-host/KernelRunner.h"
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace act::test {

/// Memory of `count` elements of type f64, f32, bf16, f16, i1 (a byte), i32,
/// i64.
class Operand {
public:
  Operand() = default;
  Operand(std::string type, int64_t count);

  /// Normally distributed, rounded to the type; integers are in [0, bound).
  static Operand random(const std::string &type, int64_t count, unsigned seed,
                        int64_t bound = 7);

  int64_t size() const { return count; }
  double get(int64_t i) const;
  void set(int64_t i, double value);
  void *data() { return bytes.data(); }
  bool operator==(const Operand &other) const { return bytes == other.bytes; }

private:
  std::string type;
  int64_t count = 0, width = 0;
  std::vector<uint8_t> bytes;
};

/// "?" in `text` replaced by the values in turn, "$T" by `type`.
std::string
format(std::string text,
       const std::vector<std::pair<std::string, std::string>> &with);

struct Call {
  std::vector<Operand> operands; // as they are after the call
  std::vector<Operand> results;  // fresh results in order
  bool ran = false;
};

/// Runs a kernel with one thread, with two, and with its blocks in reverse
/// order, and expects the same bits from all; the results are poisoned first.
Call call(const KernelRunner &runner, const std::string &name,
          std::vector<Operand> operands, std::vector<Operand> results);

/// Compiles one function and calls it.
Call compileAndCall(const std::string &text, const std::string &name,
                    std::vector<Operand> operands,
                    std::vector<Operand> results);

/// Expects actual[i] within `relative` of expected(i), measured against
/// max(|expected|, floor).
void expectClose(const Operand &actual,
                 const std::function<double(int64_t)> &expected,
                 double relative, double floor = 1e-3);

} // namespace act::test
#endif
