// SPDX-License-Identifier: Apache-2.0
// Reductions and scans along one axis.
//
// A word (add, max, min, mul, and, or) or a region combines two elements. A
// region takes the elements of the left side, one per operand, then those of the
// right side, and yields the combined ones. It must be associative and, in a
// reduction, commutative, and must not touch memory. max and min propagate NaN,
// and compare integers as signed numbers.
include "dialects/tile/OpBase.td"

class Tile_CombineOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([RecursiveMemoryEffects], traits)> {
  let arguments = (ins Variadic<Tile_Block>:$inputs, I64Attr:$axis,
                       OptionalAttr<Tile_CombineKindAttr>:$kind);
  let results = (outs Variadic<Tile_BlockOrScalar>:$results);
  let regions = (region MaxSizedRegion<1>:$combiner);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let builders = [
    OpBuilder<(ins "::act::tile::CombineKind":$kind, "::mlir::Value":$input, "int64_t":$axis)>,
    OpBuilder<(ins "::mlir::ValueRange":$inputs, "int64_t":$axis,
      "::llvm::function_ref<::llvm::SmallVector<::mlir::Value>(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange, ::mlir::ValueRange)>":$combine)>];
}

def Tile_ReduceOp : Tile_CombineOp<"reduce", [Tile_Layouts<["resultLayout", "operandsDecide"]>]> {
  let summary = "combines the elements along an axis";
  let description = [{
    The results lack the axis; for blocks of rank 1 they are scalars. Several
    operands of one shape are reduced together. The order of combination depends
    only on the shape, the schedule and the target.

    Example:
    ```mlir
    %m = tile.reduce max %s axis 1 : tensor<128x64xf32>
    %v, %k = tile.reduce %s, %j axis 1 : tensor<128x64xf32>, tensor<128x64xi32> {
    ^bb0(%x: f32, %xj: i32, %y: f32, %yj: i32):
      %c = arith.cmpf oge, %x, %y : f32
      %r = arith.select %c, %x, %y : f32
      %rj = arith.select %c, %xj, %yj : i32
      tile.yield %r, %rj : f32, i32
    }
    ```
  }];
}

def Tile_ScanOp : Tile_CombineOp<"scan", [Tile_OneLayout]> {
  let summary = "combines the elements up to each one along an axis";
  let description = [{
    Element i of a result combines elements 0 to i of the operand, including i.

    Example:
    ```mlir
    %0 = tile.scan add %x axis 0 : tensor<128xi32>
    ```
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator,
    ParentOneOf<["ReduceOp", "ScanOp"]>]> {
  let summary = "returns the values of a combiner";
  let description = [{
    One value per operand of the enclosing op, of its element type.

    Example:
    ```mlir
    tile.yield %r : f32
    ```
  }];
  let arguments = (ins Variadic<Tile_Scalar>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}
