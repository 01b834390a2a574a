// SPDX-License-Identifier: Apache-2.0
//
// Runs a few PTX instructions in one warp and hands back what its 32 lanes
// computed.
//
//     Snippet s("add.s32 d, a, b;");
//     s.in<int32_t>("a", a).in<int32_t>("b", [](int lane) { return lane; });
//     s.out<int32_t>("d");
//     ASSERT_TRUE(s.run()) << s.error;
//     EXPECT_EQ(s.get<int32_t>("d")[7], a[7] + 7);
//
// in() declares a register and fills it before the body; out() declares one and
// stores it behind the body. A type of 2, 4 or 8 bytes makes a register of
// .b16, .b32 or .b64; Word128 one of .b128. Predicates: outPredicate(), and
// inPredicate() with a 32-bit word of lanes. What else the body needs it
// declares itself. Findings of the checks are errors unless `findingsAllowed`.
#ifndef ACT_TEST_RUNTIME_SIM_RUNSNIPPET_H
#define ACT_TEST_RUNTIME_SIM_RUNSNIPPET_H
#include "runtime/sim/Simulator.h"
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace act::runtime::sim {

struct Word128 {
  uint64_t low = 0, high = 0;
  bool operator==(const Word128 &o) const {
    return low == o.low && high == o.high;
  }
};

class Snippet {
public:
  template <typename T> using Lanes = std::array<T, 32>;

  explicit Snippet(std::string body) : body(std::move(body)) {}

  std::string target = "sm_90a"; // of the module, and of the machine
  std::string version = "8.8";
  std::string moduleText; // in front of the kernel: variables, functions
  Options options;
  bool findingsAllowed = false;
  uint32_t threads = 32;

  Snippet &inBytes(const std::string &name, unsigned size, const void *lanes) {
    Value v = value(name, size);
    v.isInput = true;
    std::memcpy(v.bytes.data(), lanes, v.bytes.size());
    values.push_back(v);
    return *this;
  }
  template <typename T>
  Snippet &in(const std::string &name, const Lanes<T> &lanes) {
    return inBytes(name, sizeof(T), lanes.data());
  }
  template <typename T, typename Function>
  Snippet &in(const std::string &name, Function f) {
    Lanes<T> lanes;
    for (int l = 0; l < 32; ++l)
      lanes[size_t(l)] = T(f(l));
    return in<T>(name, lanes);
  }
  Snippet &inPredicate(const std::string &name, uint32_t lanes) {
    in<uint32_t>(name + "__word", [&](int l) { return lanes >> l & 1; });
    values.back().predicate = name;
    return *this;
  }
  Snippet &outBytes(const std::string &name, unsigned size) {
    values.push_back(value(name, size));
    return *this;
  }
  template <typename T> Snippet &out(const std::string &name) {
    return outBytes(name, sizeof(T));
  }
  Snippet &outPredicate(const std::string &name) {
    values.push_back(value(name + "__word", 4));
    values.back().predicate = name;
    return *this;
  }

  /// False: `error` says why.
  bool run();

  /// Null if there is no such value.
  const std::byte *bytesOf(const std::string &name) const {
    for (const Value &v : values)
      if (v.name == name)
        return reinterpret_cast<const std::byte *>(v.bytes.data());
    return nullptr;
  }
  template <typename T> Lanes<T> get(const std::string &name) const {
    Lanes<T> lanes{};
    if (const std::byte *bytes = bytesOf(name))
      std::memcpy(lanes.data(), bytes, sizeof lanes);
    return lanes;
  }
  /// Lanes as bits.
  uint32_t predicate(const std::string &name) const {
    uint32_t bits = 0;
    Lanes<uint32_t> words = get<uint32_t>(name + "__word");
    for (int l = 0; l < 32; ++l)
      bits |= uint32_t(words[size_t(l)] != 0) << l;
    return bits;
  }

  /// The module as the simulator reads it.
  std::string text() const;

  std::string error;
  std::vector<Finding> findings;
  Counters counters;

private:
  struct Value {
    std::string name, predicate;
    unsigned size = 0;
    bool isInput = false;
    std::vector<uint8_t> bytes;
  };
  static Value value(const std::string &name, size_t size) {
    Value v;
    v.name = name;
    v.size = unsigned(size);
    v.bytes.assign(32 * size, 0);
    return v;
  }
  uint64_t bytesOfAll() const {
    uint64_t total = 16;
    for (const Value &v : values)
      total += v.bytes.size();
    return total;
  }
  bool refuse(const std::string &why) {
    error = why;
    return false;
  }

  std::string body;
  std::vector<Value> values;
};

/// Why a body does not load for a target; empty if it does.
std::string whyNot(const std::string &body, const std::string &target,
                   const std::string &version);

} // namespace act::runtime::sim
#endif
