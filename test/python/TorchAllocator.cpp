// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's own CUDA caching allocator on a card that is not there, for
// caching_allocator_test.py: the functions of the CUDA runtime and driver that
// it calls are defined here, where the program's definitions go before those of
// the library, and hand out addresses without memory.
//
//   TorchAllocator SETTINGS DEVICE_BYTES < TRACE
//
// reads and answers as test/lib/ReplayTrace.cpp does. Compiled by the test,
// with the headers of the torch that is installed.
#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <map>
#include <unordered_map>

static size_t deviceBytes, onDevice;
static uint64_t nextAddress = uint64_t(1) << 40;
static std::unordered_map<uint64_t, size_t> mallocs;

static uint64_t addresses(size_t bytes) {
  constexpr size_t unit = 2 << 20;
  uint64_t at = nextAddress;
  nextAddress += (bytes + unit - 1) / unit * unit;
  return at;
}

// --- The runtime -----------------------------------------------------------
extern "C" {
cudaError_t cudaGetDeviceCount(int *n) { return *n = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int *d) { return *d = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *v) { return *v = 13020, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  memset(p, 0, sizeof *p);
  p->totalGlobalMem = deviceBytes;
  p->major = 8;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  *free = deviceBytes - onDevice;
  *total = deviceBytes;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void **p, size_t bytes) {
  if (bytes > deviceBytes - onDevice)
    return cudaErrorMemoryAllocation;
  uint64_t at = addresses(bytes);
  mallocs[at] = bytes;
  onDevice += bytes;
  *p = reinterpret_cast<void *>(at);
  return cudaSuccess;
}
cudaError_t cudaFree(void *p) {
  auto it = mallocs.find(reinterpret_cast<uint64_t>(p));
  if (it == mallocs.end())
    return cudaErrorInvalidValue;
  onDevice -= it->second;
  mallocs.erase(it);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return "an error"; }
const char *cudaGetErrorName(cudaError_t) { return "an error"; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *s) {
  return *s = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *most) {
  return *least = *most = 0, cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *) {
  return cudaSuccess;
}
}

// --- The driver, for expandable segments -----------------------------------
static CUresult fakeReserve(CUdeviceptr *p, size_t bytes, size_t, CUdeviceptr,
                            unsigned long long) {
  return *p = addresses(bytes), CUDA_SUCCESS;
}
static CUresult fakeCreate(CUmemGenericAllocationHandle *h, size_t bytes,
                           const CUmemAllocationProp *, unsigned long long) {
  if (bytes > deviceBytes - onDevice)
    return CUDA_ERROR_OUT_OF_MEMORY;
  onDevice += bytes;
  *h = bytes; // release() has to know
  return CUDA_SUCCESS;
}
static CUresult fakeRelease(CUmemGenericAllocationHandle h) {
  return onDevice -= h, CUDA_SUCCESS;
}
static CUresult fakeAttribute(int *value, CUdevice_attribute, CUdevice) {
  return *value = 1, CUDA_SUCCESS;
}
static CUresult fakeGranularity(size_t *g, const CUmemAllocationProp *,
                                CUmemAllocationGranularity_flags) {
  return *g = 2 << 20, CUDA_SUCCESS;
}
static CUresult fakeDevice(CUdevice *d, int) { return *d = 0, CUDA_SUCCESS; }
static CUresult fakeNothing() { return CUDA_SUCCESS; }

extern "C" cudaError_t
cudaGetDriverEntryPointByVersion(const char *name, void **f, unsigned,
                                 unsigned long long,
                                 cudaDriverEntryPointQueryResult *status) {
  static const std::map<std::string, void *> known = {
      {"cuMemAddressReserve", (void *)fakeReserve},
      {"cuMemCreate", (void *)fakeCreate},
      {"cuMemRelease", (void *)fakeRelease},
      {"cuDeviceGetAttribute", (void *)fakeAttribute},
      {"cuMemGetAllocationGranularity", (void *)fakeGranularity},
      {"cuDeviceGet", (void *)fakeDevice}};
  auto it = known.find(name);
  *f = it == known.end() ? (void *)fakeNothing : it->second;
  if (status)
    *status = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return fprintf(stderr, "usage: TorchAllocator SETTINGS DEVICE_BYTES\n"), 2;
  namespace cca = c10::cuda::CUDACachingAllocator;
  deviceBytes = strtoull(argv[2], nullptr, 10);
  std::map<long, void *> blocks;
  try {
    c10::CachingAllocator::setAllocatorSettings(argv[1]);
    cca::CUDAAllocatorConfig::set_expandable_segments_handle_type(
        cca::Expandable_Segments_Handle_Type::POSIX_FD);
    cca::init(1);
    char op;
    long id, bytes;
    while (scanf(" %c", &op) == 1) {
      const char *result = "ok";
      if (op == 'a' && scanf("%ld %ld", &id, &bytes) == 2) {
        try {
          blocks[id] = cca::get()->raw_alloc(bytes);
        } catch (const c10::OutOfMemoryError &) {
          result = "full";
        }
      } else if (op == 'f' && scanf("%ld", &id) == 1) {
        if (blocks.count(id))
          cca::get()->raw_deallocate(blocks[id]);
        blocks.erase(id);
      } else if (op == 'e') {
        cca::emptyCache();
      }
      auto stats = cca::getDeviceStats(0);
      printf("%s %ld %ld %ld %ld\n", result,
             long(stats.allocated_bytes[0].current),
             long(stats.reserved_bytes[0].current),
             long(stats.inactive_split_bytes[0].current),
             long(stats.num_alloc_retries));
    }
  } catch (const std::exception &e) {
    fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  fflush(stdout);
  _Exit(0); // no CUDA to take down
}
