// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel "k" of a few lines on arrays.
//
//     Kernel k;
//     k.shared = ".shared .align 128 .b8 s[1024];";
//     k.body = "ld.param.u64 %rd0, [p0]; ...";    // p0, p1 ...: the arguments
//     k.array(x); k.output<float>(32); k.value(uint32_t(5));
//     ASSERT_TRUE(k.run()) << k.error;
//     EXPECT_EQ(k.get<float>(1)[3], ...);
//     EXPECT_TRUE(k.finds(FindingKind::Race, "memory that another thread reads"));
//
// Registers: %p<8>, %h<8> (16 bits), %r<32>, %rd<32>, %f<8>. Findings are kept
// in `findings`; run() does not judge them. runClean() fails when there are any
// under any of some seeds.
#ifndef ACT_TEST_RUNTIME_SIM_RUNKERNEL_H
#define ACT_TEST_RUNTIME_SIM_RUNKERNEL_H
#include "runtime/TensorMap.h"
#include "runtime/sim/Simulator.h"
#include <cstring>
#include <string>
#include <vector>

namespace act::runtime::sim {

class Kernel {
public:
  std::string target = "sm_90a", version = "8.8";
  std::string functions; // in front of the entry
  std::string shared;    // variables in front of the body
  std::string body;
  std::string directives; // of the entry
  uint32_t grid = 1, block = 32, cluster = 0;
  uint64_t seed = 0;
  bool drawsRounding = true;
  bool strict = false; // Options::strict

  template <typename T> Kernel &array(const std::vector<T> &values) {
    Argument a;
    a.isArray = a.initialised = true;
    a.bytes.resize(values.size() * sizeof(T));
    std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
    arguments.push_back(a);
    return *this;
  }
  /// Uninitialised for the checks; zero, or `byte`.
  template <typename T> Kernel &output(size_t count, uint8_t byte = 0) {
    Argument a;
    a.isArray = true;
    a.bytes.assign(count * sizeof(T), byte);
    arguments.push_back(a);
    return *this;
  }
  template <typename T> Kernel &value(T v) {
    Argument a;
    a.bytes.resize(sizeof v);
    std::memcpy(a.bytes.data(), &v, sizeof v);
    arguments.push_back(a);
    return *this;
  }
  /// A tensor map over argument `over`; its address is filled in.
  Kernel &map(TiledTensor tensor, size_t over) {
    Argument a;
    a.isMap = true;
    a.tensor = tensor;
    a.over = over;
    a.bytes.resize(128);
    arguments.push_back(a);
    return *this;
  }

  /// False: `error` says why. Arrays then hold what the kernel left; run again
  /// from what they were.
  bool run();
  bool runClean(uint64_t seeds = 8);
  template <typename T> std::vector<T> get(size_t argument) const {
    const std::vector<uint8_t> &b = results[argument];
    std::vector<T> v(b.size() / sizeof(T));
    std::memcpy(v.data(), b.data(), v.size() * sizeof(T));
    return v;
  }
  bool finds(FindingKind kind, const std::string &text) const;
  /// The same under some of the first seeds.
  bool findsSometimes(FindingKind kind, const std::string &text,
                      uint64_t seeds = 12);
  std::string text() const;
  std::string told() const; // the findings

  std::string error;
  std::vector<Finding> findings;
  Counters counters;

private:
  struct Argument {
    bool isArray = false, initialised = false, isMap = false;
    std::vector<uint8_t> bytes;
    TiledTensor tensor;
    size_t over = 0;
  };
  std::vector<Argument> arguments;
  std::vector<std::vector<uint8_t>> results;
};

/// first, first + 1, ...
std::vector<uint32_t> counted(size_t n, uint32_t first = 1000);

/// Fails the test unless loading the body is an error that says `why`.
void expectRefused(const std::string &body, const std::string &version,
                   const std::string &why,
                   const std::string &target = "sm_90a");

} // namespace act::runtime::sim
#endif
