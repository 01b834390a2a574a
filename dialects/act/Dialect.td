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
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// On an argument of a kernel's function: its ArgumentRoleAttr.
    static constexpr ::llvm::StringLiteral getRoleAttrName() {
      return "act.role";
    }
  }];
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

def Act_ArgumentRoleKind : I32EnumAttr<"ArgumentRoleKind", "what a kernel does with an argument", [
  I32EnumAttrCase<"InPlace", 0, "in_place">, I32EnumAttrCase<"Summed", 1, "summed">,
  I32EnumAttrCase<"Turns", 2, "turns">, I32EnumAttrCase<"Ticket", 3, "ticket">,
  I32EnumAttrCase<"Parts", 4, "parts">, I32EnumAttrCase<"Read", 5, "read">]> {
  let cppNamespace = "::act";
  let genSpecializedAttr = 0;
}

def Act_ArgumentRoleAttr : Act_Attr<"ArgumentRole", "role"> {
  let summary = "what a kernel does with an argument besides reading it";
  let description = [{
    The attribute `act.role` of an argument of a function on tensors that becomes
    a kernel. It says where the function's results go:

    - `in_place`: the result replaces the argument.
    - `summed`: programs add their part of the result to it, in the order that the
      arguments with the roles `turns` and `ticket` keep. Those are i32 numbers,
      zeros at the start.
    - `parts`: the result is a sum over rows. The argument has as many rows as
      programs, and each program stores the sum of its rows in one.
    - `read`: nothing; for memory in tiles.

    `result` is the result's number. With `tiles = n`, the memory consists of tiles
    of 8 rows of 8 numbers, cut from rows of n numbers.

    Example: `%sum: tensor<1x64x4x16xf32> {act.role = #act.role<summed, result = 2, tiles = 64>}`
  }];
  let parameters = (ins EnumParameter<Act_ArgumentRoleKind>:$kind,
                        DefaultValuedParameter<"int64_t", "-1">:$result,
                        DefaultValuedParameter<"int64_t", "0">:$tiles);
  let assemblyFormat = "`<` $kind (`,` struct($result, $tiles)^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether the argument is the memory of its result.
    bool makesResult() const {
      return getKind() == ArgumentRoleKind::InPlace ||
             getKind() == ArgumentRoleKind::Summed ||
             getKind() == ArgumentRoleKind::Parts;
    }
  }];
}

def Act_ParameterBuffer : I32EnumAttr<"ParameterBuffer",
    "the persistent buffers of a parameter: itself, and what training keeps", [
  I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Gradient", 1, "gradient">,
  I32EnumAttrCase<"Master", 2, "master">, I32EnumAttrCase<"ExpAvg", 3, "exp_avg">,
  I32EnumAttrCase<"ExpAvgSq", 4, "exp_avg_sq">, I32EnumAttrCase<"Momentum", 5, "momentum">,
  I32EnumAttrCase<"ExpAvgCodes", 6, "exp_avg_codes">, I32EnumAttrCase<"ExpAvgScales", 7, "exp_avg_scales">,
  I32EnumAttrCase<"ExpAvgSqCodes", 8, "exp_avg_sq_codes">, I32EnumAttrCase<"ExpAvgSqScales", 9, "exp_avg_sq_scales">]> {
  let cppNamespace = "::act";
  let genSpecializedAttr = 0;
}

def Act_KernelMemory : I32EnumAttr<"KernelMemory", "whose memory a kernel's operand is", [
  I32EnumAttrCase<"Input", 0, "input">, I32EnumAttrCase<"Result", 1, "result">,
  I32EnumAttrCase<"Workspace", 2, "workspace">, I32EnumAttrCase<"Scratch", 3, "scratch">,
  I32EnumAttrCase<"Effect", 4, "effect">]> {
  let cppNamespace = "::act";
  let genSpecializedAttr = 0;
}

def Act_KernelOperandAttr : Act_Attr<"KernelOperand", "operand"> {
  let summary = "the memory that one operand of a kernel is";
  let description = [{
    - `input i`, `result i`, `workspace i`: the group's, counted from 0.
    - `scratch`: memory that kernels of this target exchange, outside the arena.
    - `effect i buffer`: a buffer of the parameter that the group's effect i acts
      on: `parameter`, `gradient`, `master`, `exp_avg`, `exp_avg_sq` or `momentum`,
      or for moments of 8 bits `exp_avg_codes` and so on.

    `written`: the kernel writes it.

    Example: `#act.operand<effect 0 gradient written>`
  }];
  let parameters = (ins EnumParameter<Act_KernelMemory>:$kind,
                        "unsigned":$index, "bool":$written,
                        EnumParameter<Act_ParameterBuffer>:$buffer);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// `input 0 written`, as act.launch prints it.
    static ::mlir::FailureOr<KernelOperandAttr> parseOperand(::mlir::AsmParser &p);
    void printOperand(::llvm::raw_ostream &os) const;
  }];
}
#endif
