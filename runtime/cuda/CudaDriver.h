// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver library, loaded at run time. The build needs no CUDA: the few
// types and numbers of the interface are declared here, as the driver API's
// reference and ABI fix them.
//
//     auto driver = CudaDriver::load();      // once per process
//     if (!driver) return driver.error();    // lists the libraries tried
//     (*driver)->cuMemAlloc(&p, n);
#ifndef ACT_RUNTIME_CUDA_CUDADRIVER_H
#define ACT_RUNTIME_CUDA_CUDADRIVER_H
#include "act/Result.h"
#include <cstddef>
#include <cstdint>

namespace act::runtime::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUhostFn = void (*)(void *);

// The numbers of the enumerations, where they are used.
constexpr CUresult errorInvalidValue = 1, errorNotFound = 500;
constexpr int attributeMultiprocessors = 16, attributeCapabilityMajor = 75,
              attributeCapabilityMinor = 76, attributeSharedOptin = 97,
              attributeCooperative = 95, attributeCluster = 120;
constexpr int functionMaxThreads = 0, functionShared = 1, functionLocal = 3,
              functionRegisters = 4, functionMaxDynamicShared = 8,
              functionClusterWidth = 11, functionClusterHeight = 12,
              functionClusterDepth = 13, functionNonPortableCluster = 14;
constexpr int jitErrorLog = 5, jitErrorLogBytes = 6, jitOptimization = 7;
constexpr int launchCooperative = 2, launchCluster = 4;
constexpr unsigned streamNonBlocking = 1, memoryAttachGlobal = 1;
constexpr int captureThreadLocal = 1;

struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char size[64];
    int cooperative;
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};
struct CUlaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(CUlaunchAttribute) == 72 && sizeof(CUlaunchConfig) == 56);

class CudaDriver {
public:
  /// Loads and initialises the driver once per process. An error is not cached:
  /// a driver may be installed later.
  static Result<const CudaDriver *> load();

  /// "CUDA_ERROR_OUT_OF_MEMORY: out of memory", with `what` was attempted.
  Error error(CUresult result, const char *what) const;
  Status check(CUresult result, const char *what) const {
    return result == 0 ? ok() : Status(error(result, what));
  }

#define ACT_CUDA(name, symbol, parameters) CUresult(*name) parameters = nullptr;
#define ACT_CUDA_OPTIONAL ACT_CUDA
#include "runtime/cuda/CudaSymbols.def"
#undef ACT_CUDA
#undef ACT_CUDA_OPTIONAL
};

} // namespace act::runtime::cuda
#endif
