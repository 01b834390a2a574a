// SPDX-License-Identifier: Apache-2.0
// Matrix products.
include "dialects/tile/OpBase.td"

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "a matrix product added to an accumulator";
  let description = [{
    result[m, n] = acc[m, n] + sum over k of a[m, k] * b[k, n].

    Blocks of bf16, f16 and of both kinds of f8 accumulate in f32, i8 in i32,
    f64 in f64. Blocks of f16 may accumulate in f16 as well, which takes half
    the registers: on tensor cores what up to 16 of k add up to is rounded to
    f16. For blocks of f32, `precision` says how: `ieee` (the default)
    multiplies in f32, `tf32` rounds the operands to ten bits of mantissa,
    `bf16x3` writes each operand as a sum of two bf16 and adds three products.
    Tensor cores truncate sums; those of `ieee` and `bf16x3` are added to `acc`
    every 32 of k, rounded to nearest, so that a long sum stays one of f32. On
    tensor cores operands and products of these are to be finite, and what of an
    operand is below 2^-126 (a third part, of numbers below 1e-33) is lost.
    `b` written as `tile.trans` of a block costs nothing.

    `within(%low, %high)`, of which the one who has it is of 16 bits or of f32:
    row m of the result is a sum over low[m] <= k < high[m] alone. What is
    outside is not multiplied by zero but left out, so NaN and infinity there do
    no harm. Rows that see the same k are multiplied together; where all rows of
    a warp see all k, which is asked first, it is a product like others.

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
                        "::act::tile::DotPrecision::IEEE">:$precision);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`within` `(` $within^ `:` type($within) `)`)?
    (`precision` `=` custom<Precision>($precision)^)? attr-dict `:` type($a) `,` type($b) `->` type($acc)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether tensor cores multiply parts of the operands, of bf16: those of
    /// f32 that are not to be tf32.
    bool isInParts();
    /// Of each row, the first k that is summed up and the one behind the last.
    ::mlir::Value getLow() { return getWithin()[0]; }
    ::mlir::Value getHigh() { return getWithin()[1]; }
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b,
      "::mlir::Value":$acc,
      CArg<"::act::tile::DotPrecision",
           "::act::tile::DotPrecision::IEEE">:$precision,
      CArg<"::mlir::ValueRange", "{}">:$within)>];
}
