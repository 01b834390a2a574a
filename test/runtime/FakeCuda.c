/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA driver without a card, for tests of runtime/cuda: libcuda.so.1 over
 * the host's memory. It is strict where a driver is (contexts must be current,
 * handles live, sizes right), runs the kernels of ptx/conformance.ptx as the C
 * functions of FakeCudaKernels.c, records what a capturing stream is given, and
 * counts calls and live objects (fake_cuda_calls, fake_cuda_live).
 *
 * Built three times: as it is, with INIT_FAILS (a driver without a card that
 * works) and with TOO_OLD (a driver that lacks entry points).
 */
#include "FakeCuda.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NO_DEVICE = 100,
  INVALID_CONTEXT = 201,
  NO_BINARY = 209,
  INVALID_PTX = 218,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  LAUNCH_FAILED = 719
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Counting ---------------------------------------------------------------
 */

static struct {
  const char *name;
  long calls;
} counted[64];
static long live[6]; /* memory, stream, event, module, graph, context */
enum { MEMORY, STREAM, EVENT, MODULE, GRAPH, CONTEXT };

static void count(const char *name) {
  pthread_mutex_lock(&lock);
  int i = 0;
  while (counted[i].name && strcmp(counted[i].name, name) != 0)
    ++i;
  counted[i].name = name;
  ++counted[i].calls;
  pthread_mutex_unlock(&lock);
}
static void alive(int kind, long change) {
  pthread_mutex_lock(&lock);
  live[kind] += change;
  pthread_mutex_unlock(&lock);
}
API long fake_cuda_calls(const char *name) {
  for (int i = 0; counted[i].name; ++i)
    if (strcmp(counted[i].name, name) == 0)
      return counted[i].calls;
  return 0;
}
API long fake_cuda_live(int kind) { return live[kind]; }

/* ---- Contexts
 * ---------------------------------------------------------------- */

static char the_context;
static __thread int depth;

#define NEEDS_CONTEXT()                                                        \
  do {                                                                         \
    count(__func__);                                                           \
    if (depth == 0)                                                            \
      return INVALID_CONTEXT;                                                  \
  } while (0)

API int cuInit(unsigned flags) {
  (void)flags;
#ifdef INIT_FAILS
  return NO_DEVICE;
#else
  return 0;
#endif
}
API int cuDriverGetVersion(int *version) { return *version = 12080, 0; }
API int cuGetErrorName(int r, const char **name) {
  *name = r == NO_DEVICE         ? "CUDA_ERROR_NO_DEVICE"
          : r == OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : r == INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
          : r == INVALID_PTX     ? "CUDA_ERROR_INVALID_PTX"
          : r == NO_BINARY       ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
                                 : "CUDA_ERROR_FAKE";
  return 0;
}
API int cuGetErrorString(int r, const char **text) {
  *text = r == NO_DEVICE ? "no CUDA-capable device is detected" : "as faked";
  return 0;
}
API int cuDeviceGetCount(int *n) { return *n = 1, 0; }
API int cuDeviceGet(int *device, int ordinal) {
  *device = 7;
  return ordinal == 0 ? 0 : INVALID_VALUE;
}
API int cuDeviceGetAttribute(int *value, int attribute, int device) {
  static const struct {
    int attribute, value;
  } known[] = {{16, 132}, {75, 9}, {76, 0}, {95, 1}, {97, 232448}, {120, 1}};
  for (unsigned i = 0; i < sizeof known / sizeof *known; ++i)
    if (known[i].attribute == attribute && device == 7)
      return *value = known[i].value, 0;
  return INVALID_VALUE;
}
API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = (size_t)80 << 30;
  return device == 7 ? 0 : INVALID_VALUE;
}
API int cuMemGetInfo_v2(size_t *free, size_t *all) {
  *free = (size_t)79 << 30;
  *all = (size_t)80 << 30;
  return depth > 0 ? 0 : INVALID_CONTEXT;
}
API int cuDevicePrimaryCtxRetain(void **context, int device) {
  alive(CONTEXT, 1);
  *context = &the_context;
  return device == 7 ? 0 : INVALID_VALUE;
}
API int cuDevicePrimaryCtxRelease_v2(int device) {
  alive(CONTEXT, -1);
  return device == 7 ? 0 : INVALID_VALUE;
}
API int cuCtxPushCurrent_v2(void *context) {
  if (context != &the_context)
    return INVALID_CONTEXT;
  return ++depth, 0;
}
API int cuCtxPopCurrent_v2(void **context) {
  if (context)
    *context = &the_context;
  return depth == 0 ? INVALID_CONTEXT : (--depth, 0);
}

