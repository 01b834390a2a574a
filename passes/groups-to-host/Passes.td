// SPDX-License-Identifier: Apache-2.0
//
// Passes from linalg on tensors to the LLVM dialect with the kernel ABI of
// HostKernels.h. They run in this order. In compileHostKernels each module has
// one function.
#ifndef ACT_PASSES_GROUPSTOHOST_PASSES
#define ACT_PASSES_GROUPSTOHOST_PASSES
include "mlir/Pass/PassBase.td"

def PrepareHostKernelPass : Pass<"host-prepare-kernel", "mlir::ModuleOp"> {
  let summary = "Brings a kernel's linalg operations into the form for distribution";
  let description = [{
    Expects functions of one block on tensors of static shape and scalars; README.md
    lists the types, and others are an error. `linalg` operations need a generic
    form.

    - Named operations become `linalg.generic`. `linalg.fill` stays.
    - An operand that is read from its end on becomes a tensor in the order in
      which it is read.
    - i1 tensors become i8 tensors (one byte per element in memory), in the
      signature too. Values inside a body stay i1.
    - Elementwise producers with one use move into their consumer, unless that
      repeats an expensive function.
    - Leading dimensions that every operation treats alike are collapsed into one.
      The reshapes are at the function's border, where they are free.
    - An elementwise operation that computes a result in place reads the replaced
      argument as its destination.

    Before:
    ```mlir
    func.func @masked_exp(%x: tensor<4x8xf32>, %m: tensor<4x8xi1>) -> tensor<4x8xf32> {
      %e = tensor.empty() : tensor<4x8xf32>
      %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
      %r = linalg.select ins(%m, %y, %x : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
      return %r : tensor<4x8xf32>
    }
    ```
    After `--host-prepare-kernel`:
    ```mlir
    func.func @masked_exp(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi8>) -> tensor<4x8xf32> {
      %collapsed = tensor.collapse_shape %arg1 [[0, 1]] : tensor<4x8xi8> into tensor<32xi8>
      %collapsed_0 = tensor.collapse_shape %arg0 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
      %0 = tensor.empty() : tensor<32xf32>
      %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%collapsed, %collapsed_0 : ...
      ^bb0(%in: i8, %in_1: f32, %out: f32):
        %2 = math.exp %in_1 : f32
        %3 = arith.trunci %in : i8 to i1
        %4 = arith.select %3, %2, %in_1 : f32
        linalg.yield %4 : f32
      } -> tensor<32xf32>
      %expanded = tensor.expand_shape %1 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect", "mlir::affine::AffineDialect"];
}

def DistributeHostBlocksPass : Pass<"host-distribute-blocks", "mlir::ModuleOp"> {
  let summary = "Tiles a kernel's results into a grid of blocks, producers fused";
  let description = [{
    Expects what `host-prepare-kernel` leaves. Each root (the last operation that
    produces a result) is tiled along its parallel dimensions into an
    `scf.forall`. Its producers are computed in the tile. A kernel with its own
    `scf.forall` keeps it. A root that is too small for tiles stays as it is.

    Tile sizes depend on the shape alone. The function's attribute `act.work` lists
    the estimated work of one iteration of each loop.

    Before:
    ```mlir
    %e = tensor.empty() : tensor<64x4096xf32>
    %0 = linalg.exp ins(%x : tensor<64x4096xf32>) outs(%e : tensor<64x4096xf32>) -> tensor<64x4096xf32>
    %1 = linalg.add ins(%0, %y : tensor<64x4096xf32>, tensor<64x4096xf32>) outs(%e : tensor<64x4096xf32>) -> tensor<64x4096xf32>
    ```
    After `--host-distribute-blocks`:
    ```mlir
    %1 = scf.forall (%arg2, %arg3) = (0, 0) to (64, 4096) step (1, 64) shared_outs(%arg4 = %0) -> (tensor<64x4096xf32>) {
      %extracted_slice = tensor.extract_slice %arg0[%arg2, %arg3] [1, 64] ...
      %2 = tensor.empty() : tensor<1x64xf32>
      %3 = linalg.exp ins(%extracted_slice : ...
    ...
      %4 = linalg.add ins(%3, %extracted_slice_0 : ...
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %4 into %arg4[%arg2, %arg3] [1, 64] ...
    ```
  }];
  let dependentDialects = ["mlir::scf::SCFDialect", "mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect", "mlir::affine::AffineDialect"];
}

def BufferizeHostKernelPass : Pass<"host-bufferize", "mlir::ModuleOp"> {
  let summary = "Turns tensors into memory: operands, results, then temporaries";
  let description = [{
    Expects functions on tensors. Upstream's one-shot bufferization does the work,
    and the kernel's ABI is around it:

    - The arguments become memory without strides.
    - Each result becomes one more argument after them, and the operations that
      make the result write there. A result whose memory is an argument
      (`#act.role<in_place, ..>`) is written to that argument.
    - Temporaries become `memref.alloc`. Loops carry no buffers: each new value is
      copied to the memory of the initial one.
    - Copies become `linalg.generic`.

    A result that is placed in an argument of another type is an error, and so is
    an argument with another role.

    Before:
    ```mlir
    func.func @rows(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %e = tensor.empty() : tensor<4x8xf32>
      %y = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4x8xf32>) {
        %a = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
        %b = tensor.extract_slice %o[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
        %c = linalg.exp ins(%a : tensor<1x8xf32>) outs(%b : tensor<1x8xf32>) -> tensor<1x8xf32>
        scf.forall.in_parallel {
          tensor.parallel_insert_slice %c into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
        }
      }
      return %y : tensor<4x8xf32>
    }
    ```
    After `--host-bufferize`:
    ```mlir
    func.func @rows(%arg0: memref<4x8xf32>, %arg1: memref<4x8xf32>) {
      scf.forall (%arg2) in (4) {
        %subview = memref.subview %arg0[%arg2, 0] [1, 8] [1, 1] : memref<4x8xf32> to ...
        %subview_0 = memref.subview %arg1[%arg2, 0] [1, 8] [1, 1] : memref<4x8xf32> to ...
        linalg.exp ins(%subview : ...) outs(%subview_0 : ...)
      }
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::bufferization::BufferizationDialect",
                           "mlir::memref::MemRefDialect", "mlir::linalg::LinalgDialect"];
}

def LowerHostBlockLoopsPass : Pass<"host-lower-block-loops", "mlir::ModuleOp"> {
  let summary = "Replaces the kernel's parallel loops by a block argument";
  let description = [{
    Expects functions on memory. Each `scf.forall` has constant bounds. A function
    gets one more argument, the number of the block (i64), and the attribute
    `act.grid`, the number of blocks. `act.work` is removed.

    Iterations of an `scf.forall` are numbered row-major and split into runs of
    equal length; block i executes the i-th run. `act.work` decides how long a run
    is: there are 8 to 256 blocks where the work is worth it. Several independent
    loops take consecutive ranges of blocks.

    A kernel gets one block if it has no such loop, works outside them, shares a
    temporary between iterations, or if a loop writes what another one reads or
    writes. An `scf.forall` inside another loop runs in order.

    Before:
    ```mlir
    func.func @rows(%x: memref<8x4xf32>, %zero: f32) attributes {act.work = [20000]} {
      scf.forall (%i, %j) in (8, 4) {
        memref.store %zero, %x[%i, %j] : memref<8x4xf32>
      }
      return
    }
    ```
    After `--host-lower-block-loops`:
    ```mlir
    func.func @rows(%arg0: memref<8x4xf32>, %arg1: f32, %arg2: i64) attributes {act.grid = 32 : i64} {
      %0 = arith.index_cast %arg2 : i64 to index
      %c4 = arith.constant 4 : index
      %1 = arith.remui %0, %c4 : index
      %2 = arith.divui %0, %c4 : index
      memref.store %arg1, %arg0[%2, %1] : memref<8x4xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::scf::SCFDialect", "mlir::arith::ArithDialect"];
}

def VectorizeHostKernelPass : Pass<"host-vectorize-kernel", "mlir::ModuleOp"> {
  let summary = "Lowers linalg operations on memory to loops over vectors";
  let description = [{
    Expects `linalg` operations on memory; one on tensors is an error. No `linalg`
    operation is left.

    - A matrix product becomes loops that pack both operands into temporaries and
      multiply tiles of accumulators with fused multiply-adds. The module's
      attribute `act.vector_bits` (512 without it) gives the size of the tiles.
    - In every other operation one dimension gets the lanes of vectors, the others
      become loops. A dimension whose size is no multiple of the width ends in
      narrower vectors and single elements.
    - A body without a form on vectors, such as one with a call of libm, is
      evaluated one element at a time.

    The order of additions depends on shapes alone (README.md, Bits).

    Before:
    ```mlir
    func.func @add(%x: memref<40xf32>, %y: memref<40xf32>, %z: memref<40xf32>) {
      linalg.add ins(%x, %y : memref<40xf32>, memref<40xf32>) outs(%z : memref<40xf32>)
      return
    }
    ```
    After `--host-vectorize-kernel`:
    ```mlir
    scf.for %arg3 = %c0 to %c32 step %c16 {
      %0 = vector.load %arg0[%arg3] : memref<40xf32>, vector<16xf32>
      %1 = vector.load %arg1[%arg3] : memref<40xf32>, vector<16xf32>
      %2 = arith.addf %0, %1 : vector<16xf32>
      vector.store %2, %arg2[%arg3] : memref<40xf32>, vector<16xf32>
    }
    ...
    scf.for %arg3 = %c32 to %c40 step %c1 {
      %0 = memref.load %arg0[%arg3] : memref<40xf32>
      %1 = memref.load %arg1[%arg3] : memref<40xf32>
      %2 = arith.addf %0, %1 : f32
      memref.store %2, %arg2[%arg3] : memref<40xf32>
    ```
  }];
  let dependentDialects = ["mlir::vector::VectorDialect", "mlir::scf::SCFDialect",
                           "mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect", "mlir::affine::AffineDialect"];
}

def PlaceHostBuffersPass : Pass<"host-place-buffers", "mlir::ModuleOp"> {
  let summary = "Places temporaries in the kernel's scratch, at fixed offsets";
  let description = [{
    Expects functions on memory with the number of the block as the last argument,
    and sizes that are still `affine` expressions. No allocation is left.

    Every `memref.alloc` becomes a view of one scratch argument of
    `act.scratch_bytes` bytes, which is inserted before the number of the block.
    Buffers of up to 256 bytes are on the stack, up to 4 KiB in all. An allocation
    in a loop has one place for all iterations. One of dynamic size takes the room
    of its upper bound; without a constant bound it is an error.

    Before:
    ```mlir
    func.func @copy(%x: memref<512xf32>, %i: index, %block: i64) attributes {act.grid = 1 : i64} {
      %large = memref.alloc() : memref<512xf32>
      %small = memref.alloc() : memref<4xf32>
      memref.copy %x, %large : memref<512xf32> to memref<512xf32>
      %v = memref.load %large[%i] : memref<512xf32>
      memref.store %v, %small[%i] : memref<4xf32>
      return
    }
    ```
    After `--host-place-buffers`:
    ```mlir
    func.func @copy(%arg0: memref<512xf32>, %arg1: index, %arg2: memref<2048xi8>, %arg3: i64) attributes {act.grid = 1 : i64, act.scratch_bytes = 2048 : i64} {
      %alloca = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
      %c0 = arith.constant 0 : index
      %view = memref.view %arg2[%c0][] : memref<2048xi8> to memref<512xf32>
      memref.copy %arg0, %view : memref<512xf32> to memref<512xf32>
      %0 = memref.load %view[%arg1] : memref<512xf32>
      memref.store %0, %alloca[%arg1] : memref<4xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::affine::AffineDialect"];
}

def ExpandHostMathPass : Pass<"host-expand-math", "mlir::ModuleOp"> {
  let summary = "Replaces f32 functions by polynomials, 16-bit conversions by integers";
  let description = [{
    Runs on any module. Works on scalars and vectors.

    - Functions of f32 become polynomials, which need no library. sin, cos, tan, pow
      and all functions of f64 stay, and become calls of libm later.
    - Arithmetic on bf16 and f16 is done in f32, and each value is rounded to its
      type. Conversions of bf16 become integer operations.
    - `math.rsqrt` becomes 1 / sqrt, so all targets agree.

    Before:
    ```mlir
    %0 = math.rsqrt %x : vector<16xf32>
    %1 = arith.addf %h, %h : vector<16xf16>
    ```
    After `--host-expand-math`:
    ```mlir
    %0 = math.sqrt %arg0 : vector<16xf32>
    %1 = arith.divf %cst, %0 : vector<16xf32>
    %2 = arith.extf %arg1 : vector<16xf16> to vector<16xf32>
    %3 = arith.extf %arg1 : vector<16xf16> to vector<16xf32>
    %4 = arith.addf %2, %3 : vector<16xf32>
    %5 = arith.truncf %4 : vector<16xf32> to vector<16xf16>
    ```
  }];
  let dependentDialects = ["mlir::math::MathDialect", "mlir::vector::VectorDialect",
                           "mlir::arith::ArithDialect"];
}

def WrapHostKernelPass : Pass<"host-wrap-kernel", "mlir::ModuleOp"> {
  let summary = "Adds the exported function that unpacks the argument list";
  let description = [{
    Expects functions of the LLVM dialect. Those with `act.grid` are kernels: they
    take pointers and scalars, then the number of the block, and have
    `act.scratch_bytes`. The others stay.

    A kernel becomes an internal function, `NAME.body`, that is always inlined.
    Under the kernel's name stands the function that the runtime calls,
    `void NAME(void *const *args, int64_t block)`. It takes each argument from the
    list; a scalar is a pointer to its slot. Both attributes move to it.

    The body's pointers are marked `llvm.noalias` unless `may-alias` is given.

    Before:
    ```mlir
    llvm.func @fill(%x: !llvm.ptr, %value: f32, %block: i64) attributes {act.grid = 8 : i64, act.scratch_bytes = 0 : i64} {
      %p = llvm.getelementptr %x[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %value, %p : f32, !llvm.ptr
      llvm.return
    }
    ```
    After `--host-wrap-kernel`:
    ```mlir
    llvm.func @fill(%arg0: !llvm.ptr, %arg1: i64) attributes {act.grid = 8 : i64, act.scratch_bytes = 0 : i64} {
      %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
      %4 = llvm.load %3 : !llvm.ptr -> f32
      llvm.call @fill.body(%1, %4, %arg1) : (!llvm.ptr, f32, i64) -> ()
      llvm.return
    }
    llvm.func internal @fill.body(%arg0: !llvm.ptr {llvm.noalias, llvm.noundef}, %arg1: f32, %arg2: i64) attributes {always_inline} {
    ```
  }];
  let options = [Option<"mayAlias", "may-alias", "bool", "false",
                        "arguments may overlap in memory">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

#endif
