// SPDX-License-Identifier: Apache-2.0
//
// Addresses of a block in shared memory.
//
// Each thread has its own position, from lane and warp, and each access adds a
// constant to it. Where layout::Shared finds that the constants do not disturb
// the thread's part of the swizzle, an address is
//
//     (the thread's offset ^ flip) + add
//
// The offset is computed once, one xor serves many accesses, and `add` is an
// immediate of the instruction. Otherwise each access computes its own address.
#ifndef ACT_PASSES_TILE_THREADS_SHAREDADDRESS_H
#define ACT_PASSES_TILE_THREADS_SHAREDADDRESS_H

#include "act/Layout/Shared.h"
#include "passes/tile/threads/ThreadBuilder.h"

namespace act::tile {

/// How the blocks of a shared type are laid out, one after the other.
layout::Shared sharedForm(SharedType type);
/// The first byte of the block in `slot`.
mlir::Value slotPointer(SharedType type, mlir::Value pointer,
                        mlir::ValueRange slot, ThreadBuilder &t);

/// Which thread copies which 16-byte piece of a panel, a block of [rows,
/// columns of the panel].
Result<layout::Distributed> copyLayout(const layout::Shared &form,
                                       const layout::Shared::Panel &panel,
                                       int64_t warps);

struct Accesses {
  mlir::Value row, column;              // i32: the thread's position
  std::vector<layout::Place> threads;   // the same, of each thread
  std::vector<layout::Place> constants; // what each access adds
};
/// For the registers of a block of rank 1 or 2, `step` at a time.
Accesses accessesOf(mlir::Type block, int64_t step, ThreadBuilder &t);

class SharedAddress {
public:
  SharedAddress(const layout::Shared &form, mlir::Value pointer,
                Accesses accesses, ThreadBuilder &t);

  /// !llvm.ptr<3> of access i.
  mlir::Value at(size_t i);

private:
  mlir::Value offset(const layout::Shared::Panel &panel, mlir::Value row,
                     mlir::Value byte);
  mlir::Value offset(layout::Place constant);
  mlir::Value pointer(mlir::Value offset, int64_t constant);

  const layout::Shared form;
  mlir::Value base;
  Accesses accesses;
  ThreadBuilder &t;
  std::optional<std::vector<layout::Shared::Delta>> deltas;
  std::map<int64_t, mlir::Value> flipped;
};

/// Swizzled shared memory for `slots` two-dimensional blocks; for 0, one block
/// without a slot dimension.
SharedType swizzledMemory(mlir::RankedTensorType block, int64_t slots = 0);
/// Replaces a conversion by a read of `shared`, which holds the converted block
/// or, for a transposed conversion, the block before the transpose.
void readFrom(mlir::Value shared, mlir::ValueRange slot,
              ConvertLayoutOp conversion, mlir::OpBuilder &b);

} // namespace act::tile
#endif
