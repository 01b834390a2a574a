// SPDX-License-Identifier: Apache-2.0
//
// What the handles stand for, and a call on them.
#ifndef ACT_COMPILER_CAPI_OBJECTS_H
#define ACT_COMPILER_CAPI_OBJECTS_H
#include "act/File/NamedBytes.h"
#include "compiler/capi/Errors.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>
#include <mutex>
#include <vector>

namespace act::capi {

struct Context {
  Context();
  std::mutex mutex; ///< held by a call
  actc_diagnostic_callback callback = nullptr;
  void *user = nullptr;
  mlir::MLIRContext mlir;
};

// Members are destroyed from the last to the first: the context goes last.
struct Module {
  std::shared_ptr<Context> context;
  mlir::OwningOpRef<mlir::ModuleOp> op;
  /// A context destroys what is in it one at a time, too.
  ~Module() {
    std::lock_guard<std::mutex> lock(context->mutex);
    op = nullptr;
  }
};

struct Output {
  std::vector<NamedBytes> files;
};

enum class Kind { Context, Module, Output };
void *addHandle(Kind kind, std::shared_ptr<void> object);
/// Null, with the error recorded, unless the handle is live and of this kind.
std::shared_ptr<void> findHandle(Kind kind, const void *handle);
actc_status releaseHandle(Kind kind, const void *handle);

inline std::shared_ptr<Context> find(actc_context h) {
  return std::static_pointer_cast<Context>(findHandle(Kind::Context, h));
}
inline std::shared_ptr<Module> find(actc_module h) {
  return std::static_pointer_cast<Module>(findHandle(Kind::Module, h));
}
inline std::shared_ptr<Output> find(actc_output h) {
  return std::static_pointer_cast<Output>(findHandle(Kind::Output, h));
}

/// Tells the context's callback. `context` is locked.
void tell(Context &context, actc_severity severity, const std::string &file,
          unsigned line, unsigned column, const std::string &message);

/// Does `body` while the context is locked and its diagnostics go to the
/// callback. Where the body fails without a message of its own, the first error
/// is actc_last_error().
actc_status call(Context &context, llvm::function_ref<actc_status()> body);

} // namespace act::capi
#endif
