// SPDX-License-Identifier: Apache-2.0
//
// A list of what compiles, not of what fails: LLVM's back end ends the process
// at an instruction that it cannot select, so an unknown operation must be an
// error before it gets there. A new instruction needs a row here.
#include "passes/tile-to-nvvm/TargetTable.h"
#include "act/Target/Target.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace act;

namespace {

struct Since {
  const char *prefix; // of the name; the longest match counts
  unsigned sm;
  bool only; // architecture-specific: sm_90a, not sm_90
};

/// NVVM operations and LLVM intrinsics with their minimum target (PTX ISA, each
/// instruction's "Target ISA Notes").
constexpr Since instructions[] = {
    {"nvvm.bar.warp.sync", 80, false},
    {"nvvm.barrier", 80, false},
    {"nvvm.barrier.arrive", 80, false},
    {"nvvm.barrier0", 80, false},
    {"nvvm.breakpoint", 80, false},
    {"nvvm.cluster.", 90, false},
    {"nvvm.convert.bf16x2.to.f8x2", 100, true},
    {"nvvm.convert.f16x2.to.f8x2", 89, false},
    {"nvvm.convert.f32x2.to.bf16x2", 80, false},
    {"nvvm.convert.f32x2.to.f16x2", 80, false},
    {"nvvm.convert.f32x2.to.f8x2", 89, false},
    {"nvvm.convert.f8x2.to.f16x2", 89, false},
    {"nvvm.convert.float.to.tf32", 80, false},
    {"nvvm.cp.async.bulk.", 90, false},
    {"nvvm.cp.async.commit.group", 80, false},
    {"nvvm.cp.async.mbarrier.arrive", 80, false},
    {"nvvm.cp.async.shared.global", 80, false},
    {"nvvm.cp.async.wait.group", 80, false},
    {"nvvm.dot.accumulate.", 80, false},
    {"nvvm.elect.sync", 90, false},
    {"nvvm.exit", 80, false},
    {"nvvm.fence.mbarrier.init", 90, false},
    {"nvvm.fence.proxy", 80, false},
    {"nvvm.fence.proxy.acquire", 90, false},
    {"nvvm.fence.proxy.release", 90, false},
    {"nvvm.fence.sc.cluster", 90, false},
    {"nvvm.griddepcontrol", 90, false},
    {"nvvm.inline_ptx", 80, false},
    {"nvvm.ldmatrix", 80, false},
    {"nvvm.mapa", 90, false},
    {"nvvm.match.sync", 80, false},
    {"nvvm.mbarrier.", 80, false},
    {"nvvm.mbarrier.arrive.expect_tx", 90, false},
    {"nvvm.mbarrier.arrive_drop.expect_tx", 90, false},
    {"nvvm.mbarrier.complete_tx", 90, false},
    {"nvvm.mbarrier.expect_tx", 90, false},
    {"nvvm.mbarrier.try_wait", 90, false},
    {"nvvm.memory.barrier", 80, false},
    {"nvvm.mma.sp.sync", 80, false},
    {"nvvm.mma.sync", 80, false},
    {"nvvm.nanosleep", 80, false},
    {"nvvm.prefetch", 80, false},
    {"nvvm.prmt", 80, false},
    {"nvvm.rcp.approx.ftz.f", 80, false},
    {"nvvm.read.ptx.sreg.", 80, false},
    {"nvvm.read.ptx.sreg.cluster", 90, false},
    {"nvvm.read.ptx.sreg.ncluster", 90, false},
    {"nvvm.redux.sync", 80, false},
    {"nvvm.setmaxregister", 90, true},
    {"nvvm.shfl.sync", 80, false},
    {"nvvm.stmatrix", 90, false},
    {"nvvm.vote.sync", 80, false},
    {"nvvm.wgmma.", 90, true},
    {"nvvm.wmma.", 80, false},
    // llvm.call_intrinsic, without its "llvm."
    {"ceil", 80, false},
    {"copysign", 80, false},
    {"fabs", 80, false},
    {"floor", 80, false},
    {"fma", 80, false},
    {"maximum", 80, false},
    {"maxnum", 80, false},
    {"minimum", 80, false},
    {"minnum", 80, false},
    {"round", 80, false},
    {"sqrt", 80, false},
    {"trunc", 80, false},
    {"nvvm.add.rn", 80, false},
    {"nvvm.cos.approx", 80, false},
    {"nvvm.div.full", 80, false},
    {"nvvm.div.approx", 80, false},
    {"nvvm.div.rn", 80, false},
    {"nvvm.e4m3x2.to.f16x2", 89, false},
    {"nvvm.e5m2x2.to.f16x2", 89, false},
    {"nvvm.ex2.approx", 80, false},
    {"nvvm.f2bf16", 80, false},
    {"nvvm.f2tf32.rna", 80, false},
    {"nvvm.f2tf32", 90, false},
    {"nvvm.ff2bf16x2", 80, false},
    {"nvvm.ff2f16x2", 80, false},
    {"nvvm.ff.to.e4m3x2", 89, false},
    {"nvvm.ff.to.e5m2x2", 89, false},
    {"nvvm.fma.r", 80, false},
    {"nvvm.fmax", 80, false},
    {"nvvm.fmin", 80, false},
    {"nvvm.lg2.approx", 80, false},
    {"nvvm.mma.m16n8k32.row.col.f32.e", 89, false}, // 8-bit floats
    {"nvvm.mulhi.ll", 80, false},
    {"nvvm.mulhi.ull", 80, false},
    {"nvvm.mul.rn", 80, false},
    {"nvvm.rcp.", 80, false},
    {"nvvm.rsqrt.approx", 80, false},
    {"nvvm.shfl.sync.", 80, false},
    {"nvvm.sin.approx", 80, false},
    {"nvvm.sqrt.", 80, false},
};

/// LLVM dialect operations that accept all of the types checked below.
bool isPlain(StringRef name) {
  static const llvm::StringSet<> names = {
      "add", "addrspacecast", "alloca", "and", "ashr", "atomicrmw", "bitcast",
      "br", "cmpxchg", "cond_br", "extractelement", "extractvalue", "fadd",
      "fcmp", "fdiv", "fence", "fmul", "fneg", "fpext", "fptosi", "fptoui",
      "fptrunc", "freeze", "fsub", "func", "getelementptr", "icmp",
      "inline_asm", "insertelement", "insertvalue", "inttoptr", "load", "lshr",
      "mlir.addressof", "mlir.constant", "mlir.global", "mlir.poison",
      "mlir.undef", "mlir.zero", "mul", "or", "ptrtoint", "return", "sdiv",
      "select", "sext", "shl", "shufflevector", "sitofp", "srem", "store",
      "sub", "switch", "trunc", "udiv", "uitofp", "unreachable", "urem", "xor",
      "zext",
      // intrinsics
      "intr.abs", "intr.assume", "intr.bitreverse", "intr.bswap", "intr.ceil",
      "intr.copysign", "intr.ctlz", "intr.ctpop", "intr.cttz", "intr.expect",
      "intr.fabs", "intr.floor", "intr.fma", "intr.fmuladd", "intr.fshl",
      "intr.fshr", "intr.is.fpclass", "intr.lifetime.end",
      "intr.lifetime.start", "intr.maximum", "intr.maxnum", "intr.memcpy",
      "intr.memset", "intr.minimum", "intr.minnum", "intr.nearbyint",
      "intr.rint", "intr.round", "intr.roundeven", "intr.sadd.sat",
      "intr.sadd.with.overflow", "intr.smax", "intr.smin",
      "intr.smul.with.overflow", "intr.sqrt", "intr.ssub.sat",
      "intr.ssub.with.overflow", "intr.trap", "intr.trunc", "intr.uadd.sat",
      "intr.uadd.with.overflow", "intr.umax", "intr.umin",
      "intr.umul.with.overflow", "intr.usub.sat", "intr.usub.with.overflow"};
  return names.contains(name);
}

std::string quoted(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "'" << type << "'";
  return text;
}

/// Types that PTX registers hold, and structs and vectors of them.
bool isKnown(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() <= 64;
  if (isa<FloatType>(type))
    return type.isF16() || type.isBF16() || type.isF32() || type.isF64();
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getRank() == 1 && !vector.isScalable() &&
           isKnown(vector.getElementType());
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return isKnown(array.getElementType());
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type))
    return llvm::all_of(structure.getBody(), isKnown);
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type))
    return pointer.getAddressSpace() <= 7 && pointer.getAddressSpace() != 6;
  return isa<LLVM::LLVMVoidType>(type);
}

