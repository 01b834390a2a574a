// RUN: act-opt %s --raise-to-act --allow-unregistered-dialect --split-input-file --verify-diagnostics | FileCheck %s

// Attention is one op there. Keys and values serve two heads each.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x16x8xf32>, %[[K:.*]]: tensor<1x2x16x8xf32>
// CHECK: act.expand {{.*}} -> tensor<1x2x2x16x8xf32>
// CHECK: act.matmul {{.*}} transpose_rhs
// CHECK: act.scale {{.*}} by 2.500000e-01
// CHECK: %[[MASK:.*]] = act.causal_mask : tensor<16x16xi1>
// CHECK: act.select %[[MASK]]
// CHECK: act.softmax
// CHECK: act.matmul
// expected-remark@+1 {{0 ops are left}}
func.func @forward(%q: !torch.vtensor<[1,4,16,8],f32>, %k: !torch.vtensor<[1,2,16,8],f32>, %v: !torch.vtensor<[1,2,16,8],f32>) -> !torch.vtensor<[1,4,16,8],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() <{value = 0.0 : f64}> : () -> !torch.float
  %causal = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  %scale = "torch.constant.float"() {value = 0.25 : f64} : () -> !torch.float
  %gqa = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %o = "torch.aten.scaled_dot_product_attention"(%q, %k, %v, %none, %p, %causal, %scale, %gqa) : (!torch.vtensor<[1,4,16,8],f32>, !torch.vtensor<[1,2,16,8],f32>, !torch.vtensor<[1,2,16,8],f32>, !torch.none, !torch.float, !torch.bool, !torch.float, !torch.bool) -> !torch.vtensor<[1,4,16,8],f32>
  return %o : !torch.vtensor<[1,4,16,8],f32>
}

// -----

// Types are promoted; a mean is along dimensions that are counted from the end.
// CHECK-LABEL: func.func @mixed
// CHECK: arith.sitofp
// CHECK: act.add
// CHECK: act.sum_to
// CHECK: act.div
// expected-remark@+1 {{1 ops are left}}
func.func @mixed(%x: !torch.vtensor<[4,8],f32>, %i: !torch.vtensor<[8],si64>) -> !torch.vtensor<[4,1],f32> {
  %one = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %true = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  %none = "torch.constant.none"() : () -> !torch.none
  // expected-remark@+1 {{is left as it is}}
  %0 = "torch.aten.add.Tensor"(%x, %i, %one) : (!torch.vtensor<[4,8],f32>, !torch.vtensor<[8],si64>, !torch.int) -> !torch.vtensor<[4,8],f32>
  %dims = "torch.prim.ListConstruct"(%last) : (!torch.int) -> !torch.list<int>
  %1 = "torch.aten.mean.dim"(%0, %dims, %true, %none) : (!torch.vtensor<[4,8],f32>, !torch.list<int>, !torch.bool, !torch.none) -> !torch.vtensor<[4,1],f32>
  return %1 : !torch.vtensor<[4,1],f32>
}

// -----

