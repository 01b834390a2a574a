// SPDX-License-Identifier: Apache-2.0
//
// Values into the bytes of a tensor and out of them, on several threads. Where
// values come from is a function of a range of elements, so that nothing is
// ever there twice: what is drawn or read from a mapped file is written where
// it belongs.
#ifndef ACT_RUNTIME_STEP_TENSORBYTES_H
#define ACT_RUNTIME_STEP_TENSORBYTES_H
#include "act/Artifact/Step.h"
#include "act/Result.h"
#include <functional>

namespace act::runtime {

/// Ranges of a tensor begin at multiples of this (nf4 has its blocks besides).
constexpr uint64_t rangeAlignment = 64;

/// Writes elements [first, first + count) as type `to` to `target`; called from
/// several threads at a time. `first` is a multiple of rangeAlignment.
using Elements = std::function<void(uint64_t first, uint64_t count,
                                    artifact::DType to, void *target)>;

/// The elements at `source`, which are of type `from`.
Elements elementsAt(artifact::DType from, const void *source);
/// `elements` rounded to `type`, as they are once they have been stored so.
Elements rounded(Elements elements, artifact::DType type);

/// All elements into the byteSize(type) bytes at `target`; quantises for nf4.
Status writeTensor(const artifact::TensorType &type, const Elements &elements,
                   void *target, unsigned threads);
/// The bytes of `type` at `source` as `to`; dequantises nf4.
Status readTensor(const artifact::TensorType &type, const void *source,
                  artifact::DType to, void *target, unsigned threads);

} // namespace act::runtime
#endif
