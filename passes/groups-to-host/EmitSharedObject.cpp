// SPDX-License-Identifier: Apache-2.0
//
// LLVM for the host, and a linker. The kernel ABI allows only functions
// of libc and libm that neither allocate nor print. Symbols are checked: an
// unexpected call is an error here, not where the object is loaded.
#include "passes/groups-to-host/EmitSharedObject.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include <mutex>

using namespace mlir;

namespace {

const llvm::Target *hostTarget(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  return llvm::TargetRegistry::lookupTarget(
      llvm::Triple(llvm::sys::getDefaultTargetTriple()), error);
}

std::unique_ptr<llvm::TargetMachine>
createMachine(const act::HostTarget &target) {
  std::string error;
  const llvm::Target *found = hostTarget(error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  // A product and a sum are fused only where the source says fma, or bits would
  // depend on the target.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      llvm::Triple(llvm::sys::getDefaultTargetTriple()), target.cpu,
      target.features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  // Vectorisation is done earlier; remaining scalars are remainders or
  // irregular.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
}

bool usesBFloat(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    for (const llvm::BasicBlock &block : function)
      for (const llvm::Instruction &instruction : block)
        if (instruction.getType()->getScalarType()->isBFloatTy())
          return true;
  return false;
}

/// Without AVX512-BF16, code generation calls __truncsfbf2 to round a float to
/// bf16, which only newer compilers' libraries have. Rounds to nearest, ties to
/// even; a NaN becomes quiet.
void defineRoundingToBFloat(llvm::Module &module,
                            const act::HostTarget &target) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto *type = llvm::FunctionType::get(b.getBFloatTy(), {b.getFloatTy()},
                                       /*isVarArg=*/false);
  auto *function = llvm::Function::Create(
      type, llvm::GlobalValue::WeakODRLinkage, "__truncsfbf2", module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  llvm::Value *x = function->getArg(0);
  llvm::Value *bits = b.CreateBitCast(x, b.getInt32Ty());
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  llvm::Value *rounded =
      b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7fff)));
  llvm::Value *quiet = b.CreateOr(bits, 0x400000);
  llvm::Value *result = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  llvm::Value *half = b.CreateTrunc(b.CreateLShr(result, 16), b.getInt16Ty());
  b.CreateRet(b.CreateBitCast(half, b.getBFloatTy()));
}

bool isLibrarySymbol(StringRef name) {
  static const llvm::StringSet<> known = {
      "memcpy",     "memset", "memmove", "exp",   "expf",   "exp2",
      "exp2f",      "expm1",  "expm1f",  "log",   "logf",   "log1p",
      "log1pf",     "log2",   "log2f",   "log10", "log10f", "pow",
      "powf",       "sin",    "sinf",    "cos",   "cosf",   "tan",
      "tanf",       "tanh",   "tanhf",   "erf",   "erff",   "erfc",
      "erfcf",      "sqrt",   "sqrtf",   "fma",   "fmaf",   "floor",
      "floorf",     "ceil",   "ceilf",   "round", "roundf", "roundeven",
      "roundevenf", "trunc",  "truncf",  "rint",  "rintf",  "fmod",
      "fmodf",      "atan",   "atanf",   "atan2", "atan2f", "sinh",
      "sinhf",      "cosh",   "coshf",   "cbrt",  "cbrtf",  "asin",
      "asinf",      "acos",   "acosf",   "fmax",  "fmaxf",  "fmin",
      "fminf",      "sincos", "sincosf", "asinh", "asinhf", "acosh",
      "acoshf",     "atanh",  "atanhf"};
  return known.contains(name);
}

/// Rejects symbols that no object defines and the C library does not have among
/// the functions that neither allocate nor print.
LogicalResult checkUndefined(ArrayRef<std::vector<char>> objects, Location loc,
                             ArrayRef<StringRef> also) {
  llvm::StringSet<> defined;
  SmallVector<std::string> undefined;
  for (const std::vector<char> &object : objects) {
    auto file =
        llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(
            StringRef(object.data(), object.size()), "kernel"));
    if (!file)
      return emitError(loc) << llvm::toString(file.takeError());
    for (llvm::object::SymbolRef symbol : (*file)->symbols()) {
      auto flags = symbol.getFlags();
      auto name = symbol.getName();
      if (!flags || !name) {
        llvm::consumeError(flags.takeError());
        llvm::consumeError(name.takeError());
        continue;
      }
      if (*flags & llvm::object::SymbolRef::SF_Undefined)
        undefined.push_back(name->str());
      else
        defined.insert(*name);
    }
  }
  for (const std::string &name : undefined)
    if (!name.empty() && !defined.contains(name) && !isLibrarySymbol(name) &&
        !llvm::is_contained(also, name))
      return emitError(loc) << "host kernels need '" << name
                            << "', which is neither in the C library nor libm";
  return success();
}

} // namespace

