// SPDX-License-Identifier: Apache-2.0
//
// Host kernels: an ELF shared object in memory, loaded by the dynamic linker.
// The bytes go to an anonymous file (memfd), so nothing appears on disk. The
// file descriptor stays open during the module's lifetime: the linker
// identifies objects by path, here /proc/self/fd/N, so N must not be reused.
#ifndef ACT_RUNTIME_HOST_ELFMODULE_H
#define ACT_RUNTIME_HOST_ELFMODULE_H
#include "runtime/Executor.h"
#include "runtime/host/ThreadPool.h"
#include <map>
#include <mutex>

namespace act::runtime {

class HostKernelObject : public Kernel {
public:
  explicit HostKernelObject(HostKernel entry) : entry(entry) {}
  KernelAttributes attributes() const override { return {}; }
  const HostKernel entry;
};

class ElfModule : public Module {
public:
  static Result<std::unique_ptr<Module>> load(const void *data, size_t bytes);
  ~ElfModule() override;
  Result<Kernel *> kernel(const std::string &symbol) override;

private:
  ElfModule(int fd, void *library) : fd(fd), library(library) {}
  int fd;
  void *library;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<HostKernelObject>> kernels;
};

} // namespace act::runtime
#endif
