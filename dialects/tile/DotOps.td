// SPDX-License-Identifier: Apache-2.0
// Matrix products.
include "dialects/tile/OpBase.td"

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "a matrix product added to an accumulator";
  let description = [{
    result[m, n] = acc[m, n] + sum over k of a[m, k] * b[k, n].

    Blocks of bf16, f16 and of both kinds of f8 accumulate in f32, i8 in i32, f64
    in f64. For blocks of f32, `precision` says how: `ieee` (the default)
    multiplies in f32, `tf32` rounds the operands to ten bits of mantissa,
    `bf16x3` writes each operand as a sum of two bf16 and adds three products.
    Tensor cores truncate sums; those of `ieee` and `bf16x3` are added to `acc`
    every 32 of k, rounded to nearest, so that a long sum stays one of f32. On
    tensor cores operands and products of these are to be finite, and what of an
    operand is below 2^-126 (a third part, of numbers below 1e-33) is lost.
    `b` written as `tile.trans` of a block costs nothing.

    Example:
    ```mlir
    %0 = tile.dot %a, %b, %acc : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    %1 = tile.dot %x, %y, %acc precision = tf32 : tensor<128x64xf32>, tensor<64x128xf32> -> tensor<128x128xf32>
    ```
  }];
  let arguments = (ins Tile_Block:$a, Tile_Block:$b, Tile_Block:$acc,
    DefaultValuedAttr<Tile_DotPrecisionAttr, "::act::tile::DotPrecision::IEEE">:$precision);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`precision` `=` custom<Precision>($precision)^)? attr-dict `:` type($a) `,` type($b) `->` type($acc)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether tensor cores multiply parts of the operands, of bf16: those of
    /// f32 that are not to be tf32.
    bool isInParts();
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$acc,
    CArg<"::act::tile::DotPrecision", "::act::tile::DotPrecision::IEEE">:$precision)>];
}
