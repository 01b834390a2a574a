// SPDX-License-Identifier: Apache-2.0
#include "tools/Numbers.h"
#include "tools/actrt-sim/CommandLine.h"

void act::simtool::addLaunchOptions(CLI::App &app, CommandLine &o) {
  app.add_option("--arg", o.arguments,
                 "one per parameter, in order: in:FILE, inout:FILE, "
                 "out:DTYPE[SHAPE]:FILE, i32:N u32:N i64:N u64:N f32:X f64:X, "
                 "ptr:0, tma:FILE:DTYPE:box=64x128:swizzle=128")
      ->allow_extra_args(false);
  app.add_option("--seed", o.seed,
                 "orders what the ISA leaves open (0: as early as possible)")
      ->transform(act::tools::whole(0));
  app.add_option("--draw", o.draw,
                 "by the seed: all, or orders, with the numbers of seed 0")
      ->check(CLI::IsMember({"all", "orders"}))
      ->capture_default_str();
  app.add_option("--max-instructions", o.maximumInstructions,
                 "of a launch, in warp instructions (0: no end)")
      ->transform(act::tools::whole(0))
      ->capture_default_str();
  app.add_option("--threads", o.threads, "that simulate (0: one per core)")
      ->transform(act::tools::whole(0, 1024));
  app.add_option("--checks", o.checks, "all or none")
      ->check(CLI::IsMember({"all", "none"}))
      ->capture_default_str();
  app.add_flag("--strict", o.strict,
               "reports memory that was never written when it is read, and "
               "undefined values when they are stored (default: when they are "
               "used)");
  app.add_option("--benign", o.benign,
                 "what kernels do that are known to work all the same: tell, "
                 "or error, for exit status 2")
      ->check(CLI::IsMember({"tell", "error"}))
      ->capture_default_str();
  app.add_flag("--json", o.json, "the profile and the findings as JSON");
}
