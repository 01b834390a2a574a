// SPDX-License-Identifier: Apache-2.0
//
// actrt-sim: runs a kernel of a PTX file on the CPU, reports its errors and
// counts the hardware work.
#include "tools/Numbers.h"
#include "tools/actrt-sim/CommandLine.h"
#include "tools/arguments/ParseArguments.h"
#include <cstdio>
#include <new>

int main(int argc, char **argv) {
  CLI::App app("runs a PTX kernel on the CPU, checked and counted",
               "actrt-sim");
  act::simtool::CommandLine o;
  app.add_option("FILE", o.file, "PTX text")->required();
  app.add_option("--target", o.target,
                 "sm_80, sm_86, sm_89, sm_90 or sm_90a (default: the lowest "
                 "that runs the file's .target)");
  app.add_option("--kernel,--entry", o.kernel,
                 "its name (default: the only one)");
  app.add_option("--grid", o.grid, "blocks: X,Y,Z")->capture_default_str();
  app.add_option("--block", o.block,
                 "threads: X,Y,Z (default: as the kernel requires, or 1)");
  app.add_option("--cluster", o.cluster,
                 "blocks: X,Y,Z (default: the kernel's own)");
  app.add_option("--smem", o.sharedBytes, "bytes of dynamic shared memory")
      ->transform(act::tools::whole(0));
  app.add_flag("--cooperative", o.cooperative, "all blocks are resident");
  app.add_option(
      "--at-once", o.atOnce,
      "so many blocks, one after the other, may wait for each other");
  act::simtool::addLaunchOptions(app, o);
  if (auto status = act::tools::parseArguments(app, argc, argv))
    return *status;
  try {
    return act::simtool::run(o);
  } catch (const std::bad_alloc &) {
    std::fputs("actrt-sim: error: out of memory\n", stderr);
    return 1;
  }
}