/* ---- Memory
 * ------------------------------------------------------------------ */

/* A header in front of what is given out, so that a wrong address is noticed.
 */
struct block {
  uint64_t magic, bytes;
};
static const uint64_t magic = 0x6661b6d5ca1ab1e5;
enum { ALIGNMENT = 512 };

API int cuMemAlloc_v2(uint64_t *p, size_t bytes) {
  NEEDS_CONTEXT();
  if (bytes == 0)
    return INVALID_VALUE;
  char *base = bytes > (size_t)1 << 34
                   ? NULL
                   : aligned_alloc(ALIGNMENT, (bytes + 2 * ALIGNMENT - 1) /
                                                  ALIGNMENT * ALIGNMENT);
  if (!base)
    return OUT_OF_MEMORY;
  memset(base, 0xcd, bytes + ALIGNMENT); /* as another left it */
  struct block *b = (struct block *)(base + ALIGNMENT - sizeof *b);
  b->magic = magic;
  b->bytes = bytes;
  alive(MEMORY, 1);
  *p = (uint64_t)(base + ALIGNMENT);
  return 0;
}
API int cuMemAllocManaged(uint64_t *p, size_t bytes, unsigned flags) {
  return flags == 1 ? cuMemAlloc_v2(p, bytes) : INVALID_VALUE;
}
API int cuMemFree_v2(uint64_t p) {
  NEEDS_CONTEXT();
  struct block *b = (struct block *)(p - sizeof *b);
  if (p % ALIGNMENT != 0 || b->magic != magic)
    return INVALID_VALUE;
  b->magic = 0;
  alive(MEMORY, -1);
  free((char *)p - ALIGNMENT);
  return 0;
}
API int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags) {
  NEEDS_CONTEXT();
  return p && bytes && flags == 0 ? 0 : INVALID_VALUE;
}
API int cuMemHostUnregister(void *p) {
  NEEDS_CONTEXT();
  return p ? 0 : INVALID_VALUE;
}

/* ---- Streams: everything happens at once, or is recorded
 * ---------------------- */

struct operation {
  void *to;
  const void *from;
  size_t bytes;
  uint32_t value, width; /* a fill when width is not 0 */
  struct fake_launch *launch;
};
struct graph {
  struct operation *list;
  size_t count;
};
struct stream {
  int capturing;
  struct graph graph;
};

static int perform(const struct operation *o) {
  if (o->launch)
    return o->launch->run(o->launch) ? 0 : LAUNCH_FAILED;
  if (o->width == 0)
    memmove(o->to, o->from, o->bytes);
  for (size_t i = 0; o->width && i < o->bytes; ++i)
    memcpy((char *)o->to + i * o->width, &o->value, o->width);
  return 0;
}
static int give(struct stream *s, struct operation o) {
  if (!s || !s->capturing) {
    int r = perform(&o);
    free(o.launch);
    return r;
  }
  s->graph.list =
      realloc(s->graph.list, (s->graph.count + 1) * sizeof *s->graph.list);
  s->graph.list[s->graph.count++] = o;
  return 0;
}
static int copy(void *to, const void *from, size_t n, struct stream *s) {
  return give(s, (struct operation){.to = to, .from = from, .bytes = n});
}
API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *s) {
  NEEDS_CONTEXT();
  return copy((void *)to, from, n, s);
}
API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *s) {
  NEEDS_CONTEXT();
  return copy(to, (void *)from, n, s);
}
API int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n, void *s) {
  NEEDS_CONTEXT();
  return copy((void *)to, (void *)from, n, s);
}
API int cuMemcpyAsync(uint64_t to, uint64_t from, size_t n, void *s) {
  NEEDS_CONTEXT();
  return copy((void *)to, (void *)from, n, s);
}
static int fill(uint64_t to, uint32_t value, uint32_t width, size_t n,
                struct stream *s) {
  return give(
      s, (struct operation){
             .to = (void *)to, .bytes = n, .value = value, .width = width});
}
API int cuMemsetD8Async(uint64_t to, unsigned char v, size_t n, void *s) {
  NEEDS_CONTEXT();
  return fill(to, v, 1, n, s);
}
API int cuMemsetD16Async(uint64_t to, unsigned short v, size_t n, void *s) {
  NEEDS_CONTEXT();
  return fill(to, v, 2, n, s);
}
API int cuMemsetD32Async(uint64_t to, unsigned v, size_t n, void *s) {
  NEEDS_CONTEXT();
  return fill(to, v, 4, n, s);
}
API int cuStreamCreate(void **s, unsigned flags) {
  NEEDS_CONTEXT();
  alive(STREAM, 1);
  *s = calloc(1, sizeof(struct stream));
  return flags == 1 ? 0 : INVALID_VALUE;
}
API int cuStreamDestroy_v2(void *s) {
  NEEDS_CONTEXT();
  alive(STREAM, -1);
  free(s);
  return 0;
}
API int cuStreamSynchronize(void *s) {
  NEEDS_CONTEXT();
  return s && ((struct stream *)s)->capturing ? 900 : 0;
}
API int cuLaunchHostFunc(void *s, void (*f)(void *), void *user) {
  NEEDS_CONTEXT();
  (void)s;
  int outer = depth; /* no calls of the driver in there */
  depth = 0;
  f(user);
  depth = outer;
  return 0;
}

