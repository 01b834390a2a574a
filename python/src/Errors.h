// SPDX-License-Identifier: Apache-2.0
//
// Failures of the C interfaces as Python exceptions.
#ifndef ACT_PYTHON_ERRORS_H
#define ACT_PYTHON_ERRORS_H
#include <nanobind/nanobind.h>
#include <string>
#include <utility>
#include <vector>

namespace act::python {

struct Diagnostic {
  std::string severity, file;
  unsigned line = 0, column = 0;
  std::string message;
};

/// act.CompileError: what the compiler refused, with all it said.
struct CompileError {
  std::string message;
  std::vector<Diagnostic> diagnostics;
};

/// act.DeviceError, or with findings act.Finding.
struct DeviceError {
  std::string message;
  std::vector<std::string> findings;
};

void bindErrors(nanobind::module_ &module);
void bindCompiler(nanobind::module_ &module);
void bindDevice(nanobind::module_ &module);
void bindKernel(nanobind::module_ &module);
void bindStep(nanobind::module_ &module);

} // namespace act::python
#endif
