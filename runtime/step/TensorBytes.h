// SPDX-License-Identifier: Apache-2.0
//
// Writes values to the bytes of a tensor and reads them, on several threads.
// The source is a function of a range of elements, so no second copy exists:
// values drawn or read from a mapped file go straight to their place.
#ifndef ACT_RUNTIME_STEP_TENSORBYTES_H
#define ACT_RUNTIME_STEP_TENSORBYTES_H
#include "act/Artifact/Step.h"
#include "act/Result.h"
#include <functional>

namespace act::runtime {

/// Ranges of a tensor begin at multiples of this (nf4: also of its blocks).
constexpr uint64_t rangeAlignment = 64;

/// Writes elements [first, first + count) as type `to` to `target`. Called from
/// several threads concurrently. `first` is a multiple of rangeAlignment.
using Elements = std::function<void(uint64_t first, uint64_t count,
                                    artifact::DType to, void *target)>;

/// The elements at `source`, which are of type `from`.
Elements elementsAt(artifact::DType from, const void *source);
/// `elements` rounded to `type`, as if stored in it.
Elements rounded(Elements elements, artifact::DType type);

/// Writes all elements to the byteSize(type) bytes at `target`; quantises for
/// nf4.
Status writeTensor(const artifact::TensorType &type, const Elements &elements,
                   void *target, unsigned threads);
/// Reads the tensor of `type` at `source` as `to`; dequantises nf4.
Status readTensor(const artifact::TensorType &type, const void *source,
                  artifact::DType to, void *target, unsigned threads);

} // namespace act::runtime
#endif
