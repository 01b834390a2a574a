// SPDX-License-Identifier: Apache-2.0
//
// The source of a step: an artifact file, or a module to compile.
#ifndef ACT_TOOLS_ACTRUN_STEPSOURCE_H
#define ACT_TOOLS_ACTRUN_STEPSOURCE_H
#include "tools/act-run/Compile.h"
#include <memory>

namespace act::run {

class StepSource {
public:
  virtual ~StepSource() = default;
  virtual Result<artifact::Step> load() = 0;
  /// Code made by this process may run; code from a file needs permission.
  virtual bool compiledHere() const = 0;
  /// Advice, in lines of text, for a step that needs `needed` bytes on a device
  /// with `free`.
  virtual std::string advice(uint64_t needed, uint64_t free) = 0;
};

/// An error for a file that is neither an artifact nor a module, with its kind
/// and what to do with it first. Reads only as much as it takes to tell.
Status checkStepFile(const std::string &path);

/// Tells an artifact from a module by the file's first bytes, not by its name.
Result<std::unique_ptr<StepSource>>
openStepSource(const std::string &path, const CompileOptions &options);

} // namespace act::run
#endif
