// SPDX-License-Identifier: Apache-2.0
// Shared memory. Passes insert these ops; users need not.
include "dialects/tile/OpBase.td"

def Tile_AllocSharedOp : Tile_Op<"alloc_shared"> {
  let summary = "shared memory of a program";
  let description = [{
    The memory is live from its first to its last use in the op's block.
    In a loop body each iteration has its own, initially undefined. Memory that is
    no longer live is reused. Once a pass has placed it, `offset` is its distance
    in bytes from the start of the program's shared memory.

    Example:
    ```mlir
    %s = tile.alloc_shared : !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>
    %t = tile.alloc_shared offset 32768 : !tile.shared<64x128xbf16, #tile.shared<swizzle = 128>>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Tile_SharedType, "", [MemAlloc<Tile_SharedMemory>]>:$result);
  let assemblyFormat = "(`offset` $offset^)? attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_CopyAsyncOp : Tile_Op<"copy_async", [AttrSizedOperandSegments, Tile_BlockAccess,
    MemoryEffects<[MemRead<Tile_GlobalMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "starts to copy a block of a view to shared memory";
  let description = [{
    Elements outside the view are filled with zeros. The copy belongs to the group
    that the next `commit_copies` closes. It is complete after a `wait_copies` for
    that group and a `barrier`, or when an mbarrier signals it
    (`mbarrier_arrive_copies`).

    Example:
    ```mlir
    tile.copy_async %v[%i : 64, %k : 128] to %s[%slot] : !tile.view<4096x128xbf16>, !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Tile_Index>:$indices,
                       Tile_SharedType:$shared, Variadic<Index>:$slot, DenseI64ArrayAttr:$extents);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_CommitCopiesOp : Tile_Op<"commit_copies", [MemoryEffects<[MemWrite<Tile_SharedMemory>]>]> {
  let summary = "closes a group of copies";
  let description = [{
    The copies started since the last `commit_copies` form one group, possibly
    empty.

    Example:
    ```mlir
    tile.commit_copies
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_WaitCopiesOp : Tile_Op<"wait_copies", [MemoryEffects<[MemWrite<Tile_SharedMemory>]>]> {
  let summary = "waits until few groups of copies are pending";
  let description = [{
    Returns when at most the `pending` youngest groups committed by this thread
    are incomplete.

    Example:
    ```mlir
    tile.wait_copies 1
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

def Tile_LoadSharedOp : Tile_Op<"load_shared", [MemoryEffects<[MemRead<Tile_SharedMemory>]>]> {
  let summary = "reads a block from shared memory";
  let description = [{
    One slot index per dimension that the block lacks.

    Example:
    ```mlir
    %a = tile.load_shared %s[%slot] : !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>> -> tensor<64x128xbf16>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, Variadic<Index>:$slot);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = "$shared (`[` $slot^ `]`)? attr-dict `:` qualified(type($shared)) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreSharedOp : Tile_Op<"store_shared", [MemoryEffects<[MemWrite<Tile_SharedMemory>]>]> {
  let summary = "writes a block to shared memory";
  let description = [{
    One slot index per dimension that the block lacks. With `order` memory has the
    block's dimensions in that order, the outermost first, as rows of some length.

    Example:
    ```mlir
    tile.store_shared %a, %s[%slot] : tensor<64x128xbf16>, !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>
    tile.store_shared %b, %t[%slot] order [0, 2, 1] : tensor<8x16x64xf32>, !tile.shared<2x8x1024xf32>
    ```
  }];
  let arguments = (ins Tile_Block:$value, Tile_SharedType:$shared, Variadic<Index>:$slot,
                       OptionalAttr<DenseI64ArrayAttr>:$order);
  let assemblyFormat = [{
    $value `,` $shared (`[` $slot^ `]`)? (`order` $order^)? attr-dict `:` type($value) `,` qualified(type($shared))
  }];
  let hasVerifier = 1;
}

def Tile_SharedViewOp : Tile_Op<"shared_view", [Pure]> {
  let summary = "one block of shared memory";
  let description = [{
    The block in a slot: one index per dimension that the result lacks. If the
    result is transposed, its dimensions are those of the block in the other order;
    no element moves.

    Example:
    ```mlir
    %1 = tile.shared_view %s[%i] : !tile.shared<4x256x64xbf16, #tile.shared<swizzle = 128>> -> !tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, Variadic<Index>:$slot);
  let results = (outs Tile_SharedType:$result);
  let assemblyFormat = "$shared (`[` $slot^ `]`)? attr-dict `:` qualified(type($shared)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_ToSharedOp : Tile_Op<"to_shared", [Pure]> {
  let summary = "a loaded block in shared memory";
  let description = [{
    Where a product reads a loaded block from shared memory. `--tile-assign-roles`
    and `--tile-stage-loads` copy the block there and put the memory in place of
    this op.

    Example:
    ```mlir
    %0 = tile.to_shared %a : tensor<128x64xbf16> -> !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>
    ```
  }];
  let arguments = (ins Tile_Block:$block);
  let results = (outs Tile_SharedType:$result);
  let assemblyFormat = "$block attr-dict `:` type($block) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_FenceSharedOp : Tile_Op<"fence_shared", [MemoryEffects<[
    MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "makes a thread's writes to shared memory visible to asynchronous ops";
  let description = [{
    Asynchronous products and copies by tensor maps reach shared memory by a way of
    their own (the async proxy). They see what a thread has written before this op,
    once a barrier has ordered them behind it.

    Example:
    ```mlir
    tile.fence_shared
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_CopyTensorOp : Tile_Op<"copy_tensor", [AttrSizedOperandSegments, Tile_BlockAccess,
    MemoryEffects<[MemRead<Tile_GlobalMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "copies a block of a view to shared memory by a tensor map";
  let description = [{
    One thread starts the copy, which the hardware carries out (TMA). Elements
    outside the view are filled with zeros. The copy is complete when the mbarrier
    has counted its bytes, which `mbarrier_expect` announces.

    The view is a kernel's argument, perhaps with its dimensions in another order,
    of at most five dimensions. Its last block dimension is contiguous, and the
    other strides are multiples of 16 bytes. The launch passes a map of it.

    With `multicast`, the programs of a cluster copy the block together, and all of
    them must execute the op: each copies a part of its rows to the slot in every
    one's memory, and signals every one's mbarrier. So each counts the bytes of the
    whole block, and nobody copies before the slot is empty in all programs
    (`mbarrier_arrive ... cluster`). The rows are a multiple of 8 for each program.

    Example:
    ```mlir
    tile.copy_tensor %v[%c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    tile.copy_tensor %v[%c0 : 128, %c0 : 64] to %s[%c0] signals %full[%c0] multicast : !tile.view<4096x4096xbf16>, !tile.shared<4x128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<4xi64>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Tile_Index>:$indices,
                       Tile_SharedType:$shared, Variadic<Index>:$slot,
                       Tile_SharedType:$mbarriers, Index:$mbarrier,
                       DenseI64ArrayAttr:$extents, UnitAttr:$multicast);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_StoreTensorOp : Tile_Op<"store_tensor", [Tile_BlockAccess,
    MemoryEffects<[MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>, MemWrite<Tile_GlobalMemory>]>]> {
  let summary = "writes a block of a view by a tensor map";
  let description = [{
    Each warp puts its rows into memory of its own, 16 rows of a panel at a time, and
    one of its threads starts the copy, which the hardware carries out (TMA). The op
    does not wait for it; `wait_stores` does. `shared` has two such pieces for each
    warp, so that one is filled while the other one is copied.

    The block is of 16-bit elements and has the layout of a product's sum, with all
    warps below each other. The view is as for `copy_tensor`. Elements outside the
    view are not written.

    Example:
    ```mlir
    tile.store_tensor %r, %v[%c0 : 128, %c0 : 256] by %s : tensor<128x256xbf16>, !tile.view<4096x4096xbf16>, !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>
    ```
  }];
  let arguments = (ins Tile_Block:$value, Tile_ViewType:$view,
                       Variadic<Tile_Index>:$indices, Tile_SharedType:$shared,
                       DenseI64ArrayAttr:$extents);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_ReduceBulkOp : Tile_Op<"reduce_bulk", [AttrSizedOperandSegments, Tile_BlockAccess,
    MemoryEffects<[MemRead<Tile_SharedMemory>, MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>]>]> {
  let summary = "adds a block of shared memory to a view by the copy engine";
  let description = [{
    view[..] += shared[slot], element by element and atomically at device scope, as
    `atomic_add` does. One thread starts it, in the role `store`, and the hardware
    carries it out (cp.reduce.async.bulk). `wait_stores` waits for it.

    The block consists of runs of elements that are contiguous in memory: of all of
    its dimensions but one it has the whole view's, and these together have strides
    as if the view were packed. A slot has a row for each index of the other
    dimension, with the run's elements in the order of memory. Rows outside the view
    are not added. Elements are f32, and runs whole 16-byte pieces.

    Example:
    ```mlir
    tile.reduce_bulk %s[%slot] to %v[%i : 8, %c0 : 16, %c0 : 64] : !tile.shared<2x8x1024xf32>, !tile.view<512x16x64xf32>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, Variadic<Index>:$slot, Tile_ViewType:$view,
                       Variadic<Tile_Index>:$indices, DenseI64ArrayAttr:$extents);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_WaitStoresOp : Tile_Op<"wait_stores", [MemoryEffects<[MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>,
    MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>]>]> {
  let summary = "waits until the copy engine's stores have read shared memory";
  let description = [{
    With `complete`, until memory has them, for programs that get a turn from this
    one.

    Example:
    ```mlir
    tile.wait_stores %s : !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>
    tile.wait_stores complete %t : !tile.shared<2x8x1024xf32>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, UnitAttr:$complete);
  let assemblyFormat = "(`complete` $complete^)? $shared attr-dict `:` qualified(type($shared))";
}

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[
    MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>,
    MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "waits for all threads of the program, or of a part of it";
  let description = [{
    Writes by any of them before the barrier are visible to all of them after it.
    Inside `roles` it applies to all threads of the role.

    With `parts N` each warp waits only for its part of the program: the warps whose
    numbers are equal to its own modulo N. N divides the number of warps, and is 15
    at most. There are no parts inside `roles`.

    Example:
    ```mlir
    tile.barrier
    tile.barrier parts 4
    ```
  }];
  let arguments = (ins DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<15>]>, "1">:$parts);
  let assemblyFormat = "(`parts` $parts^)? attr-dict";
  let builders = [OpBuilder<(ins), [{ $_state.addAttribute(getPartsAttrName($_state.name), $_builder.getI64IntegerAttr(1)); }]>];
  let extraClassDeclaration = [{
    /// Whether it waits for all threads.
    bool isWhole() { return getParts() == 1; }
  }];
  let hasVerifier = 1;
}