API int cuStreamBeginCapture_v2(void *stream, int mode) {
  NEEDS_CONTEXT();
  struct stream *s = stream;
  if (!s || s->capturing || mode != 1)
    return INVALID_VALUE;
  s->capturing = 1;
  s->graph = (struct graph){0};
  return 0;
}
API int cuStreamEndCapture(void *stream, void **graph) {
  NEEDS_CONTEXT();
  struct stream *s = stream;
  if (!s->capturing)
    return INVALID_VALUE;
  s->capturing = 0;
  struct graph *g = malloc(sizeof *g);
  *g = s->graph;
  *graph = g;
  alive(GRAPH, 1);
  return 0;
}
API int cuGraphInstantiateWithFlags(void **out, void *graph,
                                    unsigned long long flags) {
  NEEDS_CONTEXT();
  struct graph *g = graph, *copied = malloc(sizeof *copied);
  *copied = *g; /* takes the list over */
  *g = (struct graph){0};
  *out = copied;
  alive(GRAPH, 1);
  return flags == 0 ? 0 : INVALID_VALUE;
}
API int cuGraphLaunch(void *graph, void *stream) {
  NEEDS_CONTEXT();
  struct graph *g = graph;
  (void)stream;
  for (size_t i = 0; i < g->count; ++i)
    if (perform(&g->list[i]) != 0)
      return LAUNCH_FAILED;
  return 0;
}
static int destroy_graph(struct graph *g) {
  for (size_t i = 0; i < g->count; ++i)
    free(g->list[i].launch);
  free(g->list);
  free(g);
  alive(GRAPH, -1);
  return 0;
}
API int cuGraphExecDestroy(void *g) {
  NEEDS_CONTEXT();
  return destroy_graph(g);
}
API int cuGraphDestroy(void *g) {
  NEEDS_CONTEXT();
  return destroy_graph(g);
}

/* ---- Events: a clock that only recording moves
 * --------------------------------- */

struct event {
  int recorded;
  struct timespec time;
};
API int cuEventCreate(void **e, unsigned flags) {
  NEEDS_CONTEXT();
  alive(EVENT, 1);
  *e = calloc(1, sizeof(struct event));
  return flags == 0 ? 0 : INVALID_VALUE;
}
API int cuEventDestroy_v2(void *e) {
  NEEDS_CONTEXT();
  alive(EVENT, -1);
  free(e);
  return 0;
}
API int cuEventRecord(void *event, void *stream) {
  NEEDS_CONTEXT();
  struct event *e = event;
  (void)stream;
  e->recorded = 1;
  clock_gettime(CLOCK_MONOTONIC, &e->time);
  return 0;
}
API int cuEventSynchronize(void *e) {
  NEEDS_CONTEXT();
  return e ? 0 : INVALID_HANDLE;
}
API int cuStreamWaitEvent(void *s, void *e, unsigned flags) {
  NEEDS_CONTEXT();
  return s && e && flags == 0 ? 0 : INVALID_HANDLE;
}
API int cuEventElapsedTime(float *ms, void *start, void *end) {
  NEEDS_CONTEXT();
  struct event *a = start, *b = end;
  if (!a->recorded || !b->recorded)
    return INVALID_HANDLE;
  *ms = (float)((double)(b->time.tv_sec - a->time.tv_sec) * 1e3 +
                (double)(b->time.tv_nsec - a->time.tv_nsec) / 1e6);
  return 0;
}

