/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime's C interface: devices, memory, kernels, streams, and compiled
 * training steps (artifacts). Link with -lact_runtime; needs neither MLIR nor
 * LLVM.
 *
 *   actrt_device device;
 *   actrt_step step;
 *   if (actrt_device_open("host", NULL, &device) ||
 *       actrt_step_load_file(device, "step.act", ACTRT_ALLOW_NATIVE, &step) ||
 *       actrt_step_initialise(step, 42) ||
 *       actrt_step_set_f64(step, "lr", 1e-3) ||
 *       actrt_step_bind(step, "step", ACTRT_INPUT, "tokens", tokens, &type) ||
 *       ...
 *       actrt_step_run(step, "step"))
 *     puts(actrt_last_error());
 *
 * Errors. Every call returns a code; 0 is success. actrt_last_error() returns
 * the message of the calling thread's last failure, valid until that thread's
 * next failure. No call aborts, throws or prints.
 *
 * Handles are opaque numbers, looked up in every call. A null or stale handle,
 * or one of the wrong kind, is ACTRT_INVALID_HANDLE. An object lives until its
 * handle is released and nothing uses it any more, so a device may be released
 * while its streams or steps exist.
 *
 * Threads. Any thread may call any function at any time. Calls on the same
 * stream or step are serialised.
 *
 * Versions. The interface has a version, major.minor. Within a major version,
 * functions and enumerators are only added, and fields only at the end of a
 * struct or in its padding. A struct that can grow starts with its size, set
 * by the caller; fields beyond that size are neither read nor written.
 * actrt_version() is the version the library was built as. A program checks
 * that the major number is ACTRT_VERSION_MAJOR and the minor one at least
 * ACTRT_VERSION_MINOR.
 */
#ifndef ACT_C_RUNTIME_H
#define ACT_C_RUNTIME_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ACTRT_API __attribute__((visibility("default")))
#else
#define ACTRT_API
#endif

#if defined(__cplusplus)
#define ACTRT_ALIGN(bytes) alignas(bytes)
#else
#define ACTRT_ALIGN(bytes) _Alignas(bytes)
#endif

/* Four bytes in both languages. Callers may pass any value; unknown values are
 * errors. */
#ifdef __cplusplus
#define ACTRT_ENUM(name) enum name : int32_t
#else
#define ACTRT_ENUM(name) enum name
#endif

#define ACTRT_VERSION_MAJOR 0
#define ACTRT_VERSION_MINOR 4
/* major << 16 | minor */
ACTRT_API uint32_t actrt_version(void);

typedef ACTRT_ENUM(actrt_status){
    ACTRT_SUCCESS = 0,
    ACTRT_INVALID_HANDLE = 1,   /* null, stale, or of another kind */
    ACTRT_INVALID_ARGUMENT = 2, /* a null pointer, a size, a type, a range */
    ACTRT_NOT_FOUND = 3,  /* no such device, kernel, port, parameter, ... */
    ACTRT_FAILED = 4,     /* the operation itself failed */
    ACTRT_UNSUPPORTED = 5 /* this device cannot do that */
} actrt_status;
ACTRT_API const char *actrt_last_error(void);

typedef struct actrt_device_object *actrt_device;
typedef struct actrt_module_object *actrt_module;
typedef struct actrt_function_object *actrt_function;
typedef struct actrt_stream_object *actrt_stream;
typedef struct actrt_event_object *actrt_event;
typedef struct actrt_step_object *actrt_step;

/* ---- Devices ---------------------------------------------------------- */

typedef struct actrt_device_options {
  size_t struct_size;
  uint32_t threads; /* host, sim: threads that run kernels; 0: one per core */
  /* Since 0.2, for sim: */
  uint32_t without_checks;   /* 1: no checks for races, bounds, ... */
  uint64_t seed;             /* orders what the ISA leaves open; 0: no noise */
  uint64_t max_instructions; /* warp instructions per launch; 0: no limit */
  uint32_t orders_only; /* 1: the seed only orders; rounding is as for seed 0 */
  uint32_t benign_fails; /* 1: races known to be harmless are findings too */
  uint32_t strict;       /* 1: report unwritten memory when it is read, and
                            an undefined value when it is stored; 0: report
                            them when used (copying to the host is a use) */
} actrt_device_options;

