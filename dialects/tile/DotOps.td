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
