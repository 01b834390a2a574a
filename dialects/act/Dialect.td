// SPDX-License-Identifier: Apache-2.0
// The dialect, its types and attributes.
#ifndef ACT_DIALECT_TD
#define ACT_DIALECT_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"

def Act_Dialect : Dialect {
  let name = "act";
  let cppNamespace = "::act";
  let summary = "transformers in named ops such as attention and rms_norm";
  let description = [{
    Values are ranked tensors of f64, f32, bf16, f16, f8E4M3FN, i1, i32, i64 or
    `!act.nf4`. Dimensions are static, or named by the tensor's encoding
    (`#act.dims<b, s, a*d>`), or both: a named static dimension has a size for
    the byte count and a name for the formula.

    Every op rounds its result to the result type, even inside a fused kernel.
    16-bit operands are widened to f32 for arithmetic and accumulation.

    Parameters are symbols (`act.parameter`). A run of equal layers is one
    `act.repeat`. Run-time scalars (learning rate, step, seed) are function
    arguments.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

class Act_Type<string n, string m, list<Trait> t = []> : TypeDef<Act_Dialect, n, t> {
  let mnemonic = m;
}
class Act_Attr<string n, string m, list<Trait> t = []> : AttrDef<Act_Dialect, n, t> {
  let mnemonic = m;
}

def Act_NF4Type : Act_Type<"NF4", "nf4"> {
  let summary = "a 4-bit normal-float weight element, quantised in blocks";
  let description = [{
    An element of a weight quantised to the sixteen NF4 values (QLoRA, Dettmers
    et al. 2023). `block` consecutive elements in row-major order share one f32
    absolute maximum. With `nested` (QLoRA's double quantisation) the maxima have
    8 bits: their mean is subtracted, and blocks of 256 share an f32.

    Example: `tensor<4096x4096x!act.nf4<block = 64>>`,
    `tensor<4096x4096x!act.nf4<nested = true>>`
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "64">:$block,
                        DefaultValuedParameter<"bool", "false">:$nested);
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
  let genVerifyDecl = 1;
}

def Act_DimsAttr : Act_Attr<"Dims", "dims",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "names for the dimensions of a tensor";
  let description = [{
    The encoding of a tensor type. It has one monomial per dimension: a product of
    letters and positive integers, or only an integer if the dimension has no
    name. Analyses answer in these letters. A dynamic dimension must be named. A
    static size is a multiple of its name's integer factor.

    Example: `tensor<1x4096x3072xbf16, #act.dims<b, s, a*d>>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$dims);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The monomial of dimension `i`, canonical: an integer factor first, then
    /// the letters in alphabetical order, joined by '*'.
    ::llvm::StringRef getDim(unsigned i) const { return getDims()[i].getValue(); }
  }];
}

def Act_Reduction : I32EnumAttr<"Reduction", "how per-token losses are combined", [
  I32EnumAttrCase<"Mean", 0, "mean">, I32EnumAttrCase<"Sum", 1, "sum">,
  I32EnumAttrCase<"None", 2, "none">]> {
  let cppNamespace = "::act";
  let genSpecializedAttr = 0;
}
def Act_ReductionAttr : EnumAttr<Act_Dialect, Act_Reduction, "reduction"> {
  let assemblyFormat = "$value";
}

def Act_InitKind : I32EnumAttr<"InitKind", "how a parameter starts", [
  I32EnumAttrCase<"Normal", 0, "normal">, I32EnumAttrCase<"Zeros", 1, "zeros">,
  I32EnumAttrCase<"Ones", 2, "ones">]> {
  let cppNamespace = "::act";
  let genSpecializedAttr = 0;
}
def Act_InitKindAttr : EnumAttr<Act_Dialect, Act_InitKind, "init"> {
  let assemblyFormat = "$value";
}

def Act_Activation : I32EnumAttr<"Activation", "an elementwise nonlinearity", [
  I32EnumAttrCase<"Silu", 0, "silu">, I32EnumAttrCase<"Gelu", 1, "gelu">,
  I32EnumAttrCase<"GeluNew", 2, "gelu_new">]> {
  let cppNamespace = "::act";
  let genSpecializedAttr = 0;
}
def Act_ActivationAttr : EnumAttr<Act_Dialect, Act_Activation, "activation"> {
  let assemblyFormat = "$value";
}
#endif
