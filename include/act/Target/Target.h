// SPDX-License-Identifier: Apache-2.0
//
// The GPUs that kernels are compiled for: what a block may use, what the
// instruction set has, and the peak rates of one named card.
//
// The compiler asks this table and no other. The simulator has numbers of its
// own (runtime/sim/program/Target.h), because it judges what the compiler
// makes; test/runtime/sim/TargetTest.cpp says where the two agree.
#ifndef ACT_TARGET_TARGET_H
#define ACT_TARGET_TARGET_H
#include "act/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace act {

/// What the hardware gives to a block, a thread and an SM.
struct TargetLimits {
  int64_t sharedBytesPerBlock; ///< with the opt-in of large kernels
  int64_t sharedBytesPerSm;
  int64_t registersPerSm;
  int64_t registersPerThread;
  int64_t threadsPerBlock;
  int64_t warpsPerSm;
  int64_t blocksPerSm;
};

/// Instructions that not every target has. All have cp.async, mma.sync on bf16
/// and tf32, and mbarriers.
struct TargetFeatures {
  bool float8Products = false;  ///< mma.sync on f8
  bool matrixStores = false;    ///< stmatrix
  bool vectorAdditions = false; ///< red.v4.f32 of global memory
  bool bulkCopies = false;      ///< cp.async.bulk, tensor maps, clusters
  bool wgmma = false;
  /// mbarrier.try_wait suspends the thread, so a loop around it does not spin.
  bool suspendsAtMbarriers = false;
};

/// Fractions of a card's peaks that the kernels of a training step reach, over
/// all products, attention and so on of a step.
struct Reached {
  double products;      ///< of tensorFlops, or f32Flops
  double attention;     ///< forward, likewise
  double attentionGrad; ///< likewise
  double memory;        ///< of memoryBytes
};

/// Peak rates of a card, per second. An FMA is two operations.
struct Card {
  const char *id;   ///< h100
  const char *name; ///< for people
  int64_t sms;
  double clock;       ///< Hz, of the tensor cores' rate
  double tensorFlops; ///< bf16 with f32 sums, dense
  double f32Flops;
  double exp2;        ///< ex2.approx.f32
  double memoryBytes; ///< device memory
  double linkBytes;   ///< to the host, one direction: what copies reach
  Reached reached;
};

struct Target {
  const char *name; ///< sm_90a
  uint32_t sm;      ///< 90
  char suffix;      ///< 'a': has the architecture's own instructions; else 0
  TargetLimits limits;
  TargetFeatures features;
  Card card;

  /// Whether its code runs on a device: plain code on its own architecture and
  /// later ones, code with a suffix only where the names are equal.
  bool runsOn(const std::string &device) const;
};

/// From the oldest to the newest.
const std::vector<Target> &allTargets();
/// "sm_80, sm_86, sm_89 or sm_90a", for messages.
std::string targetNames();
/// sm_80, sm_86, sm_89 or sm_90a; null for any other name.
const Target *findTarget(const std::string &name);
/// The same, with an error that names the targets there are.
Result<const Target *> targetNamed(const std::string &name);
/// The cards that times are estimated for: one of each target, and more.
const std::vector<Card> &allCards();
/// The card of an id, or of a target, with an error that names those there are.
Result<const Card *> cardNamed(const std::string &name);
/// The newest target whose code runs on a device such as sm_87; null if none.
const Target *newestTargetFor(const std::string &device);

} // namespace act
#endif