FailureOr<act::HostTarget>
act::describeTarget(StringRef cpu, StringRef features, Location loc) {
  std::string error;
  const llvm::Target *found = hostTarget(error);
  if (!found)
    return emitError(loc) << error;
  HostTarget target;
  llvm::SubtargetFeatures list;
  if (cpu.empty()) {
    target.cpu = llvm::sys::getHostCPUName().str();
    for (auto &feature : llvm::sys::getHostCPUFeatures())
      list.AddFeature(feature.getKey(), feature.getValue());
  } else {
    target.cpu = cpu.str();
  }
  llvm::SubtargetFeatures asked(features);
  for (const std::string &feature : asked.getFeatures())
    list.AddFeature(feature);
  std::unique_ptr<llvm::MCSubtargetInfo> info(found->createMCSubtargetInfo(
      llvm::Triple(llvm::sys::getDefaultTargetTriple()), "", ""));
  if (!info->isCPUStringValid(target.cpu))
    return emitError(loc) << "unknown cpu '" << target.cpu << "'";
  info.reset(found->createMCSubtargetInfo(
      llvm::Triple(llvm::sys::getDefaultTargetTriple()), target.cpu,
      list.getString()));
  // Whole registers: LLVM prefers 256 bits on many CPUs that have 512.
  if (info->checkFeatures("+avx512f")) {
    target.vectorBits = 512;
    list.AddFeature("prefer-256-bit", false);
  }
  target.features = list.getString();
  return target;
}

FailureOr<std::vector<char>> act::emitObject(ModuleOp module,
                                             const HostTarget &target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return failure();
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target);
  if (!machine)
    return emitError(module.getLoc(),
                     "cannot create a target machine for this host");
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setTargetTriple(machine->getTargetTriple());
  for (llvm::Function &function : *llvmModule) {
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    // Without both, LLVM may split 512-bit vectors in two.
    function.addFnAttr("min-legal-vector-width",
                       std::to_string(target.vectorBits));
    function.addFnAttr("prefer-vector-width",
                       std::to_string(target.vectorBits));
  }
  optimize(*llvmModule, *machine);
  if (usesBFloat(*llvmModule))
    defineRoundingToBFloat(*llvmModule, target);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return emitError(module.getLoc(),
                     "cannot emit an object file for this host");
  codegen.run(*llvmModule);
  return std::vector<char>(bytes.begin(), bytes.end());
}

/// Finds a linker: this LLVM's, another one's, or the system's. LLD as a
/// library would reset every command-line option of the process.
static FailureOr<std::string> findLinker(Location loc) {
  for (StringRef name : {"ld.lld", "ld.lld-22", "ld"}) {
    auto path = llvm::sys::findProgramByName(name, {ACT_LLVM_TOOLS_DIR});
    if (!path)
      path = llvm::sys::findProgramByName(name);
    if (path)
      return *path;
  }
  return emitError(loc) << "cannot find a linker: expected ld.lld or ld in "
                        << ACT_LLVM_TOOLS_DIR << " or PATH";
}

/// The linker reads and writes files: they are in a temporary directory that is
/// always removed.
FailureOr<std::vector<uint8_t>>
act::linkObjects(ArrayRef<std::vector<char>> objects, Location loc,
                 ArrayRef<StringRef> also, ArrayRef<SymbolAlias> aliases) {
  if (failed(checkUndefined(objects, loc, also)))
    return failure();
  auto linker = findLinker(loc);
  if (failed(linker))
    return failure();
  llvm::SmallString<128> folder;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("act-host", folder))
    return emitError(loc) << "cannot create a temporary directory: "
                          << code.message();
  llvm::scope_exit cleanup([&] { llvm::sys::fs::remove_directories(folder); });
  std::string output = (folder + "/kernels.so").str();
  std::vector<std::string> args = {*linker,           "-shared", "-z",  "now",
                                   "--build-id=none", "-o",      output};
  for (const SymbolAlias &alias : aliases)
    args.push_back("--defsym=" + alias.name + "=" + alias.symbol);
  for (auto [i, object] : llvm::enumerate(objects)) {
    std::string path = (folder + "/" + Twine(i) + ".o").str();
    std::error_code code;
    llvm::raw_fd_ostream file(path, code);
    file.write(object.data(), object.size());
    file.close();
    if (code || file.has_error()) {
      file.clear_error();
      return emitError(loc) << "cannot write " << path;
    }
    args.push_back(path);
  }
  std::string log = (folder + "/log").str(), error;
  SmallVector<StringRef> argv(args.begin(), args.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  if (llvm::sys::ExecuteAndWait(*linker, argv, std::nullopt, redirects, 0, 0,
                                &error) != 0) {
    auto messages = llvm::MemoryBuffer::getFile(log);
    return emitError(loc) << "linking host kernels with " << *linker << ": "
                          << (messages ? (*messages)->getBuffer() : error);
  }
  auto file = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return emitError(loc) << "cannot read " << output;
  return std::vector<uint8_t>((*file)->getBufferStart(),
                              (*file)->getBufferEnd());
}