typedef struct actrt_device_info {
  size_t struct_size;
  char name[64]; /* as opened */
  char kind[16]; /* host, cuda, sim */
  uint32_t threads;
  uint32_t host_addressable; /* 1: the CPU may touch its memory directly */
  uint64_t memory_bytes;
  /* Since 0.2: */
  char target[16]; /* sm_90a; empty on the host */
  uint32_t multiprocessors;
  uint64_t shared_bytes_per_block; /* maximum */
  /* Since 0.3: bytes that could be allocated now, and what limits them. A GPU
   * reports its own number. For host and sim it is the minimum of free memory,
   * the control groups' remainder, and ulimit -v and -d. UINT64_MAX: not
   * known. */
  uint64_t free_bytes;
  char free_limit[104];
} actrt_device_info;

/* "host", "cuda:0", "sim:sm_90a". `options` may be null. */
ACTRT_API actrt_status actrt_device_open(const char *name,
                                         const actrt_device_options *options,
                                         actrt_device *device);
ACTRT_API actrt_status actrt_device_release(actrt_device device);
ACTRT_API actrt_status actrt_device_query(actrt_device device,
                                          actrt_device_info *info);

/* Findings of the device's checks (sim) since it was opened or cleared: their
 * count, and a text of one or a few lines each. On entry *bytes is the capacity
 * of `text`; on return it is the size of the whole text with its final zero. A
 * text that does not fit is cut. `text` may be null when *bytes is 0. A launch
 * with findings returns ACTRT_FAILED with the first one. If the launch has not
 * ended when its call returns, because it waits for a kernel of another stream
 * or runs for long, the next call that waits for its stream fails instead. */
ACTRT_API actrt_status actrt_device_findings(actrt_device device,
                                             uint64_t *count, char *text,
                                             size_t *bytes);
ACTRT_API actrt_status actrt_device_clear_findings(actrt_device device);

/* ---- Memory ----------------------------------------------------------- */

typedef struct actrt_memory_info {
  size_t struct_size;
  uint64_t current_bytes, peak_bytes; /* as requested, of this device object */
  uint64_t allocations;               /* ever made */
} actrt_memory_info;

/* Zeroed, aligned to 256 bytes (on the host to 4096). Freed with the device at
 * the latest. Checks of a sim device count the zeros as written. */
ACTRT_API actrt_status actrt_allocate(actrt_device device, uint64_t bytes,
                                      void **address);
ACTRT_API actrt_status actrt_free(actrt_device device, void *address);
ACTRT_API actrt_status actrt_memory_query(actrt_device device,
                                          actrt_memory_info *info);
ACTRT_API actrt_status actrt_memory_reset_peak(actrt_device device);

/* ---- Streams and events ------------------------------------------------ */

/* Operations of one stream run in the order of the calls. Kernels of different
 * streams may wait for each other. On a sim device all of them must be launched
 * before the host waits for one of their streams. */
ACTRT_API actrt_status actrt_stream_create(actrt_device device,
                                           actrt_stream *stream);
ACTRT_API actrt_status actrt_stream_release(actrt_stream stream);
ACTRT_API actrt_status actrt_stream_synchronize(actrt_stream stream);
ACTRT_API actrt_status actrt_stream_wait(actrt_stream stream,
                                         actrt_event event);

typedef ACTRT_ENUM(actrt_direction){ACTRT_HOST_TO_DEVICE = 0,
                                    ACTRT_DEVICE_TO_HOST = 1,
                                    ACTRT_DEVICE_TO_DEVICE = 2} actrt_direction;
/* The range on the device must lie within one allocation. */
ACTRT_API actrt_status actrt_copy(actrt_stream stream, void *to,
                                  const void *from, uint64_t bytes,
                                  actrt_direction direction);
ACTRT_API actrt_status actrt_fill(actrt_stream stream, void *to, uint8_t value,
                                  uint64_t bytes);

/* Calls back once everything before it in the stream is done, on any thread.
 * On cuda the callback may not call this library. */
typedef void (*actrt_callback)(void *user);
ACTRT_API actrt_status actrt_stream_callback(actrt_stream stream,
                                             actrt_callback callback,
                                             void *user);