func.func @forward(%x: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  // expected-error@+1 {{'torch.aten.cholesky' is not known, or not in this form}}
  %0 = "torch.aten.cholesky"(%x) : (!torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
  return %0 : !torch.vtensor<[4,4],f32>
}

// -----

// expected-error@+1 {{argument 0 is '!torch.vtensor<[?,4],f32>', expected a tensor of static shape}}
func.func @forward(%x: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32> {
  %0 = "torch.aten.tanh"(%x) : (!torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32>
  return %0 : !torch.vtensor<[?,4],f32>
}

// -----

// The indices of the greatest are read.
func.func @forward(%x: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4],si64> {
  %one = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
  %false = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  // expected-error@+1 {{'torch.aten.max.dim' is not known, or not in this form}}
  %0:2 = "torch.aten.max.dim"(%x, %one, %false) : (!torch.vtensor<[4,4],f32>, !torch.int, !torch.bool) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],si64>)
  return %0#1 : !torch.vtensor<[4],si64>
}

// -----

// The weight is ones.
// CHECK-LABEL: func.func @bare
// CHECK: %[[ONES:.*]] = act.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK: act.rms_norm %arg0, %[[ONES]] eps 9.999999
// CHECK-NOT: linalg
// expected-remark@+1 {{0 ops are left}}
func.func @bare(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> {
  %last = "torch.constant.int"() <{value = -1 : i64}> : () -> !torch.int
  %one = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
  %eps = "torch.constant.float"() <{value = 1.0e-6 : f64}> : () -> !torch.float
  %true = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  %none = "torch.constant.none"() : () -> !torch.none
  %0 = "torch.aten.mul.Tensor"(%x, %x) : (!torch.vtensor<[4,8],f32>, !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32>
  %dims = "torch.prim.ListConstruct"(%last) : (!torch.int) -> !torch.list<int>
  %1 = "torch.aten.mean.dim"(%0, %dims, %true, %none) : (!torch.vtensor<[4,8],f32>, !torch.list<int>, !torch.bool, !torch.none) -> !torch.vtensor<[4,1],f32>
  %2 = "torch.aten.add.Scalar"(%1, %eps, %one) : (!torch.vtensor<[4,1],f32>, !torch.float, !torch.int) -> !torch.vtensor<[4,1],f32>
  %3 = "torch.aten.rsqrt"(%2) : (!torch.vtensor<[4,1],f32>) -> !torch.vtensor<[4,1],f32>
  %4 = "torch.aten.mul.Tensor"(%x, %3) : (!torch.vtensor<[4,8],f32>, !torch.vtensor<[4,1],f32>) -> !torch.vtensor<[4,8],f32>
  return %4 : !torch.vtensor<[4,8],f32>
}

// -----

// What is nearly found is said once: sums of 16-bit logits are not act's loss.
// CHECK-LABEL: func.func @nearly
// CHECK-NOT: act.cross_entropy
// expected-remark@+1 {{ops are left}}
func.func @nearly(%x: !torch.vtensor<[4,8],bf16>, %labels: !torch.vtensor<[4,1],si64>) -> !torch.vtensor<[],bf16> {
  %one = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
  %false = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
  %true = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
  %none = "torch.constant.none"() : () -> !torch.none
  %dims = "torch.prim.ListConstruct"(%one) : (!torch.int) -> !torch.list<int>
  // expected-remark@+1 {{is left as it is}}
  %e = "torch.aten.exp"(%x) : (!torch.vtensor<[4,8],bf16>) -> !torch.vtensor<[4,8],bf16>
  %s = "torch.aten.sum.dim_IntList"(%e, %dims, %true, %none) : (!torch.vtensor<[4,8],bf16>, !torch.list<int>, !torch.bool, !torch.none) -> !torch.vtensor<[4,1],bf16>
  // expected-remark@+1 {{is left as it is}}
  %l = "torch.aten.log"(%s) : (!torch.vtensor<[4,1],bf16>) -> !torch.vtensor<[4,1],bf16>
  %p = "torch.aten.sub.Tensor"(%x, %l, %one) : (!torch.vtensor<[4,8],bf16>, !torch.vtensor<[4,1],bf16>, !torch.int) -> !torch.vtensor<[4,8],bf16>
  // expected-remark@+1 {{is left as it is}}
  %g = "torch.aten.gather"(%p, %one, %labels, %false) : (!torch.vtensor<[4,8],bf16>, !torch.int, !torch.vtensor<[4,1],si64>, !torch.bool) -> !torch.vtensor<[4,1],bf16>
  %n = "torch.aten.neg"(%g) : (!torch.vtensor<[4,1],bf16>) -> !torch.vtensor<[4,1],bf16>
  // expected-remark@+1 {{nearly a cross entropy: logits are 'bf16' and labels 'i64'}}
  %t = "torch.aten.sum"(%n, %none) : (!torch.vtensor<[4,1],bf16>, !torch.none) -> !torch.vtensor<[],bf16>
  return %t : !torch.vtensor<[],bf16>
}
