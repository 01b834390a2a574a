// SPDX-License-Identifier: Apache-2.0
// An op that the compiler does not know: it takes part in kernels, memory and
// steps by act's interfaces alone.
#ifndef OWN_OPS_TD
#define OWN_OPS_TD
include "dialects/act/OpBase.td"

def Own_Dialect : Dialect {
  let name = "own";
  let cppNamespace = "::own";
}

def Own_TallyOp : Op<Own_Dialect, "tally", [Costed, ParameterEffect,
    InKernels<["takesEpilogue", "getStages", "lowerStage", "getWorkspaceTypes"]>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "doubles a tensor and adds the result to a gradient";
  let description = [{
    result = 2 * input; grad(name) += result. The first kernel stores the result
    in a workspace. The second reads it, so elementwise ops may follow there.
  }];
  let arguments = (ins FlatSymbolRefAttr:$name, Act_FloatTensor:$input);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$name `,` $input attr-dict `:` type($input) `->` type($result)";
}
#endif
