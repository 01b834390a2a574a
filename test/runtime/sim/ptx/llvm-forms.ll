; llc-22 -mcpu=sm_90a -mattr=+ptx80 llvm-forms.ll -o llvm-forms.ptx
target triple = "nvptx64-nvidia-cuda"
@g1 = addrspace(1) global [4 x ptr] [ptr addrspacecast (ptr addrspace(1) @g2 to ptr), ptr null, ptr @fn, ptr addrspacecast (ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g2, i64 8) to ptr)]
@g2 = addrspace(1) global { i8, i32, double, ptr, i16 } { i8 1, i32 -7, double 3.5, ptr addrspacecast (ptr addrspace(1) @g3 to ptr), i16 -1 }, align 16
@g3 = internal addrspace(1) constant [3 x [2 x float]] [[2 x float] [float 1.0, float 2.0], [2 x float] zeroinitializer, [2 x float] [float -0.0, float 0x7FF0000000000000]]
@c1 = addrspace(4) constant [5 x i8] c"hi\0A\00\FF"
@sh = external addrspace(3) global [0 x i8], align 16
@sh2 = internal addrspace(3) global [128 x <4 x float>] undef, align 16
@wk = weak addrspace(1) global i64 5
@cm = common addrspace(1) global i64 0
@ext = external addrspace(1) global i128
declare i32 @vprintf(ptr, ptr)
declare void @noret() noreturn
define float @fn(float %x, {i32,[3 x i8]} %s, <4 x i32> %v) { %r = fadd float %x, 1.0 %e = extractvalue {i32,[3 x i8]} %s, 0 %f = sitofp i32 %e to float %q = fadd float %r, %f ret float %q }
define <4 x float> @vec(<4 x float> %a, ...) { ret <4 x float> %a }
define internal i128 @wide(i128 %a, ptr %p) noinline { store i128 %a, ptr %p %b = add i128 %a, 1 ret i128 %b }
define ptx_kernel void @k(ptr addrspace(1) align 16 noalias %p, ptr byval({i32,[64 x i8]}) align 64 %bv, i32 %n, i1 %c, half %h, ptr %fp) "nvvm.maxntid"="128,2" "nvvm.minctasm"="2" "nvvm.maxnreg"="64" {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  switch i32 %n, label %d [ i32 0, label %a i32 1, label %b i32 2, label %e i32 3, label %f i32 4, label %g i32 5, label %d2 ]
a: call void asm sideeffect "{ .reg .pred p; LAB: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra DONE; bra LAB; DONE: }", "r,r"(i32 %n, i32 %t) br label %d
b: call void asm sideeffect "{ .reg .pred p; LAB: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra DONE; bra LAB; DONE: }", "r,r"(i32 %n, i32 %t) br label %d
e: %r = call float %fp(float 1.0) store float %r, ptr addrspace(1) %p br label %d
f: %al = alloca [4 x i32] %al2 = getelementptr [4 x i32], ptr %al, i32 0, i32 %t store volatile i32 3, ptr %al2 %x = call i32 @vprintf(ptr addrspacecast (ptr addrspace(4) @c1 to ptr), ptr %al) br label %d
g: %v = call <4 x float> (<4 x float>, ...) @vec(<4 x float> zeroinitializer, i32 %n, double 2.0) store <4 x float> %v, ptr addrspace(1) %p %w = call i128 @wide(i128 5, ptr %fp) store i128 %w, ptr addrspace(1) %p br label %d
d2: call void @noret() unreachable
d: ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
