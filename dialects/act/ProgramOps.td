// SPDX-License-Identifier: Apache-2.0
// Parameters, repeated layers, kernel groups, and scalars of a program.
include "dialects/act/OpBase.td"

def Act_ParameterOp : Act_Op<"parameter", [Symbol]> {
  let summary = "declares a parameter of the model";
  let description = [{
    A tensor that lives as long as the model. `hf_name` is its Hugging Face name.
    A parameter of repeated layers (with `layers`) is `layers` tensors of the
    given type, and its `hf_name` holds `{l}`, the layer's index, or `{2l+1}` where
    a repeated function has two layers. A frozen
    parameter has no gradient and no optimizer state. `tied` lists further names
    under which files store the same tensor.

    Example:
    ```mlir
    act.parameter @q_proj "model.layers.{l}.self_attn.q_proj.weight" : tensor<64x48xf32> layers(2) init(normal, 2.000000e-02)
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$hf_name, TypeAttrOf<Act_Tensor>:$type,
    OptionalAttr<I64Attr>:$layers,
    DefaultValuedAttr<Act_InitKindAttr, "::act::InitKind::Normal">:$init,
    DefaultValuedAttr<F64Attr, "0.02">:$init_std,
    UnitAttr:$frozen, OptionalAttr<StrArrayAttr>:$tied);
  let assemblyFormat = [{
    $sym_name $hf_name `:` $type (`layers` `(` $layers^ `)`)?
    (`init` `(` custom<Init>($init, $init_std)^ `)`)?
    (`frozen` $frozen^)? (`tied` $tied^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Act_ParamOp : Act_Op<"param", [Pure, Costed, NamesResults,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter";
  let description = [{
    In the body of a repeated layer, a parameter with `layers` stands for the
    tensor of the layer that runs.

    Example:
    ```mlir
    %w = act.param @q_proj : tensor<64x48xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name);
  let results = (outs Act_Tensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Act_RepeatOp : Act_Op<"repeat", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a layer several times";
  let description = [{
    Calls `callee` for l = from, ..., from + count - 1, or in the opposite order
    with `reverse`. The callee's arguments are, in order:

    - the layer index as an i64, only if its first argument is an i64 that no
      operand accounts for;
    - the carried values;
    - the shared values;
    - slice l - from of each stacked value.

    Its results are the carried values for the next iteration, then the values of
    this iteration, which the op returns stacked along a new first dimension.

    Result, memory and cost are those of the calls written out one after another.

    With `micro_batches` the iterations are the micro-batches of a step, counted
    from `from`. The value of `act.site` in the callee, and in functions that it
    calls, then depends on the micro-batch that runs.

    `letter` names the count in formulas. Without it, as in `count(28)`, formulas
    show the number.

    Example:
    ```mlir
    %y = act.repeat @layer count(L = 2) carry(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, StrAttr:$letter, I64Attr:$count,
    DefaultValuedAttr<I64Attr, "0">:$from, UnitAttr:$reverse,
    Variadic<AnyType>:$carried, Variadic<AnyType>:$shared, Variadic<AnyType>:$stacked,
    UnitAttr:$micro_batches);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee `count` `(` custom<Count>($letter, $count) `)` (`from` `(` $from^ `)`)?
    (`reverse` $reverse^)? (`micro_batches` $micro_batches^)? (`carry` `(` $carried^ `)`)? (`shared` `(` $shared^ `)`)?
    (`stack` `(` $stacked^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Results past the carried ones are stacks, one slice per iteration.
    ::mlir::ResultRange getStacks() {
      return getResults().drop_front(getCarried().size());
    }
    ::mlir::ResultRange getCarriedResults() {
      return getResults().take_front(getCarried().size());
    }
  }];
}

def Act_GroupOp : Act_Op<"group", [IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "ops that run together, usually as one kernel";
  let description = [{
    Values that it yields are materialised; values inside it are not. An op that
    takes several kernels says so, and is computed in stages; most groups are one
    kernel. `name` identifies it in reports. `workspace` lists the types of
    the buffers that it needs in the arena while it runs. They are undefined at
    its start, and each address is a multiple of 64. They are the same for every
    target, even if its kernels do not use them. `inplace` has one entry per
    result: the operand whose memory the result may take over if that operand dies
    here, or -1.

    `--lower-groups` adds a region with the launches that do the group's work on a
    target. The body stays: it says what is computed.

    Example:
    ```mlir
    %y = act.group "scale" (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
      %0 = act.scale %a by 2.000000e+00 : tensor<4xf32>
      act.yield %0 : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$inputs,
    DefaultValuedAttr<TypeArrayAttr, "{}">:$workspace,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$inplace);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body, MaxSizedRegion<1>:$launches);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What the workspaces are, in order.
    auto getWorkspaceTypes() {
      return getWorkspace().getAsValueRange<::mlir::TypeAttr>();
    }
  }];
}

def Act_LaunchOp : Act_Op<"launch", [HasParent<"GroupOp">]> {
  let summary = "runs a kernel of a group";
  let description = [{
    The kernel is a function on tensors. Its operands are pointers: one for each
    argument, then one for each result that takes over no argument's memory
    (`act.role`). They are bound to memory of the group by `#act.operand`, printed
    without its name.

    A group's launches run in order. `inplace` tells for which choice of operands
    in place this launch is, with the group's own meaning; without it, none is.
    `main` marks the launch that the group's FLOPs count for.

    Example:
    ```mlir
    act.launch @kernels::@k0_scale (input 0, result 0 written) main
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel,
    TypedArrayAttrBase<Act_KernelOperandAttr, "memory of the kernel's operands">:$operands,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$inplace, UnitAttr:$main);
  let assemblyFormat = [{
    $kernel custom<KernelOperands>($operands) (`inplace` $inplace^)? (`main` $main^)? attr-dict
  }];
}

def Act_YieldOp : Act_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["GroupOp", "AttentionOp", "AttentionGradOp"]>]> {
  let summary = "ends a group or a score region";
  let description = [{
    result i of the enclosing op = operand i.

    Example:
    ```mlir
    act.yield %0 : tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Act_SiteOp : Act_Op<"site", [Pure, Costed]> {
  let summary = "identifies a place that draws random numbers";
  let description = [{
    result = id + 65536 * (layer + 1) + 2^32 * micro_batch, without the second
    term outside layers. micro_batch is the index in the repeat over
    `micro_batches` that runs, else 0. The result differs for every dropout of a
    model, every layer and every micro-batch of a step. An `id` of 65536 or more
    belongs to a layer that was written out.

    Example:
    ```mlir
    %site = act.site 3 layer(%l) : i64
    ```
  }];
  let arguments = (ins I64Attr:$id, Optional<I64>:$layer);
  let results = (outs I64:$result);
  let assemblyFormat = "$id (`layer` `(` $layer^ `)`)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Act_AccumulateOp : Act_Op<"accumulate", [Costed, ParameterEffect,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "adds to the gradient of a parameter";
  let description = [{
    grad(name) += value, in the gradient's type. In the body of a repeated layer
    this is the gradient of the layer that runs.

    Example:
    ```mlir
    act.accumulate @q_proj, %dw : tensor<64x48xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name, Act_FloatTensor:$value);
  let assemblyFormat = "$name `,` $value attr-dict `:` type($value)";
}

def Act_KeptOp : Act_Op<"kept", [Pure, SameTypes<["Input", "Result"]>, Costed]> {
  let summary = "a forward value that recomputation reads";
  let description = [{
    Returns the value itself. It separates recomputed ops from the originals, so
    that common-subexpression elimination does not undo rematerialisation. Where
    layers are written out (`--inline-repeats`) it marks the border of a layer, and
    so does its gradient. Ops that are recomputed more than once read other values
    through ops numbered by `act.reader`, so that their copies stay separate.

    Example:
    ```mlir
    %k = act.kept %x : tensor<4xf32>
    ```
  }];
  let arguments = (ins Act_Tensor:$input);
  let results = (outs Act_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Act_OffloadOp : Act_Op<"offload", [Pure, SameTypes<["Input", "Result"]>, Costed]> {
  let summary = "moves a forward value to the host's memory";
  let description = [{
    Returns the value in the second arena of the step, which is host memory. Only
    `act.fetch` reads it, directly or through results and operands of
    `act.repeat`. It is a copy, not a kernel, so it has no linalg form.

    Example:
    ```mlir
    %h = act.offload %x : tensor<4xf32>
    ```
  }];
  let arguments = (ins Act_Tensor:$input);
  let results = (outs Act_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Act_FetchOp : Act_Op<"fetch", [Pure, SameTypes<["Input", "Result"]>, Costed]> {
  let summary = "brings a value back from the host's memory";
  let description = [{
    Returns the value that `act.offload` moved, in the arena again. It is a copy,
    not a kernel, so it has no linalg form.

    Example:
    ```mlir
    %x = act.fetch %h : tensor<4xf32>
    ```
  }];
  let arguments = (ins Act_Tensor:$input);
  let results = (outs Act_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Act_PhaseOp : Act_Op<"phase", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "marks where a phase of the step begins";
  let description = [{
    `backward` or `update`. The op is never moved: values that live across
    `backward` are those that the forward pass retains.

    Example:
    ```mlir
    act.phase "backward"
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let assemblyFormat = "$name attr-dict";
  let hasVerifier = 1;
}