/// Names the first type that PTX registers do not hold.
std::string whyNotTypes(Operation *op) {
  auto name = [](Type type, const char *what) {
    return std::string("has ") + what + " of type " + quoted(type) +
           ", which GPUs do not have";
  };
  for (Type type : op->getOperandTypes())
    if (!isKnown(type))
      return name(type, "an operand");
  for (Type type : op->getResultTypes())
    if (!isKnown(type))
      return name(type, "a result");
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
    for (Type type : function.getArgumentTypes())
      if (!isKnown(type))
        return name(type, "an argument");
  if (auto global = dyn_cast<LLVM::GlobalOp>(op))
    if (!isKnown(global.getGlobalType()))
      return name(global.getGlobalType(), "a value");
  return "";
}

/// A row covers all names that it begins, unless a longer one says otherwise:
/// nvvm.mbarrier. is for sm_80, nvvm.mbarrier.try_wait for sm_90.
std::string whyNotInstruction(StringRef chip, StringRef name) {
  const Since *found = nullptr;
  for (const Since &row : instructions)
    if (name.starts_with(row.prefix) &&
        (!found ||
         StringRef(row.prefix).size() > StringRef(found->prefix).size()))
      found = &row;
  if (!found)
    return "is not among the instructions that are known to compile for " +
           chip.str();
  const Target *target = findTarget(chip.str());
  assert(target && "passes check their target first");
  const bool own = target->suffix;
  const unsigned sm = target->sm;
  if (found->only ? sm == found->sm && own : sm >= found->sm)
    return "";
  return "needs sm_" + std::to_string(found->sm) + (found->only ? "a" : "") +
         ", but the target is " + chip.str();
}

