// SPDX-License-Identifier: Apache-2.0
//
// Sizes and names of a Step's tensor types. Every product is checked for
// overflow, because a shape read from a file may hold anything.
#ifndef ACT_ARTIFACT_TYPES_H
#define ACT_ARTIFACT_TYPES_H
#include "act/Artifact/Step.h"
#include "act/Result.h"

namespace act::artifact {

/// Upper bound on the bytes of a tensor, an arena or a part of a file: 2^48.
constexpr uint64_t maxBytes = uint64_t{1} << 48;

/// "f32", "bf16", "f8E4M3FN", ...; "?" for a value that is no dtype.
const char *dtypeName(DType dtype);
/// Bytes of one element; 0 for nf4, which packs two elements into a byte.
uint64_t elementBytes(DType dtype);
bool isFloat(DType dtype); // nf4 is not
bool isNf4(DType dtype);   // nested or not
/// "f32[2,3]"
std::string typeName(const TensorType &type);

/// The product of the shape; an error when a dimension is negative or the
/// product exceeds maxBytes.
Result<uint64_t> elementCount(const TensorType &type);
/// Bytes in memory; for nf4 as in nf4::Layout.
Result<uint64_t> byteSize(const TensorType &type);

} // namespace act::artifact
#endif
