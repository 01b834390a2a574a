// SPDX-License-Identifier: Apache-2.0
// Definitions that the op families share.
#ifndef TILE_OPBASE_TD
#define TILE_OPBASE_TD
include "dialects/tile/Dialect.td"
include "dialects/tile/Interfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

def Tile_GlobalMemory : Resource<"::act::tile::GlobalMemory">;
def Tile_SharedMemory : Resource<"::act::tile::SharedMemory">;

defvar tileElements = [F32, F16, BF16, F64, F8E4M3FN, F8E5M2, I1, I8, I16, I32, I64];
def Tile_Scalar : AnyTypeOf<!listconcat([Index], tileElements)>;
def Tile_Block : StaticShapeTensorOf<tileElements>;
def Tile_BlockOrScalar : AnyTypeOf<[Tile_Block, Tile_Scalar]>;

// The start of a block along one dimension of a view, or the rows of a gather.
def Tile_Index : AnyTypeOf<[Index, I32, I64, 1DTensorOf<[I32, I64]>]>;

def Tile_BlockAccess : DeclareOpInterfaceMethods<Tile_BlockAccessOpInterface>;
// The op has layouts that depend on each other, and defines these methods.
class Tile_Layouts<list<string> methods> : DeclareOpInterfaceMethods<Tile_LayoutOpInterface, methods>;
// All blocks of the op have one layout, though it is not an elementwise op.
def Tile_OneLayout : NativeOpTrait<"OneLayout"> {
  let cppNamespace = "::act::tile";
}
// The op tells range analysis the range of its results.
def KnowsRange
    : DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>;
// Printed results have descriptive names.
def NamesResults
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;
#endif
