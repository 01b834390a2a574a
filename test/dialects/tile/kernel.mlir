// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// A kernel with all that it may take, and what it says of its launch.
// CHECK: gpu.func @arguments(%{{.+}}: !tile.view<8x4xf32>, %{{.+}}: !tile.ptr<bf16>, %{{.+}}: i64, %{{.+}}: i8, %{{.+}}: f32, %{{.+}}: index) kernel attributes {tile.grid = array<i64: 8, 1, 65535>, tile.schedule = #tile.schedule<warps = 8, stages = 3>}
// CHECK: gpu.func @raster() kernel attributes {tile.grid = array<i64: 7, 5, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 2, raster = 2x7>}
// CHECK: gpu.func @defaults() kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2>}
gpu.module @kernels {
  gpu.func @arguments(%a: !tile.view<8x4xf32>, %b: !tile.ptr<bf16>, %c: i64, %d: i8, %e: f32, %f: index) kernel attributes {tile.schedule = #tile.schedule<stages = 3, warps = 8>, tile.grid = array<i64: 8, 1, 65535>} {
    gpu.return
  }
  gpu.func @raster() kernel attributes {tile.schedule = #tile.schedule<raster = 2x7>, tile.grid = array<i64: 7, 5, 1>} {
    gpu.return
  }
  gpu.func @defaults() kernel attributes {tile.schedule = #tile.schedule<>} {
    gpu.return
  }
}

// Rows of softmax, one program for 16 of them.
// CHECK-LABEL: gpu.func @softmax
gpu.module @more {
  gpu.func @softmax(%x: !tile.view<4096x1000xbf16>, %y: !tile.view<4096x1000xbf16>) kernel attributes {tile.schedule = #tile.schedule<warps = 8>, tile.grid = array<i64: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %p = tile.program_id x
    %i = arith.muli %p, %c16 : index
    %a = tile.load %x[%i : 16, %c0 : 1024] pad = neg_inf : !tile.view<4096x1000xbf16>
    %f = arith.extf %a : tensor<16x1024xbf16> to tensor<16x1024xf32>
    %m = tile.reduce max %f axis 1 : tensor<16x1024xf32>
    %m1 = tile.expand_dims %m axis 1 : tensor<16xf32>
    %mb = tile.broadcast %m1 : tensor<16x1xf32> -> tensor<16x1024xf32>
    %d = arith.subf %f, %mb : tensor<16x1024xf32>
    %e = math.exp %d : tensor<16x1024xf32>
    %s = tile.reduce add %e axis 1 : tensor<16x1024xf32>
    %s1 = tile.expand_dims %s axis 1 : tensor<16xf32>
    %sb = tile.broadcast %s1 : tensor<16x1xf32> -> tensor<16x1024xf32>
    %q = arith.divf %e, %sb : tensor<16x1024xf32>
    %o = arith.truncf %q : tensor<16x1024xf32> to tensor<16x1024xbf16>
    tile.store %o, %y[%i : 16, %c0 : 1024] : !tile.view<4096x1000xbf16>
    gpu.return
  }
}
