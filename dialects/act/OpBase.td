// SPDX-License-Identifier: Apache-2.0
// Shared by the op families.
#ifndef ACT_OPBASE_TD
#define ACT_OPBASE_TD
include "dialects/act/Dialect.td"
include "dialects/act/Interfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

// Every dimension of every operand and result has a size or a name.
def NamedDimensions : NativeOpTrait<"NamedDimensions"> {
  let cppNamespace = "::act";
}

// All values, given by accessor name, have the type of the first.
class AgreeingTypes<list<string> values> : NativeOpTrait<"AgreeingTypes", [],
    "::llvm::SmallVector<std::pair<::llvm::StringRef, ::mlir::Value>, 5> getAgreeing() {\n"
    # "    return {" # !interleave(!foreach(v, values, "{\"" # v # "\", get" # v # "()}"), ", ") # "};\n  }\n"> {
  let cppNamespace = "::act";
}
// All operands and results have one type, which the assembly format and the
// builders may infer from any of them.
class SameTypes<list<string> values>
    : TraitList<[AgreeingTypes<values>, SameOperandsAndResultType]>;
// `value` has the type of `like` for the assembly format and the builders. The
// check is elsewhere, where the message can name the value.
class TypeOf<string value, string like>
    : TypesMatchWith<"", like, value, "$_self", "::act::impl::checkedByName">;

class Act_Op<string mnemonic, list<Trait> traits = []>
    : Op<Act_Dialect, mnemonic, !listconcat([NamedDimensions], traits)>;

def Differentiable : DeclareOpInterfaceMethods<Act_DifferentiableOpInterface>;
def DifferentiableWithStatistics
    : DeclareOpInterfaceMethods<Act_DifferentiableOpInterface, ["withStatistics"]>;
def Costed : DeclareOpInterfaceMethods<Act_CostOpInterface>;
def LowerableToLinalg : DeclareOpInterfaceMethods<Act_LinalgOpInterface>;
/// An op with two linalg forms: one with loops and one without.
def LowerableToSums : DeclareOpInterfaceMethods<Act_LinalgOpInterface, ["lowerToSums"]>;
/// How an op takes part in kernels: `methods` are those it answers itself.
class InKernels<list<string> methods>
    : DeclareOpInterfaceMethods<Act_KernelOpInterface, methods>;
def ParameterEffect : DeclareOpInterfaceMethods<Act_ParameterEffectOpInterface>;
def ScalarBody : DeclareOpInterfaceMethods<Act_ElementwiseOpInterface>;
def Decomposable : DeclareOpInterfaceMethods<Act_DecomposableOpInterface>;

// Printed results have descriptive names.
def NamesResults
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;

def Act_Tensor : RankedTensorOf<[F64, F32, BF16, F16, F8E4M3FN, I1, I32, I64, Act_NF4Type]>;
def Act_FloatTensor : RankedTensorOf<[F64, F32, BF16, F16]>;
def Act_WeightTensor : RankedTensorOf<[F64, F32, BF16, F16, Act_NF4Type]>;
def Act_IndexTensor : RankedTensorOf<[I32, I64]>;
def Act_BoolTensor : RankedTensorOf<[I1]>;
#endif
