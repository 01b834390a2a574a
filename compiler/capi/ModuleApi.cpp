// SPDX-License-Identifier: Apache-2.0
//
// Modules: read, imported, changed by passes, and what is made of them.
#include "compiler/CheckModule.h"
#include "compiler/ImportCommand.h"
#include "compiler/capi/Objects.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/CommandLine.h"
#include "passes/emit/Passes.h"
#include "passes/raise/Passes.h"
#include "passes/report/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace act;
using namespace act::capi;

static actc_module handleOf(std::shared_ptr<Context> context,
                            OwningOpRef<ModuleOp> op) {
  return static_cast<actc_module>(addHandle(
      Kind::Module,
      std::shared_ptr<Module>(new Module{std::move(context), std::move(op)})));
}

/// A call on a context that makes a module.
static actc_status
makeModule(std::shared_ptr<Context> context, actc_module *out,
           llvm::function_ref<Result<OwningOpRef<ModuleOp>>()> make) {
  if (!context)
    return ACTC_INVALID_HANDLE;
  if (!out)
    return invalid("the place for the module is null");
  OwningOpRef<ModuleOp> made;
  const actc_status status = call(*context, [&]() -> actc_status {
    auto module = make();
    if (!module)
      return fail(ACTC_FAILED, module.error().str());
    made = std::move(*module);
    return made ? ACTC_SUCCESS : ACTC_FAILED;
  });
  if (!status)
    *out = handleOf(std::move(context), std::move(made));
  return status;
}

/// Fails at ops of dialects that are not known, but for those that
/// --raise-to-act replaces.
static LogicalResult checkDialects(ModuleOp module) {
  return failure(
      module
          .walk([](Operation *op) {
            if (op->isRegistered() ||
                isRaisedDialect(op->getName().getDialectNamespace()))
              return WalkResult::advance();
            op->emitError("'")
                << op->getName()
                << "' is of no known dialect; beside MLIR's own, act's are "
                   "known, and those that --raise-to-act reads in generic "
                   "form: "
                   "stablehlo, chlo and torch";
            return WalkResult::interrupt();
          })
          .wasInterrupted());
}

actc_status actc_module_parse(actc_context handle, const char *name,
                              const void *bytes, size_t size,
                              actc_module *out) {
  return guarded([&]() -> actc_status {
    auto context = find(handle);
    if (context && !bytes)
      return invalid("the module's bytes are null");
    return makeModule(context, out, [&]() -> Result<OwningOpRef<ModuleOp>> {
      auto checked = checkModule(
          llvm::MemoryBuffer::getMemBufferCopy(
              {static_cast<const char *>(bytes), size}, name ? name : "module"),
          context->mlir.getDialectRegistry());
      if (!checked)
        return checked.error();
      llvm::SourceMgr sources;
      sources.AddNewSourceBuffer(std::move(*checked), llvm::SMLoc());
      auto module =
          parseSourceFile<ModuleOp>(sources, ParserConfig(&context->mlir));
      if (module && failed(checkDialects(*module)))
        module = nullptr;
      return module;
    });
  });
}

/// Texts of a caller's array; an error if one is null.
static Result<std::vector<std::string>> textsOf(const char *const *texts,
                                                size_t count) {
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) {
    if (!texts || !texts[i])
      return Error{"flag " + std::to_string(i) + " is null", ""};
    all.push_back(texts[i]);
  }
  return all;
}

actc_status actc_module_import(actc_context handle, const char *config,
                               size_t size, const char *const *options,
                               size_t count, actc_module *out) {
  return guarded([&]() -> actc_status {
    auto words = textsOf(options, count);
    if (!words)
      return invalid(words.error().str());
    if (!config)
      return invalid("the config is null");
    for (const std::string &word : *words)
      if (llvm::StringRef flag = word;
          !flag.starts_with("--") || flag == "--help" || flag == "--version")
        return invalid("'" + word + "' is no option of a model");
    words->insert(words->begin(), "config.json");
    auto command = parseImportCommand(*words);
    if (!command)
      return invalid(command.error().str());
    auto context = find(handle);
    return makeModule(context, out, [&]() -> Result<OwningOpRef<ModuleOp>> {
      auto model = hf::parse({config, size}, "config.json");
      if (!model)
        return model.error();
      std::vector<std::string> warnings = command->warnings;
      auto module =
          importModel(*model, command->options, &context->mlir, warnings);
      for (const std::string &warning : warnings)
        tell(*context, ACTC_WARNING, "config.json", 0, 0, warning);
      return module;
    });
  });
}

actc_status actc_module_clone(actc_module handle, actc_module *out) {
  return guarded([&]() -> actc_status {
    auto module = find(handle);
    if (!module)
      return ACTC_INVALID_HANDLE;
    return makeModule(module->context, out,
                      [&]() -> Result<OwningOpRef<ModuleOp>> {
                        return OwningOpRef<ModuleOp>(module->op->clone());
                      });
  });
}