/* ---- Modules: PTX by the names and parameters of its entries
 * ------------------- */

struct function {
  const struct fake_kernel *kernel;
  int shared_limit, wide_clusters, cluster;
};
struct module {
  char *text;
  struct function functions[16];
  uint64_t table[4];
};

API int cuModuleLoadDataEx(void **out, const void *image, unsigned n,
                           int *options, void **values) {
  NEEDS_CONTEXT();
  const char *text = image;
  const int is_elf = strncmp(text, "\177ELF", 4) == 0;
  if (is_elf && text[4] == 2) /* a whole header, before the text */
    text += 64;
  if (is_elf && strstr(text, "another card"))
    return NO_BINARY;
  if (!is_elf && !strstr(text, ".version")) {
    char *log = NULL;
    size_t room = 0;
    for (unsigned i = 0; i < n; ++i) {
      log = options[i] == 5 ? values[i] : log;
      room = options[i] == 6 ? (size_t)values[i] : room;
    }
    if (log)
      snprintf(log, room, "fake ptxas: line 1: syntax error near '%.8s'\n",
               text);
    return INVALID_PTX;
  }
  struct module *m = calloc(1, sizeof *m);
  m->text = strdup(text);
  for (int i = 0; i < 4; ++i)
    m->table[i] = 11 * (uint64_t)(i + 1);
  alive(MODULE, 1);
  *out = m;
  return 0;
}
API int cuModuleUnload(void *module) {
  NEEDS_CONTEXT();
  struct module *m = module;
  free(m->text);
  free(m);
  alive(MODULE, -1);
  return 0;
}
/* The entry must stand in this module's text, not only in the table. */
API int cuModuleGetFunction(void **out, void *module, const char *name) {
  NEEDS_CONTEXT();
  struct module *m = module;
  char wanted[128];
  snprintf(wanted, sizeof wanted, ".entry %s(", name);
  char *at = strstr(m->text, wanted);
  if (!at)
    return NOT_FOUND;
  for (int i = 0; fake_kernels[i].name; ++i)
    if (strcmp(fake_kernels[i].name, name) == 0) {
      struct function *f = &m->functions[i];
      f->kernel = &fake_kernels[i];
      f->shared_limit = 48 * 1024;
      f->cluster = strncmp(name, "pairs", 5) == 0 ? 2 : 0;
      *out = f;
      return 0;
    }
  return NOT_FOUND;
}
API int cuModuleGetGlobal_v2(uint64_t *p, size_t *n, void *module,
                             const char *name) {
  NEEDS_CONTEXT();
  struct module *m = module;
  if (strcmp(name, "table") != 0 || !strstr(m->text, "table["))
    return NOT_FOUND;
  *p = (uint64_t)m->table;
  *n = sizeof m->table;
  return 0;
}
API int cuFuncGetAttribute(int *value, int attribute, void *function) {
  NEEDS_CONTEXT();
  struct function *f = function;
  *value = attribute == 0                       ? 1024
           : attribute == 1                     ? f->kernel->shared_bytes
           : attribute == 4                     ? 16
           : attribute == 11                    ? f->cluster
           : attribute == 12 || attribute == 13 ? f->cluster / 2
                                                : 0;
  return 0;
}
API int cuFuncSetAttribute(void *function, int attribute, int value) {
  NEEDS_CONTEXT();
  struct function *f = function;
  if (attribute == 8 && value <= 232448)
    return f->shared_limit = value, 0;
  if (attribute == 14)
    return f->wide_clusters = value, 0;
  return INVALID_VALUE;
}

API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function,
                                                    int threads,
                                                    size_t shared) {
  NEEDS_CONTEXT();
  (void)function;
  *blocks = shared > 232448 / 2 ? 1 : threads > 512 ? 1 : 2;
  return 0;
}

