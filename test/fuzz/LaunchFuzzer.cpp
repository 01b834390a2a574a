// SPDX-License-Identifier: Apache-2.0
//
// Any text as PTX, decoded for any target and launched in any shape: an error,
// findings or a result, but no crash, no hang and no more memory than the
// kernel asks for. Input: a header of 16 bytes (Shape), then the text.
//
// Text that is damaged byte by byte seldom parses, so half of the mutations
// move, copy, delete or exchange whole statements.
#include "runtime/LaunchRules.h"
#include "runtime/sim/Simulator.h"
#include "runtime/sim/ptx/Parser.h"
#include <algorithm>
#include <cstring>
#include <random>

using namespace act::runtime;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace {

struct Shape {
  uint8_t target, block[3], grid[3], cluster, shared, cooperative, checks,
      spare;
  uint32_t seed;
};
static_assert(sizeof(Shape) == 16, "as long as the header");

const char *const targets[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"};
constexpr uint64_t mostVariables = 1 << 24; // bytes

std::vector<std::string> statementsOf(const std::string &text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    out.back() += c;
    if (c == ';' || c == '{' || c == '}')
      out.emplace_back();
  }
  return out;
}

void launch(sim::Simulator &simulator, const sim::LoadedModule &module,
            const std::string &name, const Shape &s) {
  auto info = module.kernel(name);
  if (!info)
    return;
  sim::LaunchRequest request;
  LaunchShape shape;
  KernelAttributes needs;
  needs.maxThreadsPerBlock = info->maxThreads;
  needs.sharedBytes = info->sharedBytes;
  for (int i = 0; i < 3; ++i) {
    request.grid[i] = 1 + s.grid[i] % 3;
    request.block[i] = info->requiredBlock[0]
                           ? std::max(1u, info->requiredBlock[i])
                           : 1 + s.block[i] % (i ? 3 : 64);
    needs.requiredBlock[i] = info->requiredBlock[i];
    needs.requiredCluster[i] = info->requiredCluster[i];
    shape.grid[i] = request.grid[i];
    shape.block[i] = request.block[i];
  }
  if (s.cluster % 4)
    for (int i = 0; i < 3; ++i)
      shape.cluster[i] = request.cluster[i] = i ? 1 : s.cluster % 4;
  shape.sharedBytes = request.dynamicSharedBytes = s.shared * 256u;
  request.cooperative = s.cooperative & 1;
  DeviceInfo device;
  device.target = simulator.target().name;
  device.sm = simulator.target().sm;
  device.sharedBytesPerBlock = simulator.target().sharedBytesPerBlock;
  if (!checkLaunch(device, needs, shape))
    return;
  request.parameters.resize(info->parameterBytes);
  std::vector<void *> buffers;
  for (const auto &p : info->parameters) {
    uint64_t value = 3;
    if (p.bytes >= 8 && buffers.size() < 8)
      if (auto memory = simulator.allocate(4096)) {
        simulator.markInitialised(*memory, 2048);
        value = reinterpret_cast<uint64_t>(*memory);
        buffers.push_back(*memory);
      }
    std::memcpy(&request.parameters[p.offset], &value,
                std::min<uint64_t>(p.bytes, 8));
  }
  (void)simulator.launch(module, name, request);
  for (void *b : buffers)
    (void)simulator.free(b);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Shape s{};
  if (size < sizeof s)
    return 0;
  std::memcpy(&s, data, sizeof s);
  std::string text(reinterpret_cast<const char *>(data) + sizeof s,
                   size - sizeof s);
  // A short text may ask for all the memory there is, and get it.
  auto tree = ptx::parse(text, "fuzzed.ptx");
  if (!tree)
    return 0;
  uint64_t bytes = 0;
  for (const ptx::Variable &v : (*tree)->variables)
    bytes = std::max(bytes + v.bytes, v.bytes);
  if (bytes > mostVariables)
    return 0;
  auto target = sim::targetNamed(targets[s.target % 5]);
  sim::Options options;
  options.checks = s.checks % 4 != 0;
  options.seed = s.seed;
  options.maximumInstructions = 3000;
  options.threads = 1;
  options.print = [](std::string_view) {};
  sim::Simulator simulator(*target, options);
  auto module = simulator.load(text, "fuzzed.ptx");
  if (!module)
    return 0;
  auto kernels = (*module)->kernels();
  for (size_t i = 0; i < kernels.size() && i < 2; ++i)
    launch(simulator, **module, kernels[i], s);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  if (size <= sizeof(Shape) || random() % 2)
    return LLVMFuzzerMutate(data, size, most);
  std::string text(reinterpret_cast<char *>(data) + sizeof(Shape),
                   size - sizeof(Shape));
  std::vector<std::string> parts = statementsOf(text);
  for (unsigned n = 1 + random() % 3; n > 0; --n) {
    size_t a = random() % parts.size(), b = random() % parts.size();
    switch (random() % 4) {
    case 0:
      parts.erase(parts.begin() + long(a));
      if (parts.empty())
        parts.emplace_back();
      break;
    case 1:
      parts.insert(parts.begin() + long(a), parts[b]);
      break;
    case 2:
      std::swap(parts[a], parts[b]);
      break;
    default: { // the operands of one under the opcode of another
      size_t x = parts[a].find(' '), y = parts[b].find(' ');
      if (x != std::string::npos && y != std::string::npos)
        parts[a] = parts[a].substr(0, x) + parts[b].substr(y);
    }
    }
  }
  text.clear();
  for (const std::string &p : parts)
    text += p;
  size_t n = std::min(text.size(), most - sizeof(Shape));
  std::memcpy(data + sizeof(Shape), text.data(), n);
  return sizeof(Shape) + n;
}
