// SPDX-License-Identifier: Apache-2.0
//
// Where a step comes from: an artifact file, or a module that is compiled now.
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
  /// What to do about a step that needs `needed` bytes of a device that has
  /// `free`; lines of text.
  virtual std::string advice(uint64_t needed, uint64_t free) = 0;
};

/// Says what a file is that is neither an artifact nor a module, and what to do
/// with it first; reads no more than tells them apart.
Status checkStepFile(const std::string &path);

/// Tells an artifact from a module by the file's first bytes, not by its name.
Result<std::unique_ptr<StepSource>>
openStepSource(const std::string &path, const CompileOptions &options);

} // namespace act::run
#endif
