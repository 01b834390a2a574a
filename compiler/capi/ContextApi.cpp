// SPDX-License-Identifier: Apache-2.0
//
// Handles, contexts and their diagnostics.
#include "act/CInterface/HandleTable.h"
#include "compiler/capi/Objects.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "passes/Registration.h"

using namespace mlir;
using namespace act;
using namespace act::capi;

// Never destroyed: other threads may still call during exit.
static HandleTable &table() {
  static auto *t = new HandleTable({"context", "module", "output"});
  return *t;
}

void *capi::addHandle(Kind kind, std::shared_ptr<void> object) {
  return table().add(static_cast<int>(kind), std::move(object));
}

std::shared_ptr<void> capi::findHandle(Kind kind, const void *handle) {
  auto object = table().find(static_cast<int>(kind), handle);
  if (object)
    return *object;
  fail(ACTC_INVALID_HANDLE, object.error().message);
  return nullptr;
}

actc_status capi::releaseHandle(Kind kind, const void *handle) {
  return guarded([&]() -> actc_status {
    auto object = table().remove(static_cast<int>(kind), handle);
    return object ? ACTC_SUCCESS
                  : fail(ACTC_INVALID_HANDLE, object.error().message);
  });
}

static const DialectRegistry &allDialects() {
  static const DialectRegistry *registry = [] {
    auto *r = new DialectRegistry;
    registerAllDialects(*r);
    registerAllExtensions(*r);
    act::registerDialects(*r);
    registerAllPasses();
    act::registerPasses();
    return r;
  }();
  return *registry;
}

Context::Context() : mlir(allDialects()) {
  // An op that a verifier rejects may not be printable.
  mlir.printOpOnDiagnostic(false);
  // What --raise-to-act reads; a module with others is refused.
  mlir.allowUnregisteredDialects();
}

void capi::tell(Context &context, actc_severity severity,
                const std::string &file, unsigned line, unsigned column,
                const std::string &message) {
  if (!context.callback)
    return;
  actc_diagnostic d{
      sizeof(actc_diagnostic), severity, line, column, file.c_str(),
      message.c_str()};
  context.callback(&d, context.user);
}

namespace {
/// Of the context's diagnostics during a call.
class Listener {
public:
  explicit Listener(Context &context)
      : context(context), handler(&context.mlir, [this](Diagnostic &d) {
          take(d);
          for (Diagnostic &note : d.getNotes())
            take(note);
          return success();
        }) {}
  std::string firstError;

private:
  void take(Diagnostic &d) {
    const actc_severity severities[] = {ACTC_NOTE, ACTC_WARNING, ACTC_ERROR,
                                        ACTC_REMARK};
    // The implicit module around a file's contents is at line 0.
    auto at = d.getLocation()->findInstanceOf<FileLineColLoc>();
    std::string file = at ? at.getFilename().str() : "", text = d.str();
    const bool hasPlace = at && at.getLine();
    if (d.getSeverity() == DiagnosticSeverity::Error && firstError.empty()) {
      if (!file.empty())
        firstError = file + ":";
      if (hasPlace)
        firstError += std::to_string(at.getLine()) + ":" +
                      std::to_string(at.getColumn()) + ":";
      firstError += (firstError.empty() ? "" : " ") + text;
    }
    tell(context, severities[int(d.getSeverity())], file,
         hasPlace ? at.getLine() : 0, hasPlace ? at.getColumn() : 0, text);
  }

  Context &context;
  ScopedDiagnosticHandler handler;
};
} // namespace

actc_status capi::call(Context &context,
                       llvm::function_ref<actc_status()> body) {
  std::lock_guard<std::mutex> lock(context.mutex);
  Listener listener(context);
  fail(ACTC_SUCCESS, "");
  const actc_status status = body();
  if (status && !*actc_last_error())
    return fail(status, listener.firstError.empty() ? "failed without a message"
                                                    : listener.firstError);
  return status;
}

const char *actc_last_error(void) { return lastError(); }

uint32_t actc_version(void) {
  return ACTC_VERSION_MAJOR << 16 | ACTC_VERSION_MINOR;
}

actc_status actc_context_create(actc_context *context) {
  return guarded([&]() -> actc_status {
    if (!context)
      return invalid("the place for the context is null");
    *context = static_cast<actc_context>(
        addHandle(Kind::Context, std::make_shared<Context>()));
    return ACTC_SUCCESS;
  });
}

actc_status actc_context_release(actc_context context) {
  return releaseHandle(Kind::Context, context);
}

actc_status actc_context_set_diagnostics(actc_context handle,
                                         actc_diagnostic_callback callback,
                                         void *user) {
  return guarded([&]() -> actc_status {
    auto context = find(handle);
    if (!context)
      return ACTC_INVALID_HANDLE;
    std::lock_guard<std::mutex> lock(context->mutex);
    context->callback = callback;
    context->user = user;
    return ACTC_SUCCESS;
  });
}
