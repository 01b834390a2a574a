// SPDX-License-Identifier: Apache-2.0
// The program and its grid, random bits, and ops for debugging a kernel.
include "dialects/tile/OpBase.td"

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure, NamesResults, KnowsRange]> {
  let summary = "the position of this program in the grid";
  let description = [{
    The program's position along an axis, from 0 to `num_programs` - 1. With `of`,
    that of the program with this number in the kernel's grid (`tile.grid`),
    counted along x first: persistent kernels go from one program to the next
    (`--tile-make-persistent`).

    Example:
    ```mlir
    %p = tile.program_id x
    %q = tile.program_id x of %n
    ```
  }];
  let arguments = (ins Tile_GridAxisAttr:$axis, Optional<Index>:$number);
  let results = (outs Index:$result);
  let assemblyFormat = "custom<Axis>($axis) (`of` $number^)? attr-dict";
  let builders = [OpBuilder<(ins "::act::tile::GridAxis":$axis), [{
    build($_builder, $_state, $_builder.getIndexType(), axis, ::mlir::Value());
  }]>];
  let hasVerifier = 1;
}

def Tile_NumProgramsOp : Tile_Op<"num_programs", [Pure, NamesResults, KnowsRange]> {
  let summary = "the number of programs in the grid";
  let description = [{
    The length of the grid along an axis; a constant if the kernel has
    `tile.grid`.

    Example:
    ```mlir
    %n = tile.num_programs x
    ```
  }];
  let arguments = (ins Tile_GridAxisAttr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "custom<Axis>($axis) attr-dict";
  let builders = [OpBuilder<(ins "::act::tile::GridAxis":$axis), [{
    build($_builder, $_state, $_builder.getIndexType(), axis);
  }]>];
  let hasFolder = 1;
}

def Tile_BlockSizeOp : Tile_Op<"block_size", [Pure, NamesResults]> {
  let summary = "a named block size as a number";
  let description = [{
    The size that the kernel's `tile.block_sizes` gives the name, or that an option
    sets. `--tile-set-block-sizes` replaces the op by a constant before any other
    pass.

    Example:
    ```mlir
    %m = tile.block_size M
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Index:$result);
  let assemblyFormat = "custom<SizeName>($name) attr-dict";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name), [{
    build($_builder, $_state, $_builder.getIndexType(), $_builder.getStringAttr(name));
  }]>];
}

def Tile_PhiloxOp : Tile_Op<"philox", [Pure, Tile_OneLayout]> {
  let summary = "random bits that are a function of a position";
  let description = [{
    Philox4x32-10 (Salmon et al. 2011), as `act.dropout` uses it. The key is the
    seed. The counter is (index low, index high + 2^20 * site high, step low,
    site low). The result is the first of the four output words. The bits of an
    element are the same in any block, thread and order.

    Example:
    ```mlir
    %bits = tile.philox %seed, %step, %site, %i : tensor<128x64xi64>
    ```
  }];
  let arguments = (ins I64:$seed, I64:$step, I64:$site,
                       AnyTypeOf<[StaticShapeTensorOf<[I64]>, I64]>:$index);
  let results = (outs AnyTypeOf<[StaticShapeTensorOf<[I32]>, I32]>:$result);
  let assemblyFormat = "$seed `,` $step `,` $site `,` $index attr-dict custom<PhiloxTypes>(type($index), type($result))";
  let builders = [OpBuilder<(ins "::mlir::Value":$seed, "::mlir::Value":$step,
                                 "::mlir::Value":$site, "::mlir::Value":$index)>];
  let hasVerifier = 1;
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stops the kernel unless a condition holds";
  let description = [{
    If the condition or one of its elements is false, the op prints the message
    and the launch fails.

    Example:
    ```mlir
    tile.assert %ok, "index is below the size of the vocabulary" : tensor<128xi1>
    ```
  }];
  let arguments = (ins AnyTypeOf<[StaticShapeTensorOf<[I1]>, I1]>:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
  let hasCanonicalizeMethod = 1;
}

def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>, Tile_Layouts<["operandsDecide", "takesSuggestion"]>]> {
  let summary = "prints values from a kernel";
  let description = [{
    Every program prints `format` once per element, in any order, with a value for
    each `{}`. Blocks must have the same shape; scalars are repeated.

    Example:
    ```mlir
    tile.print "row {} has maximum {}", %row, %m : tensor<128xi32>, tensor<128xf32>
    ```
  }];
  let arguments = (ins StrAttr:$format, Variadic<Tile_BlockOrScalar>:$values);
  let assemblyFormat = "$format (`,` $values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}
