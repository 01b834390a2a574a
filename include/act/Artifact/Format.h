// SPDX-License-Identifier: Apache-2.0
//
// A Step as bytes, and back.
//
// The bytes are a FlatBuffer (lib/Artifact/Step.fbs) with the file identifier
// "ACTS" and a format number; a reader refuses those it does not know and names
// them. A file has the first format that can hold the step. Kernels' images
// need none of their own: a reader that does not know them runs the PTX.
// `read` trusts nothing: it runs FlatBuffers' verifier, then `validate`, which
// checks every index, offset, size and enumerator against what it refers to.
// A Step from `read` can run without further checks. `write` validates too, so
// that a compiler bug shows up where it is made.
//
//   auto bytes = artifact::write(step);
//   auto again = artifact::read(bytes->data(), bytes->size());
//
// The one thing that cannot be checked is what native code does: see
// `allow native` in act-c/Runtime.h.
#ifndef ACT_ARTIFACT_FORMAT_H
#define ACT_ARTIFACT_FORMAT_H
#include "act/Artifact/Step.h"
#include "act/Result.h"
#include <cstddef>

namespace act::artifact {

constexpr uint32_t formatNumber = 2;
/// Of steps without tensor maps, which older readers know too.
constexpr uint32_t firstFormat = 1;
constexpr uint64_t maxScratchBytes = uint64_t{1} << 32; // per thread
constexpr uint64_t maxGrid = uint64_t{1} << 40;
constexpr uint64_t maxArguments = 1024; // of one launch
constexpr uint64_t arenaAlignment = 64;
/// Of one kernel: parameters have 4 KiB.
constexpr uint64_t maxTensorMaps = 24;
constexpr uint64_t tensorMapBytes = 128; // of one, as it is passed
constexpr uint64_t imageAlignment = 16;

Result<std::vector<uint8_t>> write(const Step &step);
Result<Step> read(const void *data, size_t bytes);
/// True when the bytes start like an artifact of any format.
bool looksLikeArtifact(const void *data, size_t bytes);

/// Checks everything that `read` guarantees; the error names the first
/// violation.
Status validate(const Step &step);

Status writeFile(const std::string &path, const Step &step);
Result<Step> readFile(const std::string &path);

} // namespace act::artifact
#endif
