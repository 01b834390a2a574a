// SPDX-License-Identifier: Apache-2.0
//
// Fat binaries: several images of one module, for whoever loads it to choose.
//
// nvcc, fatbinary, and MLIR's gpu-module-to-binary by default make them. All
// numbers are little end first.
//
//     container    0  u32 0xba55ed50   4  u16 version, 1    6  u16 header bytes
//                  8  u64 bytes of the entries behind the header
//     entry        0  u16 kind: 1 PTX, 2 machine code       2  u16 version
//                  4  u32 header bytes, from the entry's start
//                  8  u64 bytes behind the header, as far as the next entry
//                 16  u32 bytes when compressed, else 0
//                 28  u32 architecture                     40  u64 flags
//                 56  u64 bytes when they are decompressed
//     flags        0x2000 an LZ4 block, 0x8000 a zstd frame
//
// NVIDIA documents none of it; this is what the toolkits' own tools write (9 to
// 13.0), as far as it is needed to find PTX.
#ifndef ACT_RUNTIME_FATBINARY_H
#define ACT_RUNTIME_FATBINARY_H
#include "act/Result.h"
#include "runtime/PtxTarget.h"
#include <functional>
#include <string>
#include <string_view>

namespace act::runtime {

bool isFatBinary(std::string_view image);

/// The PTX of a module that a simulator is given: the image itself, or, of a
/// fat binary, what is for the highest target that `runs`. An error for machine
/// code, for a fat binary without such PTX (it says what there is), and for one
/// that is damaged.
Result<std::string> ptxOf(std::string_view image,
                          const std::function<bool(const PtxTarget &)> &runs);

} // namespace act::runtime
#endif
