// SPDX-License-Identifier: Apache-2.0
#include "test/passes/groups-to-host/KernelRunner.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace act;
using namespace act::test;

std::unique_ptr<KernelRunner> KernelRunner::create(const std::string &text,
                                                   const HostOptions &options) {
  auto runner = std::unique_ptr<KernelRunner>(new KernelRunner());
  mlir::DialectRegistry registry;
  registerHostKernelDialects(registry);
  runner->context = std::make_unique<mlir::MLIRContext>(registry);
  runner->source =
      mlir::parseSourceString<mlir::ModuleOp>(text, runner->context.get());
  if (!runner->source)
    return nullptr;
  auto start = std::chrono::steady_clock::now();
  auto code = compileHostKernels(*runner->source, options);
  if (mlir::failed(code))
    return nullptr;
  runner->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  runner->compiled = std::move(*code);
  int file = memfd_create("kernels", MFD_CLOEXEC);
  const auto &bytes = runner->compiled.sharedObject;
  if (file < 0 ||
      write(file, bytes.data(), bytes.size()) != ssize_t(bytes.size()))
    return nullptr;
  std::string path = "/proc/self/fd/" + std::to_string(file);
  runner->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  // Open for as long as the library: dlopen knows libraries by name, and the
  // name holds the number of the file.
  runner->file = file;
  if (!runner->library) {
    llvm::errs() << "cannot load the kernels: " << dlerror() << "\n";
    return nullptr;
  }
  return runner;
}

KernelRunner::~KernelRunner() {
  if (library)
    dlclose(library);
  if (file >= 0)
    close(file);
}

const HostKernelInfo *KernelRunner::find(const std::string &name) const {
  for (const HostKernelInfo &kernel : compiled.kernels)
    if (kernel.symbol == name)
      return &kernel;
  return nullptr;
}

bool KernelRunner::run(const std::string &name, std::vector<void *> args,
                       unsigned threads, bool reversed) const {
  const HostKernelInfo *kernel = find(name);
  auto function =
      kernel
          ? reinterpret_cast<Function>(dlsym(library, kernel->symbol.c_str()))
          : nullptr;
  if (!function)
    return false;
  std::atomic<uint64_t> next{0};
  auto work = [&] {
    std::vector<void *> own = args;
    void *scratch = nullptr;
    if (kernel->scratchBytes) {
      scratch = std::aligned_alloc(64, (kernel->scratchBytes + 63) / 64 * 64);
      // Undefined at entry: make it look so.
      auto *words = static_cast<uint32_t *>(scratch);
      for (uint64_t i = 0; i < kernel->scratchBytes / 4; ++i)
        words[i] = 0x7fc0dead;
      own.push_back(scratch);
    }
    for (uint64_t i = next++; i < kernel->grid; i = next++)
      function(own.data(), reversed ? kernel->grid - 1 - i : i);
    std::free(scratch);
  };
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < threads; ++t)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
  return true;
}
