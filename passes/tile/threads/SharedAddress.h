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

#include "passes/tile/threads/SharedForm.h"
#include "passes/tile/threads/ThreadBuilder.h"

namespace act::tile {

/// The first byte of the block in `slot`.
mlir::Value slotPointer(SharedType type, mlir::Value pointer,
                        mlir::ValueRange slot, ThreadBuilder &t);

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

} // namespace act::tile
#endif
