// SPDX-License-Identifier: Apache-2.0
//
// Steps written by hand around Kernels.c, for tests of everything that reads,
// loads or runs a step.
#ifndef ACT_TEST_RUNTIME_HANDMADESTEPS_H
#define ACT_TEST_RUNTIME_HANDMADESTEPS_H
#include "act/Artifact/Step.h"
#include <string>

namespace act::test {

/// The shared object of Kernels.c; empty when it cannot be read.
std::vector<uint8_t> kernelCode();

/// Function "step": y = ((x * scale + 1) + (x * scale + 1)) + x over `blocks`
/// blocks of 16 floats, with two buffers in the arena:
///
///   launch 0  scale_add   a = scale * x + 1
///   launch 1  <kernel>    b = a + a
///   launch 2  add         y = b + x
///
/// a lives [0, 1], b lives [1, 2].
artifact::Step arithmeticStep(int64_t blocks = 4,
                              const std::string &kernel = "add");

/// Function "grad" in two parts, on 16 floats: a = x + w and y = a + a, then
/// w.grad = a + y.grad. y updates x.
artifact::Step twoPartStep();

/// The same as arithmeticStep for cuda and sim, on the kernels of
/// ptx/arithmetic.ptx.
artifact::Step arithmeticStepOfPtx(int64_t blocks, const std::string &ptx);

/// Gives the kernel an image, behind those of the kernels before it: a GPU's
/// ELF header, and `text`, by which FakeCuda.c knows what to do with it.
void addImage(artifact::Step &step, size_t kernel, const std::string &text);

/// Function "step" for sm_90: out = the first 8 rows of x's 64 columns, of 16
/// bits, by a tensor map; on the kernel of ptx/tile-step.ptx. x has 16 rows.
artifact::Step tileStep(const std::string &ptx);

struct BigramOptions {
  int64_t batch = 2, length = 8, vocabulary = 16;
  bool packed = false; // tokens [t] and cu_seqlens [5]
};
/// A bigram model with functions step, eval and forward, trained by "sgd" with
/// momentum; parameter model.embed_tokens.weight [V, V].
artifact::Step bigramStep(const BigramOptions &options = {});

} // namespace act::test
#endif
