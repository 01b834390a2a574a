// SPDX-License-Identifier: Apache-2.0
//
// Fat binaries: several images of one module; the loader chooses one.
//
// nvcc, fatbinary and, by default, MLIR's gpu-module-to-binary write them. All
// numbers are little-endian.
//
//     container    0  u32 0xba55ed50   4  u16 version, 1    6  u16 header bytes
//                  8  u64 bytes of the entries after the header
//     entry        0  u16 kind: 1 PTX, 2 machine code       2  u16 version
//                  4  u32 header bytes, from the entry's start
//                  8  u64 bytes after the header, up to the next entry
//                 16  u32 bytes when compressed, else 0
//                 28  u32 architecture                     40  u64 flags
//                 56  u64 bytes when decompressed
//     flags        0x2000 an LZ4 block, 0x8000 a zstd frame
//
// NVIDIA does not document the format. This is what the tools of toolkits 9 to
// 13.0 write, as far as it is needed to find PTX.
#ifndef ACT_RUNTIME_FATBINARY_H
#define ACT_RUNTIME_FATBINARY_H
#include "act/Result.h"
#include "runtime/PtxTarget.h"
#include <functional>
#include <string>
#include <string_view>

namespace act::runtime {

bool isFatBinary(std::string_view image);

/// The PTX of a module for a simulator: the image itself or, from a fat binary,
/// the PTX for the highest target that `runs`. An error for machine code, for a
/// fat binary without such PTX (the message lists its contents) and for a
/// damaged one.
Result<std::string> ptxOf(std::string_view image,
                          const std::function<bool(const PtxTarget &)> &runs);

/// The lowest simulated device that runs the module, which is PTX or a fat
/// binary with PTX: "sim:sm_90a".
Result<std::string> simulatorFor(std::string_view image);

} // namespace act::runtime
#endif
