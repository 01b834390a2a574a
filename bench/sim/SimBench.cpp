// SPDX-License-Identifier: Apache-2.0
//
// How fast the simulator is: lane-instructions per second on a kernel that does
// a bit of everything (of processor time, so per core) and on an attention
// forward of one head, 1024 x 1024 x 64 in bf16 (by the clock); both compiled
// by nvcc, with all checks and without any. Arguments: checks, host threads.
//
//     SimBench [--benchmark_filter=attention]
#include "runtime/sim/Simulator.h"
#include <benchmark/benchmark.h>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace act::runtime::sim;

namespace {

std::string textOf(const std::string &file) {
  std::ifstream in(std::string(ACT_KERNELS) + "/" + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A parameter block, each parameter at a multiple of its size.
class Parameters {
public:
  template <typename T> void add(T value) {
    bytes.resize((bytes.size() + sizeof value - 1) / sizeof value *
                 sizeof value);
    bytes.insert(bytes.end(), reinterpret_cast<uint8_t *>(&value),
                 reinterpret_cast<uint8_t *>(&value + 1));
  }
  std::vector<uint8_t> bytes;
};

class Bench {
public:
  Bench(benchmark::State &state, const std::string &file)
      : state(state), sim(*targetNamed("sm_80"), optionsOf(state)) {
    auto loaded = sim.load(textOf(file), file);
    if (!loaded)
      state.SkipWithError(loaded.error().message.c_str());
    else
      module = std::move(*loaded);
  }

  /// Memory; f fills it (or leaves it to the kernel when it is null).
  template <typename T> T *array(size_t count, T (*f)(size_t)) {
    auto memory = sim.allocate(count * sizeof(T));
    if (!memory) {
      state.SkipWithError(memory.error().message.c_str());
      return nullptr;
    }
    T *p = static_cast<T *>(*memory);
    for (size_t i = 0; f && i < count; ++i)
      p[i] = f(i);
    if (f)
      sim.markInitialised(p, count * sizeof(T));
    return p;
  }

  void run(const std::string &kernel, const LaunchRequest &request) {
    uint64_t lanes = 0;
    if (!module)
      return;
    for (auto _ : state) {
      auto report = sim.launch(*module, kernel, request);
      if (!report)
        return state.SkipWithError(report.error().message.c_str());
      if (!report->findings.empty())
        return state.SkipWithError(report->findings[0].message.c_str());
      lanes += report->counters.laneInstructions;
    }
    state.counters["lane-instructions"] =
        benchmark::Counter(double(lanes), benchmark::Counter::kIsRate);
  }

private:
  static Options optionsOf(const benchmark::State &state) {
    Options options;
    options.checks = state.range(0);
    options.threads = unsigned(state.range(1));
    return options;
  }
  benchmark::State &state;
  Simulator sim;
  std::unique_ptr<LoadedModule> module;
};

float wave(size_t i) { return std::sin(float(i)); }
uint16_t waveBf16(size_t i) {
  float x = wave(i);
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return uint16_t(bits >> 16);
}

void mixed(benchmark::State &state) {
  constexpr int rows = 128, width = 512;
  Bench b(state, "mixed.sm_80.ptx");
  LaunchRequest r;
  Parameters p;
  p.add(b.array(rows * width, wave));
  p.add(b.array(width * width, wave));
  p.add(b.array<float>(rows * width, nullptr));
  p.add(b.array<uint32_t>(rows / 4 * width, nullptr));
  p.add(width);
  r.parameters = p.bytes;
  r.grid[0] = width / 32;
  r.grid[1] = rows / 32;
  r.block[0] = 256;
  b.run("mixed", r);
}

void attention(benchmark::State &state) {
  constexpr int length = 1024, d = 64;
  Bench b(state, "attention_bf16.sm_80.ptx");
  LaunchRequest r;
  Parameters p;
  for (int i = 0; i < 3; ++i)
    p.add(b.array(length * d, waveBf16));
  p.add(b.array<float>(length * d, nullptr));
  p.add(length);
  p.add(std::log2(std::exp(1.0f)) / 8);
  r.parameters = p.bytes;
  r.grid[0] = length / 64;
  r.block[0] = 128;
  b.run("attention_bf16", r);
}

} // namespace

BENCHMARK(mixed)
    ->ArgNames({"checks", "threads"})
    ->Args({0, 1})
    ->Args({1, 1})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();
BENCHMARK(attention)
    ->ArgNames({"checks", "threads"})
    ->Args({0, 1})
    ->Args({1, 1})
    ->Args({1, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

BENCHMARK_MAIN();
