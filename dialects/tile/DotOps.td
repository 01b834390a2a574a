// SPDX-License-Identifier: Apache-2.0
// Matrix products.
include "dialects/tile/OpBase.td"

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>,
    Tile_Layouts<["operandLayout", "resultLayout", "takesSuggestion"]>]> {
  let summary = "a matrix product added to an accumulator";
  let description = [{
    result[m, n] = acc[m, n] + sum over k of a[m, k] * b[k, n].

    Blocks of bf16, f16 and both kinds of f8 accumulate in f32, i8 in i32, f64 in
    f64. Blocks of f16 may also accumulate in f16, which takes half the
    registers; tensor cores then round the sum of up to 16 of k to f16.
    For blocks of f32, `precision` is one of:

    - `ieee` (the default) multiplies in f32;
    - `tf32` rounds the operands to ten bits of mantissa;
    - `bf16x3` splits each operand into a sum of two bf16 and adds three products.

    Tensor cores truncate sums. Those of `ieee` and `bf16x3` are added to `acc`
    every 32 of k, rounded to nearest, so that a long sum keeps f32 accuracy. On
    tensor cores, operands and products of these two must be finite. A part of an
    operand below 2^-126 is lost (the third part, for numbers below 1e-33).
    `tile.trans` of a block as `b` costs nothing.

    `within(%low, %high)`, for operands of 16 bits or f32: row m of the result
    sums only low[m] <= k < high[m]. Elements outside are skipped, not multiplied
    by zero, so NaN and infinity there do no harm. Rows that see the same k are
    multiplied together. Each warp first checks whether all its rows see all k;
    if so, it computes an ordinary product.

    `instruction` is what it becomes on a target; a pass chooses it.

    Example:
    ```mlir
    %0 = tile.dot %a, %b, %acc : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    %1 = tile.dot %x, %y, %acc precision = tf32 : tensor<128x64xf32>, tensor<64x128xf32> -> tensor<128x128xf32>
    %2 = tile.dot %a, %b, %acc within(%low, %high : tensor<128xi32>, tensor<128xi32>) : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    ```
  }];
  let arguments = (ins Tile_Block:$a, Tile_Block:$b, Tile_Block:$acc,
      Variadic<Tile_Block>:$within,
      DefaultValuedAttr<Tile_DotPrecisionAttr,
                        "::act::tile::DotPrecision::IEEE">:$precision,
      OptionalAttr<Tile_InstructionAttr>:$instruction);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`within` `(` $within^ `:` type($within) `)`)?
    (`precision` `=` custom<Precision>($precision)^)? attr-dict `:` type($a) `,` type($b) `->` type($acc)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether tensor cores multiply bf16 parts of the operands: those of f32
    /// with a precision other than tf32.
    bool isInParts();
    /// The bf16 parts that each operand is split into: 2 for bf16x3, 3 for ieee,
    /// else 1.
    int64_t getParts();
    /// The layout of `a` or `b` for an accumulator of this layout; fails where
    /// instructions have no such k.
    ::act::Result<::act::layout::Distributed> factorLayout(::mlir::OpOperand &factor,
        const ::act::layout::Distributed &acc);
    /// For each row, the first k that is summed and the one after the last.
    ::mlir::Value getLow() { return getWithin()[0]; }
    ::mlir::Value getHigh() { return getWithin()[1]; }
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b,
      "::mlir::Value":$acc,
      CArg<"::act::tile::DotPrecision",
           "::act::tile::DotPrecision::IEEE">:$precision,
      CArg<"::mlir::ValueRange", "{}">:$within)>];
}

// Products that run beside other work. `--tile-async-dots` makes these ops of
// dots that become wgmma.
class Tile_AsyncDotOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, traits # [
    MemoryEffects<[MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]>;

def Tile_BeginDotOp : Tile_Op<"begin_dot", [Pure, TypesMatchWith<"result is a pending block",
    "block", "result", "::act::tile::PendingType::get(::llvm::cast<::mlir::RankedTensorType>($_self))">]> {
  let summary = "an accumulator before its first product";
  let description = [{
    `block` as `tile.dot_async` takes it and a loop carries it. No product runs.

    Example:
    ```mlir
    %0 = tile.begin_dot %zeros : tensor<128x256xf32>
    ```
  }];
  let arguments = (ins Tile_Block:$block);
  let results = (outs Tile_PendingType:$result);
  let assemblyFormat = "$block attr-dict `:` type($block)";
}

def Tile_DotAsyncOp : Tile_AsyncDotOp<"dot_async", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "starts a matrix product that is added to an accumulator";
  let description = [{
    acc[m, n] + sum over k of a[m, k] * b[k, n], as in `tile.dot`, of operands in
    shared memory; `a` may be a block in registers instead. The op does not wait:
    the sum is pending until `tile.dot_result`, and shared memory is read until
    `tile.await_dot` or `tile.dot_result`. Products of one warp group end in the
    order in which they began. Shared memory that other threads have written must be
    visible to them (`tile.fence_shared` and a `tile.barrier`, or an mbarrier).

    A pending sum has one reader, as the next product changes it in place.

    Example:
    ```mlir
    %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x256xf32>>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_Block, Tile_SharedType]>:$a, Tile_SharedType:$b,
                       Tile_PendingType:$acc, Tile_InstructionAttr:$instruction);
  let results = (outs Tile_PendingType:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `->` qualified(type($acc))
  }];
  let hasVerifier = 1;
}

def Tile_AwaitDotOp : Tile_AsyncDotOp<"await_dot"> {
  let summary = "waits until a product has read its operands";
  let description = [{
    Returns when the product and those before it are complete. The sum stays
    pending: a later product may be adding to it. Without a product, as after
    `tile.begin_dot`, the op does nothing.

    Example:
    ```mlir
    tile.await_dot %p : !tile.pending<tensor<128x256xf32>>
    ```
  }];
  let arguments = (ins Tile_PendingType:$pending);
  let assemblyFormat = "$pending attr-dict `:` qualified(type($pending))";
}

def Tile_DotResultOp : Tile_AsyncDotOp<"dot_result", [TypesMatchWith<"result is the block that is pending",
    "pending", "result", "::llvm::cast<::act::tile::PendingType>($_self).getBlock()">]> {
  let summary = "waits for a sum of products";
  let description = [{
    Example:
    ```mlir
    %0 = tile.dot_result %p : !tile.pending<tensor<128x256xf32>>
    ```
  }];
  let arguments = (ins Tile_PendingType:$pending);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = "$pending attr-dict `:` qualified(type($pending))";
}
