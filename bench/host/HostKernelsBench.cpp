// SPDX-License-Identifier: Apache-2.0
//
// Speed of host kernels on one thread, by the thread's own clock: matrix
// products and attention in GFLOP/s, row-wise kernels in GB/s of operands read
// and results written. `gemm.py` prints numpy's figures beside the products.
#include "test/passes/groups-to-host/AttentionKernel.h"
#include <cstdio>
#include <ctime>
#include <vector>

using namespace act::test;

namespace {

double seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

double best(const KernelRunner &runner, const char *name,
            std::vector<Operand> &memory) {
  std::vector<void *> args;
  for (Operand &operand : memory)
    args.push_back(operand.data());
  double best = 1e9;
  for (int i = 0; i < 9; ++i) {
    double start = seconds();
    runner.run(name, args);
    best = std::min(best, seconds() - start);
  }
  return best;
}

void product(int64_t m, int64_t n, int64_t k, const char *form,
             const char *type) {
  std::string a(form, 2), b(form + 3, 2);
  auto dims = [&](const std::string &subscripts) {
    std::string out;
    for (char c : subscripts)
      out += std::to_string(c == 'm' ? m : c == 'n' ? n : k) + "x";
    return out;
  };
  bool cast = std::string(type) != "f32";
  std::string text = format(
      R"(
func.func @f(%a: tensor<$A$T>, %b: tensor<$B$T>) -> tensor<$Cf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<$Cf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<$Cf32>) -> tensor<$Cf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> ($LA)>, affine_map<(m, n, k) -> ($LB)>,
        affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<$A$T>, tensor<$B$T>) outs(%f : tensor<$Cf32>) {
  ^bb0(%p: $T, %q: $T, %acc: f32):
    $CAST
    %3 = arith.mulf %x, %y : f32
    %4 = arith.addf %acc, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<$Cf32>
  return %y : tensor<$Cf32>
})",
      {{"$CAST\n", cast ? "%x = arith.extf %p : $T to f32\n"
                          "    %y = arith.extf %q : $T to f32\n"
                        : "\n"},
       {"%x, %y", cast ? "%x, %y" : "%p, %q"},
       {"%y = linalg", "%r = linalg"},
       {"return %y", "return %r"},
       {"$LA", std::string(1, a[0]) + ", " + a[1]},
       {"$LB", std::string(1, b[0]) + ", " + b[1]},
       {"$A", dims(a)},
       {"$B", dims(b)},
       {"$C", dims("mn")},
       {"$T", type}});
  auto runner = KernelRunner::create(text);
  if (!runner)
    return;
  std::vector<Operand> memory = {Operand::random(type, m * k, 1),
                                 Operand::random(type, k * n, 2),
                                 Operand("f32", m * n)};
  double time = best(*runner, "f", memory);
  std::printf("gemm %-5s %s %6ld x %6ld x %5ld  %8.3f ms %7.1f GFLOP/s\n", type,
              form, long(m), long(n), long(k), time * 1e3,
              2e-9 * m * n * k / time);
}

void attention(AttentionShape shape) {
  auto runner = KernelRunner::create(attentionKernel(shape));
  if (!runner)
    return;
  int64_t rows = shape.batch * shape.sequence;
  std::vector<Operand> memory = {
      Operand::random("f32", rows * shape.heads * shape.dim, 1),
      Operand::random("f32", rows * shape.keyHeads * shape.dim, 2),
      Operand::random("f32", rows * shape.keyHeads * shape.dim, 3),
      Operand("f32", rows * shape.heads * shape.dim),
      Operand("f32", rows * shape.heads)};
  double time = best(*runner, "attention", memory);
  double flops = 2.0 * rows * shape.sequence * shape.heads * shape.dim;
  std::printf("attention causal b %ld s %ld heads %ld d %ld  %8.3f ms %7.1f "
              "GFLOP/s\n",
              long(shape.batch), long(shape.sequence), long(shape.heads),
              long(shape.dim), time * 1e3, flops * 1e-9 / time);
}

void rowwise(const char *name, const std::string &text,
             std::vector<Operand> memory, double bytes) {
  auto runner = KernelRunner::create(text);
  if (!runner)
    return;
  double time = best(*runner, "f", memory);
  std::printf("%-30s %8.3f ms %7.1f GB/s\n", name, time * 1e3,
              bytes * 1e-9 / time);
}

} // namespace

int main() {
  for (const char *form : {"mk kn", "mk nk", "km kn"})
    product(1024, 1024, 1024, form, "f32");
  product(1024, 1024, 1024, "mk nk", "bf16");
  product(4096, 1536, 384, "mk nk", "f32");
  product(4096, 384, 1536, "mk kn", "f32");
  product(1536, 384, 4096, "km kn", "f32");
  product(4096, 65, 384, "mk nk", "f32");
  product(256, 128256, 64, "mk nk", "f32");
  attention({4, 256, 6, 6, 64});
  attention({1, 2048, 8, 2, 64});
  attention({1, 2048, 4, 4, 128});

  int64_t count = 4096 * 384;
  rowwise("transpose 4096 x 384", R"(
func.func @f(%x: tensor<4096x384xf32>) -> tensor<384x4096xf32> {
  %e = tensor.empty() : tensor<384x4096xf32>
  %y = linalg.transpose ins(%x : tensor<4096x384xf32>) outs(%e : tensor<384x4096xf32>) permutation = [1, 0]
  return %y : tensor<384x4096xf32>
})",
          {Operand::random("f32", count, 1), Operand("f32", count)}, count * 8);
  rowwise("heads to front 8x512x6x64", R"(
func.func @f(%x: tensor<8x512x6x64xf32>) -> tensor<8x6x512x64xf32> {
  %e = tensor.empty() : tensor<8x6x512x64xf32>
  %y = linalg.transpose ins(%x : tensor<8x512x6x64xf32>) outs(%e : tensor<8x6x512x64xf32>) permutation = [0, 2, 1, 3]
  return %y : tensor<8x6x512x64xf32>
})",
          {Operand::random("f32", count, 1), Operand("f32", count)}, count * 8);
  rowwise("gelu 4096 x 384", R"(
func.func @f(%x: tensor<4096x384xf32>) -> tensor<4096x384xf32> {
  %h = arith.constant 0.5 : f32
  %r = arith.constant 0.70710678 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4096x384xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4096x384xf32>) outs(%e : tensor<4096x384xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.mulf %a, %r : f32
    %2 = math.erf %1 : f32
    %3 = arith.addf %2, %one : f32
    %4 = arith.mulf %3, %h : f32
    %5 = arith.mulf %a, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4096x384xf32>
  return %y : tensor<4096x384xf32>
})",
          {Operand::random("f32", count, 1), Operand("f32", count)}, count * 8);
  rowwise("column sums 4096 x 384", R"(
func.func @f(%x: tensor<4096x384xf32>) -> tensor<384xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<384xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<384xf32>) -> tensor<384xf32>
  %y = linalg.reduce { arith.addf } ins(%x : tensor<4096x384xf32>) outs(%f : tensor<384xf32>) dimensions = [0]
  return %y : tensor<384xf32>
})",
          {Operand::random("f32", count, 1), Operand("f32", 384)}, count * 4);
  rowwise("row sums 4096 x 384", R"(
func.func @f(%x: tensor<4096x384xf32>) -> tensor<4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %y = linalg.reduce { arith.addf } ins(%x : tensor<4096x384xf32>) outs(%f : tensor<4096xf32>) dimensions = [1]
  return %y : tensor<4096xf32>
})",
          {Operand::random("f32", count, 1), Operand("f32", 4096)}, count * 4);
  return 0;
}
