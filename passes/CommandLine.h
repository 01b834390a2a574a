// SPDX-License-Identifier: Apache-2.0
//
// The spellings of act's flags that MLIR's option syntax does not know:
//   --remat=selective              ->  --remat="policy=selective"
//   --device-memory=24GB           ->  --remat="policy=budget=fit
//   device-memory=24GB", or
//                                      one more option of the --remat that is
//                                      there
//   --emit=step.act                ->  --emit="file=step.act"
//   --optimizer=adamw --clip=1.0   ->  one --write-step="optimizer=adamw
//   clip=1.0"
//   --emit-ptx=DIR --target=sm_80  ->  --emit-ptx="dir=DIR target=sm_80"
//   --memory-report=view=torch --allocator=cuda-caching --device-memory=24GB
//       ->  --memory-report="view=torch allocator=cuda-caching
//       device-memory=24GB"
// --write-step stands where the first of its flags stood, or before a --remat
// with a budget, which has to know what the step needs. --target counts for
// every --emit, --emit-ptx and --memory-report in view act, wherever it stands.
// --allocator and its options count for every --memory-report. With an
// --allocator, --device-memory is the report's, and --remat's only if that is a
// budget; such a --remat gets the allocator too.
//
// Six passes always run in this order, however they are typed:
// --fuse-attention, --autodiff, --remat and --write-step, --fuse-prologues,
// --form-kernels. --pass-pipeline is taken as it is.
#ifndef ACT_PASSES_COMMANDLINE_H
#define ACT_PASSES_COMMANDLINE_H
#include <string>
#include <vector>

namespace act {
/// These flags, for --help.
extern const char optPassFlagsHelp[];

/// A flag of these that is no pass, and the passes that it is for.
struct OptPassFlag {
  const char *name, *of;
  const char *alone = nullptr; ///< its value where none is given
};
const std::vector<OptPassFlag> &optPassFlags();

/// Flags as act-opt takes them, without the program, as passes with their
/// options. Files that passes write are the caller's matter.
std::vector<std::string> expandPassFlags(const std::vector<std::string> &flags);

/// The arguments for MlirOptMain. The strings live as long as the process.
std::vector<char *> expandOptPassFlags(int argc, char **argv);
} // namespace act
#endif
