// SPDX-License-Identifier: Apache-2.0
// Blocks without operands, and changes of shape.
include "dialects/tile/OpBase.td"

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "consecutive numbers";
  let description = [{
    result[i] = start + i, up to but excluding `end`.

    Example:
    ```mlir
    %0 = tile.iota 0 to 128
    ```
  }];
  let arguments = (ins I64Attr:$start, I64Attr:$end);
  let results = (outs StaticShapeTensorOf<[I32]>:$result);
  let assemblyFormat = "$start `to` $end attr-dict `` custom<IotaType>(type($result), ref($start), ref($end))";
  let hasVerifier = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "int64_t":$start, "int64_t":$end)>];
}

def Tile_TransOp : Tile_Op<"trans", [Pure, Tile_Layouts<["operandLayout", "resultLayout"]>]> {
  let summary = "swaps the last two dimensions";
  let description = [{
    result[.., j, i] = input[.., i, j].

    Example:
    ```mlir
    %0 = tile.trans %a : tensor<128x64xbf16>
    ```
  }];
  let arguments = (ins Tile_Block:$input);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = "$input attr-dict custom<TransTypes>(type($input), type($result))";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
  let extraClassDeclaration = [{
    /// The result's layout for one of the input, and the other way round.
    static ::act::layout::Distributed swapped(const ::act::layout::Distributed &layout);
  }];
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure, Tile_Layouts<["operandLayout", "resultLayout"]>]> {
  let summary = "the same elements in another shape";
  let description = [{
    Elements keep their row-major order.

    Example:
    ```mlir
    %0 = tile.reshape %a : tensor<128x64xf32> -> tensor<128x8x8xf32>
    ```
  }];
  let arguments = (ins Tile_Block:$input);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_ExpandDimsOp : Tile_Op<"expand_dims", [Pure, Tile_Layouts<["operandLayout", "resultLayout"]>]> {
  let summary = "a new dimension of one element";
  let description = [{
    The result has a dimension of size 1 at position `axis`.

    Example:
    ```mlir
    %0 = tile.expand_dims %m axis 1 : tensor<128xf32>
    ```
  }];
  let arguments = (ins Tile_Block:$input, I64Attr:$axis);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = "$input `axis` $axis attr-dict custom<ExpandDimsTypes>(type($input), type($result), ref($axis))";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$axis)>];
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure, Tile_Layouts<["operandLayout", "resultLayout"]>]> {
  let summary = "repeats dimensions of one element";
  let description = [{
    A dimension of size 1 becomes one of any size; the others stay the same.

    Example:
    ```mlir
    %1 = tile.broadcast %0 : tensor<128x1xf32> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins Tile_Block:$input);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_JoinOp : Tile_Op<"join", [Pure, SameTypeOperands, Tile_Layouts<["resultLayout", "operandsDecide"]>]> {
  let summary = "two blocks side by side in a new last dimension";
  let description = [{
    result[.., 0] = lhs, result[.., 1] = rhs.

    Example:
    ```mlir
    %0 = tile.join %a, %b : tensor<128x32xf32>
    ```
  }];
  let arguments = (ins Tile_Block:$lhs, Tile_Block:$rhs);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict custom<JoinTypes>(type($lhs), type($rhs), type($result))";
  let hasVerifier = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs)>];
}

def Tile_SplitOp : Tile_Op<"split",
    [Pure, SameTypeOperands, Tile_Layouts<["operandLayout", "resultLayout", "takesSuggestion"]>]> {
  let summary = "the two halves of a last dimension of two";
  let description = [{
    lhs = input[.., 0], rhs = input[.., 1]: the inverse of `join`.

    Example:
    ```mlir
    %x, %y = tile.split %0 : tensor<128x32x2xf32>
    ```
  }];
  let arguments = (ins Tile_Block:$input);
  let results = (outs Tile_Block:$lhs, Tile_Block:$rhs);
  let assemblyFormat = "$input attr-dict custom<SplitTypes>(type($input), type($lhs), type($rhs))";
  let hasVerifier = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "the same block held by other threads";
  let description = [{
    Shape and elements stay the same; only the encoding differs. If every lane and
    warp keeps its elements, registers are only renamed. If only every warp does,
    lanes shuffle, unless shared memory costs less or strides have no common
    refinement. All other conversions go through shared memory. A conversion does
    not order memory accesses.

    Example:
    ```mlir
    %1 = tile.convert_layout %0 : tensor<32x4xf32, #rows> -> tensor<32x4xf32, #columns>
    ```
  }];
  let arguments = (ins Tile_Block:$input);
  let results = (outs Tile_Block:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}
