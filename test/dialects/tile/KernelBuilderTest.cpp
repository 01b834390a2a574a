// SPDX-License-Identifier: Apache-2.0
// Kernels written in C++ are those that one would write as .mlir: each is
// printed and compared, and read again.
#include "dialects/tile/KernelBuilder.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace act::tile;

namespace {

struct KernelBuilderTest : testing::Test {
  KernelBuilderTest() : loc(UnknownLoc::get(&context)) {
    context.loadDialect<gpu::GPUDialect>();
    top = ModuleOp::create(loc);
    OpBuilder b(top->getBodyRegion());
    module = gpu::GPUModuleOp::create(b, loc, "kernels");
  }

  std::string text(Operation *op) {
    std::string out;
    llvm::raw_string_ostream os(out);
    op->print(os);
    return out;
  }

  /// The lines of the kernel's body, without what stands before them.
  std::string body(gpu::GPUFuncOp kernel) {
    std::string out;
    std::string printed = text(kernel);
    for (llvm::StringRef line : llvm::split(printed, '\n'))
      out += line.trim().str() + "\n";
    return out;
  }

  void expectReadsAgain() {
    std::string printed = text(*top);
    auto again = parseSourceString<ModuleOp>(printed, &context);
    ASSERT_TRUE(again);
    EXPECT_EQ(text(*again), printed);
  }

  MLIRContext context;
  Location loc;
  OwningOpRef<ModuleOp> top;
  gpu::GPUModuleOp module;
};

TEST_F(KernelBuilderTest, Softmax) {
  KernelBuilder k(module, "softmax", loc);
  Value x = k.view({4096, 1000}, k.bf16()), y = k.view({4096, 1000}, k.bf16());
  k.setGrid(256);
  k.setSchedule(/*warps=*/8, /*stages=*/2);

  Value row = k.mul(k.programId(), 16);
  Value a = k.convert(k.load(x, {{row, 16}, {0, 1024}}, -INFINITY), k.f32());
  Value e = k.exp(k.sub(a, k.along(k.maxOf(a, 1), 1, a)));
  Value p = k.div(e, k.along(k.sumOf(e, 1), 1, e));
  k.store(k.convert(p, k.bf16()), y, {{row, 16}, {0, 1024}});
  gpu::GPUFuncOp kernel = k.finish();

  ASSERT_TRUE(kernel);
  EXPECT_EQ(
      body(kernel),
      R"(gpu.func @softmax(%arg0: !tile.view<4096x1000xbf16>, %arg1: !tile.view<4096x1000xbf16>) kernel attributes {tile.grid = array<i64: 256, 1, 1>, tile.schedule = #tile.schedule<warps = 8, stages = 2>} {
%pid_x = tile.program_id x
%c16 = arith.constant 16 : index
%0 = arith.muli %pid_x, %c16 : index
%c0 = arith.constant 0 : index
%1 = tile.load %arg0[%0 : 16, %c0 : 1024] pad = neg_inf : !tile.view<4096x1000xbf16>
%2 = arith.extf %1 : tensor<16x1024xbf16> to tensor<16x1024xf32>
%3 = tile.reduce max %2 axis 1 : tensor<16x1024xf32>
%4 = tile.expand_dims %3 axis 1 : tensor<16xf32>
%5 = tile.broadcast %4 : tensor<16x1xf32> -> tensor<16x1024xf32>
%6 = arith.subf %2, %5 : tensor<16x1024xf32>
%7 = math.exp %6 : tensor<16x1024xf32>
%8 = tile.reduce add %7 axis 1 : tensor<16x1024xf32>
%9 = tile.expand_dims %8 axis 1 : tensor<16xf32>
%10 = tile.broadcast %9 : tensor<16x1xf32> -> tensor<16x1024xf32>
%11 = arith.divf %7, %10 : tensor<16x1024xf32>
%12 = arith.truncf %11 : tensor<16x1024xf32> to tensor<16x1024xbf16>
%c0_0 = arith.constant 0 : index
tile.store %12, %arg1[%0 : 16, %c0_0 : 1024] : !tile.view<4096x1000xbf16>
gpu.return
}
)");
  expectReadsAgain();
}

