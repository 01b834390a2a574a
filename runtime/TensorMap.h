// SPDX-License-Identifier: Apache-2.0
//
// A tensor map: 128 bytes that tell Hopper's copy engine the layout of a tensor
// of up to five dimensions in global memory, and the box that one instruction
// moves. On a GPU the driver encodes them; for the simulator this file does, in
// the layout that `tensormap.replace` patches:
//
//   0x00  address (64 bits)
//   0x08  [6:4] rank - 1, [10:7] element type, [12:11] interleave,
//         [14:13] swizzle, [15] out-of-bounds fill is NaN
//   0x0c  strides of dimensions 1..4 in 16 bytes, 32 bits each; their bits
//         [35:32] are the nibbles of 0x1c
//   0x20  sizes of dimensions 0..4, each minus 1, 32 bits each
//   0x34  [14:0] 3 bits per dimension: element stride - 1; [31:24] box 0 - 1
//   0x38  boxes of dimensions 1..4, each minus 1, 8 bits each
//
// Dimension 0 is the innermost one. The checks are those of
// cuTensorMapEncodeTiled (CUDA driver API, tensor map object management), so a
// map that a card rejects is rejected here too, with an explanation.
#ifndef ACT_RUNTIME_TENSORMAP_H
#define ACT_RUNTIME_TENSORMAP_H
#include "act/Artifact/Step.h"
#include "act/Result.h"
#include <cstdint>

namespace act::runtime {

struct alignas(64) TensorMap {
  uint8_t bytes[128];
};

/// The driver's numbers; the codes in a map differ.
enum class TensorMapType : uint32_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz,
};
/// 0 for an unknown type.
unsigned bytesOf(TensorMapType type);

struct TiledTensor {
  TensorMapType type = TensorMapType::F32;
  uint32_t rank = 0;
  uint64_t address = 0;
  uint64_t sizes[5] = {1, 1, 1, 1, 1};          // elements
  uint64_t strides[4] = {0, 0, 0, 0};           // bytes, of dimensions 1..4
  uint32_t box[5] = {1, 1, 1, 1, 1};            // elements
  uint32_t elementStrides[5] = {1, 1, 1, 1, 1}; // elements
  uint32_t interleave = 0;                      // none, 16 bytes, 32 bytes
  uint32_t swizzle = 0;                         // none, 32, 64, 128 bytes
  uint32_t l2Promotion = 0;                     // none, 64, 128, 256 bytes
  uint32_t fill = 0;                            // zero, NaN
};

/// The tensor that an artifact's map describes, at this address.
TiledTensor tiledTensor(const artifact::TensorMap &map, uint64_t address);
/// The error names the first field that the copy engine does not support.
Status checkTiledTensor(const TiledTensor &tensor);
/// Checks, then encodes.
Result<TensorMap> encodeTensorMap(const TiledTensor &tensor);
/// Decodes a map as the copy engine does. An error if the engine does not
/// support it, as for a map that was never encoded. L2 promotion is not kept.
Result<TiledTensor> decodeTensorMap(const TensorMap &map);

/// Fields that tensormap.replace changes, with its names and codes.
enum class TensorMapField : uint8_t {
  GlobalAddress,
  Rank, // minus 1
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElemType,
  InterleaveLayout,
  SwizzleMode,
  FillMode,
};
/// Stores any value; errors show when the map is used. `dimension`: 0 to 4, for
/// strides 0 to 3; ignored by fields without dimensions.
void replaceField(TensorMap &map, TensorMapField field, unsigned dimension,
                  uint64_t value);

} // namespace act::runtime
#endif
