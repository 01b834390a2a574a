// SPDX-License-Identifier: Apache-2.0
// Global memory: views of it, and blocks read from them and written to them.
//
// In every access each dimension of the view has an index. `: 128` after it
// makes it a dimension of the block, 128 elements from the index on. A tensor as
// an index gathers, and is also a dimension of the block. The type of an index
// is written unless it is `index`: `%r : tensor<128xi32>`.
include "dialects/tile/OpBase.td"

def Tile_ViewOp : Tile_Op<"view", [Pure, AttrSizedOperandSegments]> {
  let summary = "a view of the memory behind a pointer";
  let description = [{
    Sizes and strides are in elements, each a number or a value of type `index`. A
    view with a size that is negative at run time contains nothing.
    Without `strides` the view is dense in row-major order.

    Example:
    ```mlir
    %v = tile.view %p sizes [%n, 64] strides [256, 1] : !tile.ptr<bf16> -> !tile.view<?x64xbf16, strides = [256, 1]>
    ```
  }];
  let arguments = (ins Tile_PtrType:$pointer, Variadic<Index>:$sizes, Variadic<Index>:$strides,
                       DenseI64ArrayAttr:$static_sizes, DenseI64ArrayAttr:$static_strides);
  let results = (outs Tile_ViewType:$result);
  let assemblyFormat = [{
    $pointer `sizes` custom<DynamicIndexList>($sizes, $static_sizes)
    `` custom<ViewStrides>($strides, $static_strides)
    attr-dict `:` qualified(type($pointer)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// One per dimension: a number, or a value of type index.
    ::llvm::SmallVector<::mlir::OpFoldResult> getMixedSizes();
    /// As many as dimensions, or none when the view is row-major.
    ::llvm::SmallVector<::mlir::OpFoldResult> getMixedStrides();
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$pointer,
    "::llvm::ArrayRef<::mlir::OpFoldResult>":$sizes,
    CArg<"::llvm::ArrayRef<::mlir::OpFoldResult>", "{}">:$strides)>];
}

def Tile_TransposedViewOp : Tile_Op<"transposed_view", [Pure]> {
  let summary = "a view with its dimensions in another order";
  let description = [{
    Dimension i of the result is dimension permutation[i] of the operand. No
    element moves.

    Example:
    ```mlir
    %t = tile.transposed_view %v [1, 0] : !tile.view<128x64xbf16> -> !tile.view<64x128xbf16, strides = [1, 64]>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, DenseI64ArrayAttr:$permutation);
  let results = (outs Tile_ViewType:$result);
  let assemblyFormat = "$view $permutation attr-dict `:` qualified(type($view)) `->` qualified(type($result))";
  let hasVerifier = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$view, "::llvm::ArrayRef<int64_t>":$permutation)>];
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead<Tile_GlobalMemory>]>, Tile_BlockAccess]> {
  let summary = "reads a block of a view";
  let description = [{
    The result's dimensions are the block dimensions in order; without any it is
    a scalar. Elements outside the view, below 0 or past a size, read as `pad`
    (default 0).

    A tensor as an index gathers: element i of the index selects the view's row
    that becomes row i of the result.

    An extent may have a name, `%i : M = 128`, one of the kernel's
    `tile.block_sizes`. `--tile-set-block-sizes` can change its number when the
    kernel is compiled.

    Example:
    ```mlir
    %a = tile.load %v[%b, %i : 128, %c0 : 64] : !tile.view<8x4096x64xbf16>
    %s = tile.load %v[%b, %i : 128, %c0 : 64] pad = neg_inf : !tile.view<8x4096x64xbf16>
    %e = tile.load %w[%ids : tensor<128xi32>, %c0 : 64] : !tile.view<50257x64xbf16>
    %x = tile.load %v[%b, %i, %c0] : !tile.view<8x4096x64xbf16>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Tile_Index>:$indices,
                       DenseI64ArrayAttr:$extents, OptionalAttr<TypedAttrInterface>:$pad);
  let results = (outs Tile_BlockOrScalar:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$view, "::mlir::ValueRange":$indices,
    "::llvm::ArrayRef<int64_t>":$extents, CArg<"::mlir::TypedAttr", "{}">:$pad)>];
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite<Tile_GlobalMemory>]>, Tile_BlockAccess]> {
  let summary = "writes a block of a view";
  let description = [{
    Elements outside the view are not written. Where a tensor index has equal
    elements, one of their rows is written.

    Example:
    ```mlir
    tile.store %a, %v[%b, %i : 128, %c0 : 64] : !tile.view<8x4096x64xbf16>
    ```
  }];
  let arguments = (ins Tile_BlockOrScalar:$value, Tile_ViewType:$view,
                       Variadic<Tile_Index>:$indices, DenseI64ArrayAttr:$extents);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_AtomicAddOp : Tile_Op<"atomic_add",
    [MemoryEffects<[MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>]>, Tile_BlockAccess]> {
  let summary = "adds a block to a view, element by element";
  let description = [{
    view[..] += value. Each element is added atomically by itself, at device
    scope. Programs are not ordered, nor are equal elements of a tensor index.

    Example:
    ```mlir
    tile.atomic_add %a, %w[%ids : tensor<128xi32>, %c0 : 64] : !tile.view<50257x64xf32>
    ```
  }];
  let arguments = (ins Tile_BlockOrScalar:$value, Tile_ViewType:$view,
                       Variadic<Tile_Index>:$indices, DenseI64ArrayAttr:$extents);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}