ACTRT_API actrt_status actrt_event_create(actrt_device device,
                                          actrt_event *event);
ACTRT_API actrt_status actrt_event_release(actrt_event event);
ACTRT_API actrt_status actrt_event_record(actrt_event event,
                                          actrt_stream stream);
ACTRT_API actrt_status actrt_event_synchronize(actrt_event event);
ACTRT_API actrt_status actrt_event_elapsed(actrt_event start, actrt_event end,
                                           double *milliseconds);

/* ---- Kernels ------------------------------------------------------------ */

enum {
  /* Native code runs with all rights of the process, so loading it is opt-in.
   * PTX needs no permission. */
  ACTRT_ALLOW_NATIVE = 1,
  /* Steps only: fill the arena, and each buffer when it dies, with NaNs. */
  ACTRT_DEBUG = 2,
  /* Steps only: report the highest arena byte that a run writes. */
  ACTRT_MEASURE = 4,
  /* Steps only: report how long each launch of a run takes. */
  ACTRT_TIME = 8,
  /* Steps only, since 0.3: load a step even if it needs more memory than the
   * device has free, which is otherwise an error. */
  ACTRT_ANY_MEMORY = 16,
  /* Steps only, since 0.4: parameters and states are the caller's memory.
   * Nothing is allocated for them; each that a function uses is bound before it
   * runs (actrt_step_bind). Their values are set and read in that memory; if
   * the device uses it in place, also one by one by actrt_step_set, _get and
   * _initialise_parameter, which convert. */
  ACTRT_BIND_TENSORS = 32
};

/* host: an ELF shared object (ACTRT_ALLOW_NATIVE). sim: PTX text, or a fat
 * binary with PTX. cuda: PTX text, a cubin, or a fat binary. PTX may end in a
 * zero byte. */
ACTRT_API actrt_status actrt_module_load(actrt_device device, const void *data,
                                         size_t bytes, uint32_t flags,
                                         actrt_module *module);
ACTRT_API actrt_status actrt_module_release(actrt_module module);
ACTRT_API actrt_status actrt_function_get(actrt_module module, const char *name,
                                          actrt_function *function);
ACTRT_API actrt_status actrt_function_release(actrt_function function);

typedef struct actrt_function_info {
  size_t struct_size;
  uint32_t max_threads_per_block, registers; /* 0: not known or meaningless */
  uint64_t shared_bytes, local_bytes;        /* shared: static */
  /* Since 0.2; 0: not required */
  uint32_t required_block[3], required_cluster[3];
} actrt_function_info;
ACTRT_API actrt_status actrt_function_query(actrt_function function,
                                            actrt_function_info *info);
/* A variable of a module: `__device__`, `.global`, `.const`. */
ACTRT_API actrt_status actrt_module_global(actrt_module module,
                                           const char *name, void **address,
                                           uint64_t *bytes);

typedef ACTRT_ENUM(actrt_argument_kind){
    ACTRT_POINTER = 0, /* a device address */
    ACTRT_I32 = 1,     ACTRT_I64 = 2,  ACTRT_F32 = 3,
    ACTRT_F64 = 4,     ACTRT_BYTES = 5 /* `bytes` of them at value.pointer on
                                          the host: a struct, a tensor map, or a
                                          scalar of another size, by value */
} actrt_argument_kind;
typedef struct actrt_argument {
  actrt_argument_kind kind;
  uint32_t bytes; /* ACTRT_BYTES only */
  union {
    void *pointer;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
  } value;
} actrt_argument;

/* A host kernel has the signature of include/act/Artifact/Step.h and is called
 * for every block in [0, grid x * y * z); `block` is for the other devices.
 * shared_bytes is the dynamic part. A dimension of 0 counts as 1, except
 * grid[0]. The arguments must match the parameters that a PTX kernel declares,
 * in number and size. */