actc_status actc_module_release(actc_module module) {
  return releaseHandle(Kind::Module, module);
}

/// The flags as the text of a pipeline of module passes.
static Result<std::string> pipelineOf(const std::vector<std::string> &flags) {
  std::vector<std::string> passes;
  for (const std::string &flag : expandPassFlags(flags)) {
    llvm::StringRef text = flag;
    if (!text.consume_front("--") && !text.consume_front("-"))
      return Error{
          "expected a flag such as --fuse-attention, found '" + flag + "'", ""};
    auto [name, options] = text.split('=');
    if (name == "memory-report" && !options.contains("file="))
      return Error{"--memory-report prints: expected actc_module_report, or a "
                   "file=",
                   ""};
    passes.push_back(options.empty() ? name.str()
                                     : (name + "{" + options + "}").str());
  }
  return llvm::join(passes, ",");
}

actc_status actc_module_run(actc_module handle, const char *const *flags,
                            size_t count) {
  return guarded([&]() -> actc_status {
    auto module = find(handle);
    if (!module)
      return ACTC_INVALID_HANDLE;
    auto texts = textsOf(flags, count);
    if (!texts)
      return invalid(texts.error().str());
    auto pipeline = pipelineOf(*texts);
    if (!pipeline)
      return invalid(pipeline.error().str());
    Context &context = *module->context;
    return call(context, [&]() -> actc_status {
      PassManager pm(&context.mlir, ModuleOp::getOperationName(),
                     OpPassManager::Nesting::Implicit);
      std::string message;
      llvm::raw_string_ostream os(message);
      if (failed(parsePassPipeline(*pipeline, pm, os)))
        return invalid(llvm::StringRef(message).trim().str());
      // A pass that fails leaves anything.
      OwningOpRef<ModuleOp> copy(module->op->clone());
      if (failed(pm.run(*copy)))
        return ACTC_FAILED;
      module->op = std::move(copy);
      return ACTC_SUCCESS;
    });
  });
}

/// A call on a module that makes an output.
static actc_status
makeOutput(actc_module handle, actc_output *out,
           llvm::function_ref<actc_status(Module &, Output &)> make) {
  return guarded([&]() -> actc_status {
    auto module = find(handle);
    if (!module)
      return ACTC_INVALID_HANDLE;
    if (!out)
      return invalid("the place for the output is null");
    auto output = std::make_shared<Output>();
    const actc_status status =
        call(*module->context, [&] { return make(*module, *output); });
    if (!status)
      *out =
          static_cast<actc_output>(addHandle(Kind::Output, std::move(output)));
    return status;
  });
}

actc_status actc_module_print(actc_module handle, actc_form form,
                              actc_output *out) {
  return makeOutput(handle, out, [&](Module &module, Output &output) {
    std::string bytes;
    llvm::raw_string_ostream os(bytes);
    if (form == ACTC_TEXT)
      module.op->print(os);
    else if (form != ACTC_BYTECODE)
      return invalid("unknown form " + std::to_string(int(form)));
    else if (failed(writeBytecodeToFile(*module.op, os)))
      return ACTC_FAILED;
    output.files.push_back({"", std::move(bytes)});
    return ACTC_SUCCESS;
  });
}

/// Runs a pass that makes files, with options as text, which may not name any.
static actc_status runWith(std::unique_ptr<Pass> pass, const char *options,
                           llvm::StringRef file, Module &module) {
  llvm::StringRef text = options ? options : "";
  for (llvm::StringRef word : llvm::split(text, ' '))
    if (word.consume_front(file) && word.starts_with("="))
      return invalid(
          (file + "= is not an option here: the output is in memory").str());
  std::string message;
  if (failed(pass->initializeOptions(text, [&](const llvm::Twine &what) {
        message = what.str();
        return failure();
      })))
    return invalid(message.empty() ? "unknown options '" + text.str() + "'"
                                   : message);
  PassManager pm(&module.context->mlir, ModuleOp::getOperationName());
  pm.addPass(std::move(pass));
  return failed(pm.run(*module.op)) ? ACTC_FAILED : ACTC_SUCCESS;
}

actc_status actc_module_report(actc_module handle, const char *options,
                               actc_output *out) {
  return makeOutput(handle, out, [&](Module &module, Output &output) {
    std::string &text = output.files.emplace_back().second;
    return runWith(createMemoryReportPass(&text), options, "file", module);
  });
}

actc_status actc_module_emit(actc_module handle, const char *options,
                             actc_output *out) {
  return makeOutput(handle, out, [&](Module &module, Output &output) {
    std::vector<uint8_t> bytes;
    const actc_status status =
        runWith(createEmitPass(&bytes), options, "file", module);
    output.files.push_back({"", {bytes.begin(), bytes.end()}});
    return status;
  });
}

actc_status actc_module_emit_ptx(actc_module handle, const char *options,
                                 actc_output *out) {
  return makeOutput(handle, out, [&](Module &module, Output &output) {
    return runWith(createEmitPtxPass(&output.files), options, "dir", module);
  });
}
