// SPDX-License-Identifier: Apache-2.0
//
// Sources.
//   limits    CUDA C++ Programming Guide, "Compute Capabilities", technical
//             specifications per compute capability
//   features  PTX ISA, "Target ISA Notes" of each instruction
//   cards     NVIDIA's data sheets and whitepapers: A100 80GB SXM (GA100),
//             GeForce RTX 3090 (GA102), RTX 4090 (AD102), H100 and H200 SXM
//             (GH100)
//   exp2      16 results per SM and clock: CUDA C++ Programming Guide,
//             "Arithmetic Instructions"
//   link      PCI Express x16: 31.5 GB/s for 4.0, 63 GB/s for 5.0; copies of
//             pinned memory reach about 0.8 of that
//   reached   training steps of Llama-3.2-1B and of four of its layers on an
//             H200, 2026-11-27 (docs/measurements.md): its kernels had
//             mma.sync, whose peak is 0.63 of wgmma's there. Of the other
//             cards' peaks, which are those of mma.sync, the same kernels are
//             taken to reach as much more.
#include "act/Target/Target.h"
#include <algorithm>
#include <cstdlib>

using namespace act;

namespace {

constexpr Reached onHopper{0.36, 0.26, 0.132, 0.74};
constexpr Reached onOthers{onHopper.products / 0.63, onHopper.attention / 0.63,
                           onHopper.attentionGrad / 0.63, onHopper.memory};

Card card(const char *id, const char *name, int64_t sms, double gigahertz,
          double tensorFlops, double f32Flops, double memoryBytes,
          double linkBytes, const Reached &reached) {
  const double clock = gigahertz * 1e9;
  return {id,
          name,
          sms,
          clock,
          tensorFlops,
          f32Flops,
          16 * double(sms) * clock,
          memoryBytes,
          linkBytes,
          reached};
}

TargetLimits limits(int64_t sharedPerBlock, int64_t sharedPerSm,
                    int64_t warpsPerSm, int64_t blocksPerSm) {
  TargetLimits l{};
  l.sharedBytesPerBlock = sharedPerBlock * 1024;
  l.sharedBytesPerSm = sharedPerSm * 1024;
  l.registersPerSm = 65536;
  l.registersPerThread = 255;
  l.threadsPerBlock = 1024;
  l.warpsPerSm = warpsPerSm;
  l.blocksPerSm = blocksPerSm;
  return l;
}

/// The number in sm_87 or sm_90a; 0: it has none.
unsigned long smOf(const std::string &device) {
  return device.rfind("sm_", 0) == 0
             ? std::strtoul(device.c_str() + 3, nullptr, 10)
             : 0;
}

} // namespace

const std::vector<Target> &act::allTargets() {
  static const std::vector<Target> targets = [] {
    TargetFeatures ada;
    ada.float8Products = true;
    TargetFeatures hopper = ada;
    hopper.matrixStores = hopper.vectorAdditions = hopper.bulkCopies =
        hopper.wgmma = hopper.suspendsAtMbarriers = true;
    return std::vector<Target>{{"sm_80",
                                80,
                                0,
                                limits(163, 164, 64, 32),
                                {},
                                card("a100", "A100 80GB SXM", 108, 1.41, 312e12,
                                     19.5e12, 2.039e12, 25e9, onOthers)},
                               {"sm_86",
                                86,
                                0,
                                limits(99, 100, 48, 16),
                                {},
                                card("rtx3090", "RTX 3090", 82, 1.695, 71e12,
                                     35.6e12, 0.936e12, 25e9, onOthers)},
                               {"sm_89", 89, 0, limits(99, 100, 48, 24), ada,
                                card("rtx4090", "RTX 4090", 128, 2.52, 165.2e12,
                                     82.6e12, 1.008e12, 25e9, onOthers)},
                               {"sm_90a", 90, 'a', limits(227, 228, 64, 32),
                                hopper,
                                card("h100", "H100 SXM", 132, 1.83, 989.4e12,
                                     66.9e12, 3.35e12, 50e9, onHopper)}};
  }();
  return targets;
}

const std::vector<Card> &act::allCards() {
  static const std::vector<Card> cards = [] {
    std::vector<Card> all;
    for (const Target &t : allTargets())
      all.push_back(t.card);
    all.push_back(card("h200", "H200 SXM", 132, 1.83, 989.4e12, 66.9e12, 4.8e12,
                       50e9, onHopper));
    return all;
  }();
  return cards;
}

Result<const Card *> act::cardNamed(const std::string &name) {
  if (const Target *target = findTarget(name))
    return &target->card;
  std::string ids;
  for (const Card &c : allCards()) {
    if (c.id == name)
      return &c;
    ids += (ids.empty() ? "" : ", ") + std::string(c.id);
  }
  return Error{"unknown card '" + name + "', expected one of " + ids +
                   ", or a target",
               ""};
}

bool Target::runsOn(const std::string &device) const {
  return suffix ? device == name : smOf(device) >= sm;
}

const Target *act::findTarget(const std::string &name) {
  for (const Target &t : allTargets())
    if (t.name == name)
      return &t;
  return nullptr;
}

std::string act::targetNames() {
  std::string names;
  const std::vector<Target> &all = allTargets();
  for (const Target &t : all)
    names += (&t == &all.front()  ? ""
              : &t == &all.back() ? " or "
                                  : ", ") +
             std::string(t.name);
  return names;
}

Result<const Target *> act::targetNamed(const std::string &name) {
  if (const Target *found = findTarget(name))
    return found;
  return Error{"unknown target '" + name + "', expected " + targetNames(), ""};
}

const Target *act::newestTargetFor(const std::string &device) {
  const std::vector<Target> &all = allTargets();
  auto newest = std::find_if(all.rbegin(), all.rend(),
                             [&](const Target &t) { return t.runsOn(device); });
  return newest == all.rend() ? nullptr : &*newest;
}
