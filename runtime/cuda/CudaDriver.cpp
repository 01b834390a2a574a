// SPDX-License-Identifier: Apache-2.0
//
// Finds the CUDA driver when a program opens a card. Nothing links against it, so
// the same library runs on machines without one.
#include "runtime/cuda/CudaDriver.h"
#include <dlfcn.h>
#include <memory>
#include <mutex>

using namespace act;
using namespace act::runtime::cuda;

// Tried in this order. The driver's packages install the first; development
// packages and stubs install the second.
static const char *const libraries[] = {"libcuda.so.1", "libcuda.so"};

static Result<void *> openLibrary() {
  std::string reasons;
  for (const char *name : libraries) {
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return library;
    const char *reason = dlerror();
    reasons += std::string(reasons.empty() ? "" : "; ") +
               (reason ? reason : "unknown reason");
  }
  return Error{"no CUDA driver: looked for libcuda.so.1 and libcuda.so (" +
                   reasons + ")",
               ""};
}

// All functions at once, and all that are missing in one message. Older drivers
// lack the optional ones, whose users test for null.
static Result<std::unique_ptr<CudaDriver>> loadSymbols(void *library) {
  auto driver = std::make_unique<CudaDriver>();
  std::string missing;
#define ACT_CUDA(name, symbol, parameters)                                     \
  driver->name =                                                               \
      reinterpret_cast<CUresult(*) parameters>(dlsym(library, symbol));        \
  if (!driver->name)                                                           \
    missing += missing.empty() ? symbol : ", " symbol;
#define ACT_CUDA_OPTIONAL(name, symbol, parameters)                            \
  driver->name =                                                               \
      reinterpret_cast<CUresult(*) parameters>(dlsym(library, symbol));
#include "runtime/cuda/CudaSymbols.def"
#undef ACT_CUDA
#undef ACT_CUDA_OPTIONAL
  if (!missing.empty())
    return Error{
        "the CUDA driver library is too old or is not a driver: it lacks " +
            missing,
        ""};
  return driver;
}

Result<const CudaDriver *> CudaDriver::load() {
  static std::mutex mutex;
  static const CudaDriver *loaded = nullptr; // lives as long as the process
  std::lock_guard lock(mutex);
  if (loaded)
    return loaded;
  auto library = openLibrary();
  if (!library)
    return library.error();
  auto driver = loadSymbols(*library);
  if (!driver) {
    dlclose(*library);
    return driver.error();
  }
  if (CUresult r = (*driver)->cuInit(0)) {
    Error e = (*driver)->error(r, "initialise the CUDA driver");
    dlclose(*library);
    return e;
  }
  loaded = driver->release();
  return loaded;
}

Error CudaDriver::error(CUresult result, const char *what) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != 0 || !name)
    name = "unknown CUDA error";
  if (cuGetErrorString(result, &text) != 0)
    text = nullptr;
  return Error{std::string("cannot ") + what + ": " + name + " (" +
                   std::to_string(result) + ")" +
                   (text ? std::string(", ") + text : ""),
               ""};
}