typedef struct actrt_launch_shape {
  size_t struct_size;
  uint32_t grid[3], block[3];
  uint64_t shared_bytes;
  uint64_t scratch_bytes; /* host: per thread, passed behind the arguments */
  /* Since 0.2: */
  uint32_t cluster[3];  /* all 0: as the kernel itself says */
  uint32_t cooperative; /* 1: all blocks are resident at once */
  /* Since 0.3: */
  uint32_t persistent; /* 1: no more blocks than the device runs at once; each
                          does the work of several of the grid's, which are
                          along x (a kernel's `persistent` in the index), in
                          whole clusters */
  uint32_t at_once;    /* so many blocks, one after the other in the order in
                          which they begin, may wait for each other (a kernel's
                          `at_once` in the index). A device that runs fewer at
                          once refuses the launch, as they would wait for
                          ever. 0: none do */
} actrt_launch_shape;
ACTRT_API actrt_status actrt_launch(actrt_function function,
                                    actrt_stream stream,
                                    const actrt_launch_shape *shape,
                                    const actrt_argument *arguments,
                                    size_t argument_count);

/* A tensor map for Hopper's bulk tensor copies. Pass it to a kernel as
 * ACTRT_BYTES of 128 (`__grid_constant__`) or copy it to device memory.
 * Dimension 0 is the innermost. The rules and the numbers of the enumerated
 * fields are those of the CUDA driver's cuTensorMapEncodeTiled. */
typedef struct actrt_tensor_map {
  ACTRT_ALIGN(64) uint8_t bytes[128];
} actrt_tensor_map;
typedef struct actrt_tiled_tensor {
  size_t struct_size;
  uint32_t dtype; /* u8 u16 u32 s32 u64 s64 f16 f32 f64 bf16 f32.ftz tf32
                     tf32.ftz: 0 to 12 */
  uint32_t rank;
  void *address;
  uint64_t dims[5];                    /* elements */
  uint64_t strides[4];                 /* bytes, of dimensions 1 to 4 */
  uint32_t box[5], element_strides[5]; /* elements */
  uint32_t interleave;                 /* 0 none, 1 16 bytes, 2 32 bytes */
  uint32_t swizzle;      /* 0 none, 1 32 bytes, 2 64 bytes, 3 128 bytes */
  uint32_t l2_promotion; /* 0 none, 1 64 bytes, 2 128 bytes, 3 256 bytes */
  uint32_t oob_fill;     /* 0 zeros, 1 NaN */
} actrt_tiled_tensor;
ACTRT_API actrt_status actrt_tensor_map_encode_tiled(
    actrt_device device, const actrt_tiled_tensor *tensor,
    actrt_tensor_map *map);

/* ---- Steps: compiled artifacts ------------------------------------------- */

typedef ACTRT_ENUM(actrt_dtype){
    ACTRT_DTYPE_F64 = 0,      ACTRT_DTYPE_F32 = 1,
    ACTRT_DTYPE_BF16 = 2,     ACTRT_DTYPE_F16 = 3,
    ACTRT_DTYPE_F8E4M3FN = 4, ACTRT_DTYPE_I1 = 5, /* a byte each */
    ACTRT_DTYPE_I32 = 6,      ACTRT_DTYPE_I64 = 7,
    ACTRT_DTYPE_NF4 = 8,      ACTRT_DTYPE_NF4_NESTED = 9,
    ACTRT_DTYPE_U8 = 10 /* since 0.4 */} actrt_dtype;
#define ACTRT_MAX_RANK 16
typedef struct actrt_type {
  actrt_dtype dtype;
  uint32_t rank;
  int64_t shape[ACTRT_MAX_RANK];
} actrt_type;

typedef ACTRT_ENUM(actrt_entity){
    ACTRT_PARAMETER = 0, ACTRT_STATE = 1, /* optimizer states and gradients */
    ACTRT_SCALAR = 2,                     /* lr, step, seed */
    ACTRT_FUNCTION = 3,                   /* step, eval, forward, grad */
    ACTRT_INPUT = 4,                      /* of a function */
    ACTRT_OUTPUT = 5} actrt_entity;

typedef ACTRT_ENUM(actrt_role){
    ACTRT_ROLE_NONE = 0, /* a parameter, port or scalar */
    ACTRT_ROLE_GRADIENT = 1, ACTRT_ROLE_MASTER = 2, ACTRT_ROLE_EXP_AVG = 3,
    ACTRT_ROLE_EXP_AVG_SQ = 4, ACTRT_ROLE_MOMENTUM = 5,
    /* Since 0.4: moments of 8 bits, in blocks of 256 with a scale each. */
    ACTRT_ROLE_EXP_AVG_CODES = 6, ACTRT_ROLE_EXP_AVG_SCALES = 7,
    ACTRT_ROLE_EXP_AVG_SQ_CODES = 8,
    ACTRT_ROLE_EXP_AVG_SQ_SCALES = 9} actrt_role;

