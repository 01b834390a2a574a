// SPDX-License-Identifier: Apache-2.0
//
// The spellings of act's flags that MLIR's option syntax does not know:
//   --remat=selective              ->  --remat="policy=selective"
//   --emit=step.act                ->  --emit="file=step.act"
//   --optimizer=adamw --clip=1.0   ->  one --write-step="optimizer=adamw clip=1.0"
//   --emit-ptx=DIR --target=sm_80  ->  --emit-ptx="dir=DIR target=sm_80"
//   --memory-report=view=torch --allocator=cuda-caching --device-memory=24GB
//       ->  --memory-report="view=torch allocator=cuda-caching device-memory=24GB"
// --write-step takes the place of the first flag it is made of; --target counts
// for every --emit and --emit-ptx, wherever it stands, and --allocator, with
// what belongs to it, for every --memory-report.
#ifndef ACT_PASSES_COMMANDLINE_H
#define ACT_PASSES_COMMANDLINE_H
#include <vector>

namespace act {
/// The arguments for MlirOptMain. The strings live as long as the process.
std::vector<char *> expandOptPassFlags(int argc, char **argv);
} // namespace act
#endif