/// PTX is not linked with anything, so every callee must be in the module or
/// the driver.
std::string whyNotCall(LLVM::CallOp call) {
  auto callee = call.getCallee();
  if (!callee)
    return "is a call through a pointer";
  // Provided by the driver.
  if (*callee == "vprintf" || *callee == "__assertfail")
    return "";
  auto *symbol = SymbolTable::lookupNearestSymbolFrom(
      call, StringAttr::get(call.getContext(), *callee));
  auto function = dyn_cast_or_null<LLVM::LLVMFuncOp>(symbol);
  if (function && !function.isExternal())
    return "";
  return "calls '" + callee->str() + "', which has no body";
}

/// LLVM expands 16-bit atomics to loops, but not all of them.
std::string whyNotAtomic(LLVM::AtomicRMWOp op) {
  Type type = op.getVal().getType();
  bool isFloat = isa<FloatType>(type);
  using Kind = LLVM::AtomicBinOp;
  if (isFloat && op.getBinOp() != Kind::fadd && op.getBinOp() != Kind::xchg)
    return "is an atomic operation on " + quoted(type) +
           " other than an addition";
  if (type.isInteger(8) || type.isInteger(1))
    return "is an atomic operation on " + quoted(type) +
           ", expected 16 bits or more";
  return "";
}

} // namespace

// Types are checked for every op, then what the kind of op needs.
std::string tile::whyNotOn(StringRef chip, Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (isa<UnrealizedConversionCastOp>(op))
    return "is left between " + quoted(op->getOperand(0).getType()) + " and " +
           quoted(op->getResult(0).getType()) + " after lowering";
  if (std::string why = whyNotTypes(op); !why.empty())
    return why;
  if (isa<NVVM::NVVMDialect>(op->getDialect()))
    return whyNotInstruction(chip, name);
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    return whyNotCall(call);
  if (auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op)) {
    StringRef called = intrinsic.getIntrin();
    std::string why = called.consume_front("llvm.")
                          ? whyNotInstruction(chip, called)
                          : "is not among the intrinsics that are known";
    return why.empty() ? why : "'" + intrinsic.getIntrin().str() + "' " + why;
  }
  if (auto atomic = dyn_cast<LLVM::AtomicRMWOp>(op))
    return whyNotAtomic(atomic);
  if (name.consume_front("llvm.") && isPlain(name))
    return "";
  return "cannot be compiled for GPUs";
}