// A loop that carries an accumulator, and another that carries nothing.
TEST_F(KernelBuilderTest, Matmul) {
  KernelBuilder k(module, "matmul", loc);
  Value x = k.view({512, 384}, k.f16()), w = k.view({256, 384}, k.f16());
  Value y = k.view({512, 256}, k.f32());
  k.setGrid(4, 2);
  k.setSchedule(4, 3, {}, /*copyWarps=*/1);

  Value m = k.mul(k.programId(), 128);
  Value n = k.mul(k.programId(GridAxis::Y), 128);
  Value zero = k.full({128, 128}, k.f32(), 0);
  Value c0 = k.index(0), c64 = k.index(64), c384 = k.index(384);
  Value acc = k.loop(c0, c384, c64, zero,
                     [&](Value i, ValueRange carried) -> SmallVector<Value> {
                       Value a = k.load(x, {{m, 128}, {i, 64}});
                       Value b = k.load(w, {{n, 128}, {i, 64}});
                       return {k.dot(a, k.trans(b), carried[0])};
                     })[0];
  k.store(acc, y, {{m, 128}, {n, 128}});
  k.loop(c0, c384, c64, {}, [&](Value i, ValueRange) -> SmallVector<Value> {
    k.when(k.less(i, m), [&] { k.atomicAdd(acc, y, {{m, 128}, {i, 128}}); });
    return {};
  });
  gpu::GPUFuncOp kernel = k.finish();

  ASSERT_TRUE(kernel);
  EXPECT_EQ(
      body(kernel),
      R"(gpu.func @matmul(%arg0: !tile.view<512x384xf16>, %arg1: !tile.view<256x384xf16>, %arg2: !tile.view<512x256xf32>) kernel attributes {tile.grid = array<i64: 4, 2, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 3, roles = {copy = 1}>} {
%pid_x = tile.program_id x
%c128 = arith.constant 128 : index
%0 = arith.muli %pid_x, %c128 : index
%pid_y = tile.program_id y
%c128_0 = arith.constant 128 : index
%1 = arith.muli %pid_y, %c128_0 : index
%cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
%c0 = arith.constant 0 : index
%c64 = arith.constant 64 : index
%c384 = arith.constant 384 : index
%2 = scf.for %arg3 = %c0 to %c384 step %c64 iter_args(%arg4 = %cst) -> (tensor<128x128xf32>) {
%3 = tile.load %arg0[%0 : 128, %arg3 : 64] : !tile.view<512x384xf16>
%4 = tile.load %arg1[%1 : 128, %arg3 : 64] : !tile.view<256x384xf16>
%5 = tile.trans %4 : tensor<128x64xf16>
%6 = tile.dot %3, %5, %arg4 : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
scf.yield %6 : tensor<128x128xf32>
}
tile.store %2, %arg2[%0 : 128, %1 : 128] : !tile.view<512x256xf32>
scf.for %arg3 = %c0 to %c384 step %c64 {
%3 = arith.cmpi slt, %arg3, %0 : index
scf.if %3 {
tile.atomic_add %2, %arg2[%0 : 128, %arg3 : 128] : !tile.view<512x256xf32>
}
}
gpu.return
}
)");
  expectReadsAgain();
}

TEST_F(KernelBuilderTest, RowsOfATableAndViewsOfPointers) {
  KernelBuilder k(module, "embedding", loc);
  Value ids = k.pointer(k.i32()), n = k.scalar(k.b.getIndexType());
  Value table = k.view({50257, 64}, k.bf16()), out = k.pointer(k.f32());
  Value list = k.viewOf(ids, {OpFoldResult(n)});
  Value to = k.viewOf(out, {OpFoldResult(n), k.b.getIndexAttr(64)},
                      {k.b.getIndexAttr(128), k.b.getIndexAttr(1)});
  Value at = k.mul(k.programId(), 32);
  Value rows = k.load(table, {k.load(list, {{at, 32}}, -1), {0, 64}});
  k.store(k.convert(rows, k.f32()), to, {{at, 32}, {0, 64}});
  gpu::GPUFuncOp kernel = k.finish();

  ASSERT_TRUE(kernel);
  std::string printed = body(kernel);
  for (const char *line :
       {"tile.view %arg0 sizes [%arg1] : !tile.ptr<i32> -> !tile.view<?xi32>",
        "sizes [%arg1, 64] strides [128, 1] : !tile.ptr<f32> -> "
        "!tile.view<?x64xf32, strides = [128, 1]>",
        " : 32] pad = -1 : !tile.view<?xi32>",
        " : tensor<32xi32>, %c0 : 64] : !tile.view<50257x64xbf16>"})
    EXPECT_NE(printed.find(line), std::string::npos) << line << "\n" << printed;
  expectReadsAgain();
}

/// What is said of the kernel that `write` writes, first of all.
std::string faultOf(MLIRContext &context, gpu::GPUModuleOp module,
                    llvm::function_ref<void(KernelBuilder &)> write) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  KernelBuilder k(module, "wrong", UnknownLoc::get(&context));
  write(k);
  EXPECT_FALSE(k.finish());
  return message;
}

TEST_F(KernelBuilderTest, SaysWhatIsWrong) {
  EXPECT_EQ(faultOf(context, module,
                    [](KernelBuilder &k) {
                      Value x = k.view({64, 64}, k.f16());
                      Value a = k.load(x, {{0, 64}, {0, 32}});
                      k.dot(a, a);
                    }),
            "'tile.dot' op contracts 32 columns of a with 64 rows of b");
}

// What is built wrongly is the op that is named, not a user of its result.
TEST_F(KernelBuilderTest, SaysWhatHasNoResult) {
  EXPECT_EQ(faultOf(context, module,
                    [](KernelBuilder &k) {
                      Value a = k.full({128}, k.i32(), 1);
                      k.add(a, k.iota(128, 0));
                    }),
            "'tile.iota' op counts from 128 to 0, expected an end past the "
            "start");
  EXPECT_EQ(faultOf(context, module,
                    [](KernelBuilder &k) {
                      Value a = k.full({8, 4}, k.f32(), 1);
                      k.broadcast(k.expandDims(a, 3), {8, 4, 2});
                    }),
            "'tile.expand_dims' op axis is 3, expected 0 to 2 for an input of "
            "shape [8, 4]");
  EXPECT_EQ(faultOf(context, module,
                    [](KernelBuilder &k) { k.trans(k.full({8}, k.f32(), 1)); }),
            "'tile.trans' op input has rank 1, expected 2 or more to swap the "
            "last two axes");
  EXPECT_EQ(faultOf(context, module,
                    [](KernelBuilder &k) {
                      Value a = k.full({8, 4}, k.f32(), 1);
                      k.add(k.full({8}, k.f32(), 1), k.sumOf(a, 2));
                    }),
            "'tile.reduce' op axis is 2, expected 0 to 1 for an input of shape "
            "[8, 4]");
}

} // namespace