static int launch(struct function *f, const unsigned *dims, unsigned shared,
                  const unsigned *cluster, void *stream, void **parameters) {
  const struct fake_kernel *k = f->kernel;
  unsigned size = cluster ? cluster[0] * cluster[1] * cluster[2] : 1;
  if ((int)shared > f->shared_limit || (size > 8 && !f->wide_clusters))
    return INVALID_VALUE;
  size_t bytes = sizeof(struct fake_launch);
  struct fake_launch *l = calloc(1, bytes + FAKE_PARAMETER_BYTES);
  memcpy(l->grid, dims, 3 * sizeof *dims);
  memcpy(l->block, dims + 3, 3 * sizeof *dims);
  l->cluster = f->cluster ? (unsigned)f->cluster : size;
  l->run = k->run;
  l->state = ((struct module *)((char *)f - offsetof(struct module, functions) -
                                (size_t)(k - fake_kernels) * sizeof *f))
                 ->table;
  for (size_t i = 0, at = 0; k->parameters[i]; ++i) {
    memcpy(l->parameters + at, parameters[i], k->parameters[i]);
    at += 8 * ((k->parameters[i] + 7) / 8);
  }
  return give(stream, (struct operation){.launch = l});
}
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz,
                       unsigned bx, unsigned by, unsigned bz, unsigned shared,
                       void *stream, void **parameters, void **extra) {
  NEEDS_CONTEXT();
  unsigned dims[6] = {gx, gy, gz, bx, by, bz};
  return extra ? INVALID_VALUE
               : launch(f, dims, shared, NULL, stream, parameters);
}
#ifndef TOO_OLD
struct attribute {
  int id, pad;
  unsigned value[16];
};
struct config {
  unsigned dims[6], shared;
  void *stream;
  struct attribute *attributes;
  unsigned count;
};
API int cuLaunchKernelEx(const struct config *c, void *f, void **parameters,
                         void **extra) {
  NEEDS_CONTEXT();
  const unsigned *cluster = NULL;
  for (unsigned i = 0; i < c->count; ++i) {
    if (c->attributes[i].id == 4)
      cluster = c->attributes[i].value;
    else if (c->attributes[i].id == 2)
      count("cooperative");
    else
      return INVALID_VALUE;
  }
  return extra ? INVALID_VALUE
               : launch(f, c->dims, c->shared, cluster, c->stream, parameters);
}
/* A multiprocessor less than there are, as in parts of a card that have an odd
 * number of them. */
API int cuOccupancyMaxActiveClusters(int *clusters, void *function,
                                     const struct config *c) {
  NEEDS_CONTEXT();
  const struct function *f = function;
  unsigned size = f->cluster;
  for (unsigned i = 0; i < c->count; ++i)
    if (c->attributes[i].id == 4)
      size = *(const unsigned *)c->attributes[i].value;
  if (!size)
    return INVALID_VALUE;
  *clusters = 131 / size;
  return 0;
}
API int cuFuncGetParamInfo(void *function, size_t i, size_t *offset,
                           size_t *bytes) {
  NEEDS_CONTEXT();
  struct function *f = function;
  *offset = 0;
  for (size_t j = 0; f->kernel->parameters[j]; ++j) {
    *bytes = f->kernel->parameters[j];
    if (j == i)
      return 0;
    *offset += 8 * ((*bytes + 7) / 8);
  }
  return INVALID_VALUE;
}
API int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *p,
                               const uint64_t *sizes, const uint64_t *strides,
                               const unsigned *box, const unsigned *steps,
                               int interleave, int swizzle, int promotion,
                               int fill_kind) {
  NEEDS_CONTEXT();
  if ((uint64_t)map % 64 != 0)
    return INVALID_VALUE;
  uint64_t words[16] = {(uint64_t)p,
                        (uint64_t)type,
                        rank,
                        sizes[0],
                        rank > 1 ? strides[0] : 0,
                        box[0],
                        steps[0],
                        (uint64_t)interleave,
                        (uint64_t)swizzle,
                        (uint64_t)promotion,
                        (uint64_t)fill_kind};
  memcpy(map, words, sizeof words);
  return 0;
}
#endif
