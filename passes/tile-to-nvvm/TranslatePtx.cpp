// SPDX-License-Identifier: Apache-2.0
//
// From the llvm and nvvm dialects to PTX text, by LLVM in this process. LLVM's
// own pipelines are for code that it does not know; thread code has a known
// form, so passes and code generation are cut down to what changes it. Whatever
// goes wrong in LLVM must end as an error at the module, not end the process.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <functional>
#include <mutex>

using namespace mlir;
using namespace act;

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace {

/// PTX 8.0 suffices for all targets, except for additions of several numbers to
/// memory (sm_90a) and for 8-bit float products.
StringRef ptxVersion(gpu::GPUModuleOp module, StringRef chip) {
  WalkResult walked = module.walk([](LLVM::CallIntrinsicOp op) {
    return op.getIntrin().starts_with("llvm.nvvm.mma.m16n8k32.row.col.f32.e")
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walked.wasInterrupted()    ? "+ptx84"
         : chip.starts_with("sm_9") ? "+ptx81"
                                    : "+ptx80";
}

std::unique_ptr<llvm::TargetMachine>
createMachine(const tile::PtxOptions &options, StringRef version,
              std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions flags;
  // The numeric contract: only explicit fmas.
  flags.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // Shared memory pointers keep 64 bits. With 32 (nvptx-short-ptr) ptxas
  // generates worse code: attention D128, 8 warps, has 967 instead of 931 SASS
  // instructions per MFLOP, because it uses fewer uniform registers.
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, options.chip, version, flags, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

/// Kernels are one function without calls, with final loops and no redundant
/// computation, so each -O3 pass that still changes such code runs once. ptxas
/// optimises again, with the same result. Without ipsccp, which tracks ranges,
/// the gradient of attention has 5 % more instructions. Adjacent accesses are
/// merged later, if known to be aligned.
constexpr char kPasses[] = "always-inline,globaldce,ipsccp,"
                           "function(sroa,instcombine<no-verify-fixpoint>,"
                           "simplifycfg,loop-mssa(loop-rotate,licm),"
                           "early-cse,infer-alignment)";

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, kPasses));
  passes.run(module, modules);
}

/// Keeps loop strength reduction from holding one address register per access:
/// it does not see through a copy of the counter, which ptxas removes.
/// `stepped` allows it, except in functions with nested loops, where the outer
/// loop's addresses would not fit in the inner one.
void hideCounters(llvm::Module &module, bool stepped) {
  for (llvm::Function &f : module) {
    if (f.isDeclaration())
      continue;
    llvm::DominatorTree dominators(f);
    llvm::LoopInfo loops(dominators);
    auto all = loops.getLoopsInPreorder();
    if (stepped && llvm::all_of(all, std::mem_fn(&llvm::Loop::isInnermost)))
      continue;
    for (llvm::Loop *loop : all) {
      llvm::BasicBlock *latch = loop->getLoopLatch();
      if (!latch)
        continue;
      llvm::IRBuilder<> b(&*loop->getHeader()->getFirstInsertionPt());
      for (llvm::PHINode &counter : loop->getHeader()->phis()) {
        llvm::Type *type = counter.getType();
        if (!type->isIntegerTy(32) && !type->isIntegerTy(64))
          continue;
        bool wide = type->isIntegerTy(64);
        auto *copies = llvm::FunctionType::get(type, {type}, false);
        llvm::Value *next = counter.getIncomingValueForBlock(latch);
        llvm::Value *copy = b.CreateCall(
            copies,
            llvm::InlineAsm::get(copies,
                                 wide ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;",
                                 wide ? "=l,l" : "=r,r", false),
            {&counter});
        counter.replaceUsesWithIf(copy, [&](llvm::Use &use) {
          return use.getUser() != next && use.getUser() != copy;
        });
      }
    }
  }
}

/// LLVM's codegen pipeline to PTX, without most of its address passes:
/// addresses come as a thread's own part and constants, and ptxas does the
/// rest. Loop strength reduction stays: without it, the gradient of attention
/// has 14 more instructions per MFLOP.
class CodegenPasses : public llvm::legacy::PassManagerBase {
public:
  void add(llvm::Pass *pass) override {
    static constexpr llvm::StringLiteral left[] = {
        "Early CSE", "Nary reassociation", "Speculatively execute instructions",
        "Straight line strength reduction"};
    if (llvm::is_contained(left, pass->getPassName()))
      delete pass;
    else
      passes.add(pass);
  }
  void run(llvm::Module &module) { passes.run(module); }

private:
  llvm::legacy::PassManager passes;
};

/// Collects errors that LLVM reports without ending the process.
struct CollectErrors : llvm::DiagnosticHandler {
  std::string &text;
  explicit CollectErrors(std::string &text) : text(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      if (!text.empty())
        text += "; ";
      llvm::raw_string_ostream os(text);
      llvm::DiagnosticPrinterRawOStream printer(os);
      info.print(printer);
    }
    return true;
  }
};

