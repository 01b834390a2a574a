// SPDX-License-Identifier: Apache-2.0
//
// act._act: the two C interfaces as Python objects. It adds no meaning of its
// own; what Python users see is in the package's .py files.
#include "act-c/Compiler.h"
#include "act-c/Runtime.h"
#include "python/src/Errors.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace act::python;

// The exceptions are classes of act.errors, so that they can have fields and
// documentation of their own.
static void raise(const char *name, const nb::tuple &arguments) {
  nb::object type = nb::module_::import_("act.errors").attr(name);
  nb::object error = type(*arguments);
  PyErr_SetObject(type.ptr(), error.ptr());
}

void act::python::bindErrors(nb::module_ &module) {
  nb::class_<Diagnostic>(module, "Diagnostic",
                         "What the compiler says about a place in a module.")
      .def_ro("severity", &Diagnostic::severity,
              "error, warning, remark or note; a note belongs to what is "
              "before it")
      .def_ro("file", &Diagnostic::file)
      .def_ro("line", &Diagnostic::line, "from 1; 0: of no place in a file")
      .def_ro("column", &Diagnostic::column)
      .def_ro("message", &Diagnostic::message)
      .def("__repr__", [](const Diagnostic &d) {
        std::string place = d.file;
        if (d.line)
          place +=
              ":" + std::to_string(d.line) + ":" + std::to_string(d.column);
        return (place.empty() ? "" : place + ": ") + d.severity + ": " +
               d.message;
      });
  nb::register_exception_translator([](const std::exception_ptr &p, void *) {
    try {
      std::rethrow_exception(p);
    } catch (const CompileError &e) {
      raise("CompileError", nb::make_tuple(e.message, e.diagnostics));
    } catch (const DeviceError &e) {
      if (e.findings.empty())
        raise("DeviceError", nb::make_tuple(e.message));
      else
        raise("Finding", nb::make_tuple(e.message, e.findings));
    }
  });
}

NB_MODULE(_act, module) {
  // Objects that live as long as the process are no leak to report.
  nb::set_leak_warnings(false);
  module.doc() = "act's C interfaces: compiler and runtime.";
  // A library of another version than the headers that this was compiled with.
  if (actc_version() >> 16 != ACTC_VERSION_MAJOR ||
      (actc_version() & 0xffff) < ACTC_VERSION_MINOR ||
      actrt_version() >> 16 != ACTRT_VERSION_MAJOR ||
      (actrt_version() & 0xffff) < ACTRT_VERSION_MINOR)
    throw nb::import_error("act's libraries are older than its Python package");
  bindErrors(module);
  bindCompiler(module);
  bindDevice(module);
  bindKernel(module);
  bindStep(module);
}
