// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// The accumulator of mma m16n8k16, four warps below each other.
// CHECK: #[[L:.+]] = #tile.layout<register = [2:(0,1), 2:(8,0)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>
#accumulator = #tile.layout<register = [2:(0, 1), 2:(8, 0)], lane = [4:(0, 2), 8:(1, 0)], warp = [4:(16, 0)]>
// 80 columns, no power of two.
// CHECK: #[[W:.+]] = #tile.layout<register = [2:(0,1), 10:(0,8), 2:(8,0)], lane = [4:(0,2), 8:(1,0)], warp = []>
#wide = #tile.layout<register = [2:(0,1), 10:(0,8), 2:(8,0)], lane = [4:(0,2), 8:(1,0)], warp = []>
// Every warp and four lanes hold the same.
// CHECK: #[[R:.+]] = #tile.layout<register = [2:(8)], lane = [4:(0), 8:(1)], warp = [4:(0)]>
#row = #tile.layout<register = [2:(8)], lane = [4:(0), 8:(1)], warp = [4:(0)]>

// CHECK: func.func private @f(tensor<64x8xf32, #[[L]]>, tensor<16x80xf32, #[[W]]>, tensor<16xf32, #[[R]]>)
func.func private @f(tensor<64x8xf32, #accumulator>, tensor<16x80xf32, #wide>, tensor<16xf32, #row>)
