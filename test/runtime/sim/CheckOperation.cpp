// SPDX-License-Identifier: Apache-2.0
#include "test/runtime/sim/CheckOperation.h"

namespace act::runtime::sim {

namespace {

std::string hex(const std::byte *bytes, unsigned size) {
  std::string text;
  for (unsigned i = size; i-- > 0;) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", unsigned(bytes[i]));
    text += digits;
  }
  return "0x" + text;
}

} // namespace

void checkRaw(const RawOperation &operation, const Setting &setting) {
  Random random(std::hash<std::string>()(operation.instruction) | 1, 1);
  const char *names[] = {"a", "b", "c", "e"};
  for (unsigned round = 0; round < setting.rounds; ++round) {
    Snippet s(operation.instruction);
    s.target = setting.target;
    s.version = setting.version;
    std::vector<std::vector<std::byte>> sources;
    for (size_t k = 0; k < operation.operands.size(); ++k) {
      const RawOperation::Operand &o = operation.operands[k];
      sources.emplace_back(32 * o.size);
      for (unsigned l = 0; l < 32; ++l)
        o.draw(random, sources[k].data() + l * o.size);
      s.inBytes(names[k], o.size, sources[k].data());
    }
    s.outBytes("d", operation.resultSize);
    ASSERT_TRUE(s.run()) << operation.instruction << ": " << s.error;
    const std::byte *got = s.bytesOf("d");
    for (unsigned l = 0; l < 32; ++l, got += operation.resultSize) {
      std::vector<const std::byte *> of;
      std::string operands;
      for (size_t k = 0; k < sources.size(); ++k) {
        of.push_back(sources[k].data() + l * operation.operands[k].size);
        operands += " " + hex(of.back(), operation.operands[k].size);
      }
      std::vector<std::byte> expected(operation.resultSize);
      operation.oracle(of.data(), expected.data());
      ASSERT_EQ(hex(got, operation.resultSize),
                hex(expected.data(), operation.resultSize))
          << operation.instruction << " of" << operands;
    }
  }
}

} // namespace act::runtime::sim
