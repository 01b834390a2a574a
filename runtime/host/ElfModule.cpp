// SPDX-License-Identifier: Apache-2.0
//
// Native kernels from an ELF shared object, loaded by the system's linker. The
// object comes through a memory file, because dlopen needs a path and no file
// should be left behind.
#include "runtime/host/ElfModule.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace act;
using namespace act::runtime;

#if defined(__x86_64__)
static constexpr uint16_t machine = EM_X86_64;
#elif defined(__aarch64__)
static constexpr uint16_t machine = EM_AARCH64;
#else
#error "no ELF machine number is known for this processor"
#endif

// The dynamic linker reports most defects itself. These are the common ones,
// and those where it would read past the end of a short file.
static Status checkElf(const void *data, size_t bytes) {
  Elf64_Ehdr h;
  if (bytes < sizeof h || std::memcmp(data, ELFMAG, SELFMAG) != 0)
    return Error{"the host code is not an ELF file", ""};
  std::memcpy(&h, data, sizeof h);
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_type != ET_DYN)
    return Error{"the host code is not a 64-bit ELF shared object", ""};
  if (h.e_machine != machine)
    return Error{"the host code is for ELF machine " +
                     std::to_string(h.e_machine) + ", but this machine is " +
                     std::to_string(machine),
                 ""};
  if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > bytes ||
      h.e_phnum > (bytes - h.e_phoff) / sizeof(Elf64_Phdr))
    return Error{"the host code's program headers lie beyond its end", ""};
  for (unsigned i = 0; i < h.e_phnum; ++i) {
    Elf64_Phdr p;
    std::memcpy(&p, static_cast<const char *>(data) + h.e_phoff + i * sizeof p,
                sizeof p);
    if (p.p_offset > bytes || p.p_filesz > bytes - p.p_offset)
      return Error{"the host code's segment " + std::to_string(i) +
                       " lies beyond its end",
                   ""};
  }
  return ok();
}

// Checks the header first: the linker trusts what it loads.
Result<std::unique_ptr<Module>> ElfModule::load(const void *data,
                                                size_t bytes) {
  if (auto s = checkElf(data, bytes); !s)
    return s.error();
  int fd = memfd_create("act-kernels", MFD_CLOEXEC);
  if (fd < 0)
    return Error{std::string("cannot create a memory file: ") +
                     std::strerror(errno),
                 ""};
  for (size_t at = 0; at < bytes;) {
    ssize_t n = ::write(fd, static_cast<const char *>(data) + at, bytes - at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      ::close(fd);
      return Error{std::string("cannot fill a memory file: ") +
                       std::strerror(errno),
                   ""};
    }
    at += static_cast<size_t>(n);
  }
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    ::close(fd);
    return Error{std::string("cannot load the host code: ") +
                     (reason ? reason : "unknown reason"),
                 ""};
  }
  return std::unique_ptr<Module>(new ElfModule(fd, library));
}

ElfModule::~ElfModule() {
  dlclose(library);
  ::close(fd);
}

Result<Kernel *> ElfModule::kernel(const std::string &symbol) {
  std::lock_guard lock(mutex);
  auto &slot = kernels[symbol];
  if (!slot) {
    void *address = dlsym(library, symbol.c_str());
    // dlsym also searches the object's dependencies; a kernel must come from
    // the object itself.
    Dl_info info;
    if (!address || dladdr(address, &info) == 0 || !info.dli_fname ||
        info.dli_fname != "/proc/self/fd/" + std::to_string(fd)) {
      kernels.erase(symbol);
      return Error{"the host code has no kernel '" + symbol + "'", ""};
    }
    slot = std::make_unique<HostKernelObject>(
        reinterpret_cast<HostKernel>(address));
  }
  return slot.get();
}