typedef struct actrt_entity_info {
  size_t struct_size;
  const char *name; /* valid as long as the step */
  actrt_type type;  /* of a function: rank 0 */
  uint64_t bytes;
  uint32_t frozen;       /* parameters */
  actrt_role role;       /* states */
  const char *parameter; /* states: the parameter's name, else null */
  /* Since 0.4: */
  uint32_t backward;   /* inputs, outputs: 1 if first used in backward */
  const char *updates; /* outputs: the input whose new value it is, else null;
                          the caller writes it there */
  uint32_t tied;       /* parameters: how many further names files may have for
                          it (actrt_step_tied_name) */
} actrt_entity_info;

typedef struct actrt_step_info {
  size_t struct_size;
  const char *model, *target, *optimizer, *report; /* as long as the step */
  /* If two or more, inputs of "step" have a first dimension of this size. The
   * loss and gradients are those of one batch made of all micro-batches: the
   * step counts the labels bound to it (unless it was compiled with the mean of
   * the micro-batches' means). */
  uint32_t micro_batches;
} actrt_step_info;

typedef struct actrt_step_statistics {
  size_t struct_size;
  uint64_t parameter_bytes, gradient_bytes, optimizer_bytes; /* allocated */
  uint64_t arena_bytes; /* as planned for this function */
  uint64_t
      arena_high_water; /* ACTRT_MEASURE: highest byte written, or of a
                           workspace that only other devices need, plus 1 */
  uint64_t scratch_bytes_per_thread, scratch_bytes;
  uint64_t runs;
  uint64_t scratch_high_water; /* ACTRT_MEASURE: likewise, of any thread */
  /* The second arena, in host memory; 0 if nothing is offloaded. */
  uint64_t host_arena_bytes, host_arena_high_water;
} actrt_step_statistics;

/* flags: ACTRT_ALLOW_NATIVE | ACTRT_DEBUG | ACTRT_MEASURE | ACTRT_TIME |
 * ACTRT_ANY_MEMORY. A step that needs more memory than free_bytes is refused
 * before anything is allocated; the message has both numbers. */
ACTRT_API actrt_status actrt_step_load_file(actrt_device device,
                                            const char *path, uint32_t flags,
                                            actrt_step *step);
ACTRT_API actrt_status actrt_step_load_memory(actrt_device device,
                                              const void *data, size_t bytes,
                                              uint32_t flags, actrt_step *step);
ACTRT_API actrt_status actrt_step_release(actrt_step step);
ACTRT_API actrt_status actrt_step_query(actrt_step step, actrt_step_info *info);

/* Number of entities. `function` names the function for inputs and outputs and
 * is null otherwise. */
ACTRT_API actrt_status actrt_step_count(actrt_step step, actrt_entity entity,
                                        const char *function, size_t *count);
ACTRT_API actrt_status actrt_step_describe(actrt_step step, actrt_entity entity,
                                           const char *function, size_t index,
                                           actrt_entity_info *info);
/* Since 0.4. A further name of a parameter in files, such as that of a head
 * which is tied to the embedding. `name` is valid as long as the step. */
ACTRT_API actrt_status actrt_step_tied_name(actrt_step step,
                                            const char *parameter, size_t index,
                                            const char **name);

/* Sets parameters as the step specifies, from the seed, states to zero, and
 * master copies to their parameters. Values are the same on every device and
 * for any number of threads. Uses all host cores, or the device's threads if
 * it has any. */
ACTRT_API actrt_status actrt_step_initialise(actrt_step step, uint64_t seed);
/* Since 0.3. Initialises one parameter and its master copy, for callers that
 * show progress or set the other parameters from a file. States of a step that
 * has not run are zero already. */
ACTRT_API actrt_status actrt_step_initialise_parameter(actrt_step step,
                                                       const char *name,
                                                       uint64_t seed);

