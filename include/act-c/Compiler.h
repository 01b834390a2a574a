/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiler's C interface: modules in, reports, artifacts and kernels out,
 * all as bytes. Link with -lact_compiler. MLIR is inside the library and
 * hidden, so that a program may have another MLIR of its own.
 *
 *   actc_context context;
 *   actc_module module;
 *   actc_output step;
 *   const char *flags[] = {"--fuse-attention", "--remat=selective"};
 *   const void *bytes;
 *   size_t size;
 *   if (actc_context_create(&context) ||
 *       actc_module_parse(context, "model.mlir", text, length, &module) ||
 *       actc_module_run(module, flags, 2) ||
 *       actc_module_emit(module, "target=sm_80", &step) ||
 *       actc_output_get(step, 0, NULL, &bytes, &size))
 *     puts(actc_last_error());
 *
 * The artifact can be loaded in the same process: actrt_step_load_memory of
 * Runtime.h.
 *
 * Errors. Every call returns a code; 0 is success. actc_last_error() returns
 * the message of the calling thread's last failure, valid until that thread's
 * next failure. No call aborts, throws or prints. A call that fails changes no
 * module.
 *
 * Handles are opaque numbers, looked up in every call. A null or stale handle,
 * or one of the wrong kind, is ACTC_INVALID_HANDLE. An object lives until its
 * handle is released and nothing uses it any more, so a context may be released
 * while its modules exist.
 *
 * Threads. Any thread with a stack of 8 MiB may call any function at any time.
 * Calls on one context and its modules are serialised; other contexts compile
 * at the same time.
 *
 * Versions. The interface has a version, major.minor. Within a major version,
 * functions, enumerators and fields at the end of a struct are only added.
 * actc_version() is the version the library was built as. A program checks
 * that the major number is ACTC_VERSION_MAJOR and the minor one at least
 * ACTC_VERSION_MINOR.
 */
#ifndef ACT_C_COMPILER_H
#define ACT_C_COMPILER_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ACTC_API __attribute__((visibility("default")))
#else
#define ACTC_API
#endif

/* Four bytes in both languages. Callers may pass any value; unknown values are
 * errors. */
#ifdef __cplusplus
#define ACTC_ENUM(name) enum name : int32_t
#else
#define ACTC_ENUM(name) enum name
#endif

#define ACTC_VERSION_MAJOR 0
#define ACTC_VERSION_MINOR 1
/* major << 16 | minor */
ACTC_API uint32_t actc_version(void);

typedef ACTC_ENUM(actc_status){
    ACTC_SUCCESS = 0,
    ACTC_INVALID_HANDLE = 1,   /* null, stale, or of another kind */
    ACTC_INVALID_ARGUMENT = 2, /* a null pointer, a range, an unknown flag */
    ACTC_FAILED = 3            /* the module or what was asked of it */
} actc_status;
ACTC_API const char *actc_last_error(void);

typedef struct actc_context_handle *actc_context;
typedef struct actc_module_handle *actc_module;
typedef struct actc_output_handle *actc_output;

/* Contexts. */

ACTC_API actc_status actc_context_create(actc_context *context);
ACTC_API actc_status actc_context_release(actc_context context);

typedef ACTC_ENUM(actc_severity){ACTC_NOTE = 0, ACTC_WARNING = 1,
                                 ACTC_ERROR = 2, ACTC_REMARK = 3} actc_severity;
typedef struct {
  size_t struct_size; /* as the library has it */
  actc_severity severity;
  uint32_t line, column; /* from 1; 0: of no place in a file */
  const char *file;      /* its name, or "" */
  const char *message;
} actc_diagnostic;
/* Called for each diagnostic of a call, in the thread that made the call or in
 * one that works for it; one at a time. A note follows what it belongs to. The
 * diagnostic and its texts are valid during the callback, which may not call
 * this interface. */
typedef void (*actc_diagnostic_callback)(const actc_diagnostic *diagnostic,
                                         void *user);
/* Without a callback only the first error is kept, in actc_last_error(). */
ACTC_API actc_status actc_context_set_diagnostics(
    actc_context context, actc_diagnostic_callback callback, void *user);

/* Modules. */

/* A module of the dialects act, tile and all of MLIR's own: text, or MLIR's
 * bytecode, which is read in a child process first, as it can crash its reader.
 * Ops of stablehlo, chlo and torch are accepted in generic form, for
 * --raise-to-act; other unknown ones are an error.
 * `name` stands in diagnostics. The bytes are not used after the call. */
ACTC_API actc_status actc_module_parse(actc_context context, const char *name,
                                       const void *bytes, size_t size,
                                       actc_module *module);
/* The model of a Hugging Face config.json, as act-import writes it. `options`
 * are act-import's, each in one string: "--seq=4096", "--lora-rank=16". */
ACTC_API actc_status actc_module_import(actc_context context,
                                        const char *config, size_t size,
                                        const char *const *options,
                                        size_t count, actc_module *module);
ACTC_API actc_status actc_module_clone(actc_module module, actc_module *clone);
ACTC_API actc_status actc_module_release(actc_module module);

/* Runs passes, which are named by flags as act-opt takes them, MLIR's own ones,
 * too: "--fuse-attention", "--remat=selective", "--optimizer=adamw",
 * "--canonicalize". Passes that write files need one of the three functions
 * below, or a file's name. */
ACTC_API actc_status actc_module_run(actc_module module,
                                     const char *const *flags, size_t count);

typedef ACTC_ENUM(actc_form){ACTC_TEXT = 0, ACTC_BYTECODE = 1} actc_form;
ACTC_API actc_status actc_module_print(actc_module module, actc_form form,
                                       actc_output *output);

/* The options of these three are those of act-opt's --memory-report, --emit and
 * --emit-ptx, as one text: "format=json view=torch", "target=sm_80 mode=infer".
 * NULL is none. The module stays as it is. */

/* The memory report. */
ACTC_API actc_status actc_module_report(actc_module module, const char *options,
                                        actc_output *output);
/* The artifact, which actrt_step_load_memory reads. */
ACTC_API actc_status actc_module_emit(actc_module module, const char *options,
                                      actc_output *output);
/* Each kernel as NAME.ptx, perhaps NAME.cubin, and index.json at the end. */
ACTC_API actc_status actc_module_emit_ptx(actc_module module,
                                          const char *options,
                                          actc_output *output);

/* Outputs: files in memory. All but those of actc_module_emit_ptx are one file
 * without a name. */

ACTC_API actc_status actc_output_count(actc_output output, size_t *count);
/* `name`, `data` and `size` may be NULL. What they get is valid until the
 * output is released; the byte behind the data is 0. */
ACTC_API actc_status actc_output_get(actc_output output, size_t index,
                                     const char **name, const void **data,
                                     size_t *size);
ACTC_API actc_status actc_output_release(actc_output output);

#ifdef __cplusplus
}
#endif
#endif
