/* SPDX-License-Identifier: Apache-2.0
 *
 * The structs in which libraries exchange tensors (DLPack, the unversioned
 * DLManagedTensor of every version since 0.2; https://dmlc.github.io/dlpack).
 * Uses the distribution's header if there is one, else declares the same
 * layout. A program may include both headers in either order.
 */
#ifndef ACT_C_DLPACK_H
#define ACT_C_DLPACK_H
#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Location of the memory. Other numbers are other vendors' devices. */
typedef enum {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,    /* pinned memory of the CPU */
  kDLCUDAManaged = 13 /* reachable from both */
} DLDeviceType;
typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLBool = 6
} DLDataTypeCode;
typedef struct {
  uint8_t code, bits;
  uint16_t lanes; /* 1, unless an element is a vector */
} DLDataType;

/* Element [i, j, ...] is at data + byte_offset + (i * strides[0] + j *
 * strides[1] + ...) elements; null strides mean row-major without gaps. */
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

/* A tensor with its owner. The receiver calls deleter(self) once, when it no
 * longer needs the memory. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#ifdef __cplusplus
}
#endif
#endif
#endif
