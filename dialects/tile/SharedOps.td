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
    One slot index per dimension that the block lacks.

    Example:
    ```mlir
    tile.store_shared %a, %s[%slot] : tensor<64x128xbf16>, !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>
    ```
  }];
  let arguments = (ins Tile_Block:$value, Tile_SharedType:$shared, Variadic<Index>:$slot);
  let assemblyFormat = "$value `,` $shared (`[` $slot^ `]`)? attr-dict `:` type($value) `,` qualified(type($shared))";
  let hasVerifier = 1;
}

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[
    MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>,
    MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "waits for all threads of the program";
  let description = [{
    Writes by any of them before the barrier are visible to all of them after it.
    Inside `roles` it applies to all threads of the role.

    Example:
    ```mlir
    tile.barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}