thread_local std::string fatalMessage;

/// While one exists, LLVM's fatal errors return to survive(). Handler and
/// recovery are process-wide, so all threads share them.
class CatchFatalErrors {
public:
  CatchFatalErrors() {
    std::lock_guard<std::mutex> guard(turn);
    if (users++)
      return;
    llvm::remove_fatal_error_handler();
    llvm::install_fatal_error_handler(
        [](void *, const char *reason, bool) {
          fatalMessage = reason;
          if (auto *context = llvm::CrashRecoveryContext::GetCurrent())
            context->HandleExit(1);
        },
        nullptr);
    llvm::CrashRecoveryContext::Enable();
  }
  ~CatchFatalErrors() {
    std::lock_guard<std::mutex> guard(turn);
    if (--users)
      return;
    llvm::CrashRecoveryContext::Disable();
    llvm::remove_fatal_error_handler();
  }

private:
  static std::mutex turn;
  static unsigned users;
};
std::mutex CatchFatalErrors::turn;
unsigned CatchFatalErrors::users = 0;

/// Runs `body` and turns a fatal error into a message. check-ptx-target runs
/// first; this catches what its table does not know. A failed body leaks its
/// memory.
std::optional<std::string> survive(llvm::function_ref<void()> body) {
  CatchFatalErrors caught;
  fatalMessage.clear();
  llvm::CrashRecoveryContext context;
  if (context.RunSafely(body))
    return std::nullopt;
  return fatalMessage.empty() ? "LLVM crashed without a message" : fatalMessage;
}

} // namespace

FailureOr<std::string> tile::translateToPtx(gpu::GPUModuleOp module,
                                            const PtxOptions &options) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      createMachine(options, ptxVersion(module, options.chip), error);
  if (!machine)
    return emitError(module.getLoc(), "cannot generate PTX: ") << error;
  // On the heap: after a fatal error it must not be cleaned up.
  auto *context = new llvm::LLVMContext;
  auto *text = new llvm::SmallString<0>;
  auto *errors = new std::string;
  context->setDiagnosticHandler(std::make_unique<CollectErrors>(*errors));
  bool translated = false, emitted = false;
  auto died = survive([&] {
    std::unique_ptr<llvm::Module> code =
        translateModuleToLLVMIR(module, *context, module.getName());
    if (!code)
      return;
    translated = true;
    code->setTargetTriple(machine->getTargetTriple());
    code->setDataLayout(machine->createDataLayout());
    optimize(*code, *machine);
    hideCounters(*code, options.steppedAddresses);
    llvm::raw_svector_ostream stream(*text);
    CodegenPasses codegen;
    if (machine->addPassesToEmitFile(codegen, stream, nullptr,
                                     llvm::CodeGenFileType::AssemblyFile))
      return;
    codegen.run(*code);
    emitted = true;
  });
  if (died) {
    (void)machine.release();
    return emitError(module.getLoc(), "LLVM cannot compile '")
           << module.getName() << "' for " << options.chip << ": " << *died;
  }
  std::string ptx(text->begin(), text->end()), said = *errors;
  delete errors;
  delete text;
  delete context;
  if (!translated) // its own diagnostics say why
    return failure();
  if (!emitted || !said.empty())
    return emitError(module.getLoc(), "LLVM cannot compile '")
           << module.getName() << "' for " << options.chip << ": "
           << (said.empty() ? "no PTX is written" : said);
  return ptx;
}