/* Copies a parameter or state from or to host memory. The shape must be the
 * entity's. Float types convert into each other: floats written to an nf4
 * parameter are quantised, an nf4 parameter read as floats is dequantised.
 * Setting a parameter sets its master copy too. */
ACTRT_API actrt_status actrt_step_set(actrt_step step, actrt_entity entity,
                                      const char *name, const void *data,
                                      const actrt_type *type);
ACTRT_API actrt_status actrt_step_get(actrt_step step, actrt_entity entity,
                                      const char *name, void *data,
                                      const actrt_type *type);
ACTRT_API actrt_status actrt_step_set_f64(actrt_step step, const char *scalar,
                                          double value);
ACTRT_API actrt_status actrt_step_set_i64(actrt_step step, const char *scalar,
                                          int64_t value);

/* Binds host memory to an input (ACTRT_INPUT) or output (ACTRT_OUTPUT) of a
 * function. The memory must stay valid until the port is bound again or the
 * step is released. Type and shape must be the port's. With ACTRT_BIND_TENSORS
 * also to a parameter or a state; `function` is then null. */
ACTRT_API actrt_status actrt_step_bind(actrt_step step, const char *function,
                                       actrt_entity entity, const char *port,
                                       void *memory, const actrt_type *type);
/* Runs the function to its end. All ports must be bound and all scalars set. */
ACTRT_API actrt_status actrt_step_run(actrt_step step, const char *function);

typedef ACTRT_ENUM(actrt_part){ACTRT_WHOLE = 0, ACTRT_FORWARD = 1,
                               ACTRT_BACKWARD = 2} actrt_part;
/* Since 0.4. Runs one part of "grad", the function of an artifact compiled with
 * mode=function: ACTRT_FORWARD computes its results; ACTRT_BACKWARD is given
 * their gradients and computes those of arguments and parameters, which it adds
 * to the states. Ports that are first used in backward need not be bound before
 * (actrt_entity_info). The arena holds what forward saves, so backward fails
 * unless forward of the same function was the step's last run. Inputs keep
 * their values until backward is done. */
ACTRT_API actrt_status actrt_step_run_part(actrt_step step,
                                           const char *function,
                                           actrt_part part);
ACTRT_API actrt_status actrt_step_measure(actrt_step step, const char *function,
                                          actrt_step_statistics *statistics);

typedef struct actrt_launch_info {
  size_t struct_size;
  const char *name; /* layer.3/attention; valid as long as the step */
  const char
      *kernel; /* as the code has it; empty: a copy to or from the host */
  double milliseconds; /* ACTRT_TIME: of the last run, else 0 */
} actrt_launch_info;
/* The launches of a function, in order. With ACTRT_TIME there is an event
 * between any two of them, and each is submitted on its own. So for kernels
 * shorter than the launch overhead, a few microseconds, the measured time is
 * that overhead. */
ACTRT_API actrt_status actrt_step_launch_count(actrt_step step,
                                               const char *function,
                                               size_t *count);
ACTRT_API actrt_status actrt_step_launch_query(actrt_step step,
                                               const char *function,
                                               size_t index,
                                               actrt_launch_info *info);

/* ---- Tensors of others: DLPack ------------------------------------------- */

/* act-c/DLPack.h, or the distribution's dlpack/dlpack.h, defines it. */
struct DLManagedTensor;

/* Takes ownership of the tensor in every case: its deleter is called when the
 * memory is no longer used (at once if this fails). *address becomes an
 * allocation of the device, valid until actrt_free, with the elements row-major
 * and without gaps. It is the tensor's own memory if the device can use that
 * (host with a CPU tensor, cuda with a tensor on the same GPU), else a copy.
 * Memory may come several times, as a whole and in parts; each time is freed on
 * its own. *type receives dtype and shape. */
ACTRT_API actrt_status actrt_from_dlpack(actrt_device device,
                                         struct DLManagedTensor *tensor,
                                         void **address, actrt_type *type);
/* Exports an allocation of the device: it then belongs to *tensor, whose
 * deleter frees it and which keeps the device alive. Memory of a sim device
 * appears as CPU memory. */
ACTRT_API actrt_status actrt_to_dlpack(actrt_device device, void *address,
                                       const actrt_type *type,
                                       struct DLManagedTensor **tensor);

#ifdef __cplusplus
}
#endif
#endif
