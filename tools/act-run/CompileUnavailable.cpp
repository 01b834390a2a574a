// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the compiler in a build without it.
#include "tools/act-run/Compile.h"
#include "tools/act-run/CompileKernel.h"

using namespace act;

Result<artifact::Step> run::compileModule(const std::string &path,
                                          const CompileOptions &) {
  return Error{"this act-run was built without the compiler and runs artifacts "
               "only (make one with act-opt --emit)",
               path};
}

std::string run::whatWouldFit(const std::string &, const CompileOptions &,
                              uint64_t, uint64_t) {
  return "";
}

Result<run::Kernel> run::compileKernel(const std::string &path,
                                       const KernelOptions &) {
  return Error{"this act-run was built without the compiler and cannot make a "
               "kernel (actrt-sim runs PTX)",
               path};
}

Result<run::NativeKernel> run::compileKernelForHost(const std::string &path,
                                                    const KernelOptions &) {
  return Error{"this act-run was built without the compiler and cannot make a "
               "kernel (actrt-sim runs PTX)",
               path};
}
