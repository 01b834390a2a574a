// SPDX-License-Identifier: Apache-2.0
#include "act-c/Compiler.h"
#include "python/src/Errors.h"
#include <memory>
#include <mutex>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace act::python;

namespace {

/// The context of all modules. Calls on it are serialised by the C interface;
/// the mutex keeps the diagnostics of two calls apart.
class Context {
public:
  static Context &get() {
    static auto *context = new Context; // other threads may outlive main
    return *context;
  }

  /// Runs `call` without the interpreter's lock; its diagnostics are returned,
  /// or thrown with its error.
  template <typename Call> std::vector<Diagnostic> run(Call call) {
    std::vector<Diagnostic> said;
    std::string message;
    actc_status status;
    {
      nb::gil_scoped_release release;
      std::lock_guard<std::mutex> lock(mutex);
      current = &said;
      status = call(handle);
      if (status)
        message = actc_last_error();
      current = nullptr;
    }
    if (status)
      throw CompileError{std::move(message), std::move(said)};
    return said;
  }

private:
  Context() {
    if (actc_context_create(&handle) ||
        actc_context_set_diagnostics(handle, take, this))
      throw CompileError{actc_last_error(), {}};
  }
  static void take(const actc_diagnostic *d, void *self) {
    static const char *const names[] = {"note", "warning", "error", "remark"};
    if (auto *list = static_cast<Context *>(self)->current)
      list->push_back(
          {names[d->severity], d->file, d->line, d->column, d->message});
  }

  actc_context handle = nullptr;
  std::mutex mutex;
  std::vector<Diagnostic> *current = nullptr;
};

std::vector<const char *> pointers(const std::vector<std::string> &list) {
  std::vector<const char *> out;
  for (const std::string &s : list)
    out.push_back(s.c_str());
  return out;
}

struct Output {
  actc_output handle = nullptr;
  ~Output() {
    if (handle)
      actc_output_release(handle);
  }
  nb::bytes file(size_t i, const char **name = nullptr) const {
    const void *data;
    size_t size;
    if (actc_output_get(handle, i, name, &data, &size))
      throw CompileError{actc_last_error(), {}};
    return nb::bytes(data, size);
  }
  size_t count() const {
    size_t n = 0;
    if (actc_output_count(handle, &n))
      throw CompileError{actc_last_error(), {}};
    return n;
  }
};

class Module {
public:
  explicit Module(actc_module handle) : handle(handle) {}
  Module(const Module &) = delete;
  ~Module() { actc_module_release(handle); }

  static std::unique_ptr<Module> parse(nb::bytes text, std::string name) {
    actc_module m = nullptr;
    Context::get().run([&](actc_context c) {
      return actc_module_parse(c, name.c_str(), text.c_str(), text.size(), &m);
    });
    return std::make_unique<Module>(m);
  }
  static std::unique_ptr<Module> import(std::string config,
                                        std::vector<std::string> options) {
    actc_module m = nullptr;
    auto list = pointers(options);
    Context::get().run([&](actc_context c) {
      return actc_module_import(c, config.data(), config.size(), list.data(),
                                list.size(), &m);
    });
    return std::make_unique<Module>(m);
  }
  std::unique_ptr<Module> clone() const {
    actc_module m = nullptr;
    Context::get().run(
        [&](actc_context) { return actc_module_clone(handle, &m); });
    return std::make_unique<Module>(m);
  }
  std::vector<Diagnostic> run(std::vector<std::string> flags) {
    auto list = pointers(flags);
    return Context::get().run([&](actc_context) {
      return actc_module_run(handle, list.data(), list.size());
    });
  }
  nb::bytes print(bool bytecode) const {
    Output out;
    Context::get().run([&](actc_context) {
      return actc_module_print(handle, bytecode ? ACTC_BYTECODE : ACTC_TEXT,
                               &out.handle);
    });
    return out.file(0);
  }
  using Emit = actc_status(actc_module, const char *, actc_output *);
  template <Emit *emit> nb::bytes one(std::string options) const {
    Output out;
    Context::get().run([&](actc_context) {
      return emit(handle, options.c_str(), &out.handle);
    });
    return out.file(0);
  }
  nb::dict ptx(std::string options) const {
    Output out;
    Context::get().run([&](actc_context) {
      return actc_module_emit_ptx(handle, options.c_str(), &out.handle);
    });
    nb::dict files;
    for (size_t i = 0, n = out.count(); i < n; ++i) {
      const char *name = nullptr;
      nb::bytes data = out.file(i, &name);
      files[name] = data;
    }
    return files;
  }

private:
  actc_module handle;
};

} // namespace

void act::python::bindCompiler(nb::module_ &module) {
  nb::class_<Module>(module, "Module")
      .def_static("parse", &Module::parse, nb::arg("text"), nb::arg("name"))
      .def_static("import_config", &Module::import, nb::arg("config"),
                  nb::arg("options"))
      .def("clone", &Module::clone)
      .def("run", &Module::run, nb::arg("flags"))
      .def("print", &Module::print, nb::arg("bytecode"))
      .def("report", &Module::one<actc_module_report>, nb::arg("options"))
      .def("emit", &Module::one<actc_module_emit>, nb::arg("options"))
      .def("emit_ptx", &Module::ptx, nb::arg("options"));
}
