// SPDX-License-Identifier: Apache-2.0
//
// The options of a launch that actrt-sim and act-run kernel share.
#include "tools/Numbers.h"
#include "tools/actrt-sim/CommandLine.h"

void act::simtool::addLaunchOptions(CLI::App &app, CommandLine &o) {
  app.add_option("--arg", o.arguments,
                 "one per parameter, in order: in:FILE, inout:FILE, "
                 "out:DTYPE[SHAPE]:FILE, i32:N u32:N i64:N u64:N f32:X f64:X, "
                 "ptr:0, tma:FILE:DTYPE:box=64x128:swizzle=128")
      ->allow_extra_args(false);
  app.add_option(
         "--seed", o.seed,
         "draws what the ISA leaves open (0: everything as early as possible)")
      ->transform(act::tools::whole(0));
  app.add_option("--draw", o.draw,
                 "what the seed draws: all, or only orders (numbers stay those "
                 "of seed 0)")
      ->check(CLI::IsMember({"all", "orders"}))
      ->capture_default_str();
  app.add_option("--max-instructions", o.maximumInstructions,
                 "limit per launch, in warp instructions (0: none)")
      ->transform(act::tools::whole(0))
      ->capture_default_str();
  app.add_option("--threads", o.threads,
                 "host threads that simulate (0: one per core)")
      ->transform(act::tools::whole(0, 1024));
  app.add_option("--checks", o.checks, "which checks run: all or none")
      ->check(CLI::IsMember({"all", "none"}))
      ->capture_default_str();
  app.add_flag("--strict", o.strict,
               "report uninitialised memory when it is read and undefined "
               "values when they are stored (default: when they are used)");
  app.add_flag("--ordered-sums", o.orderedSums,
               "additions of floats to one place are a race unless something "
               "orders them");
  app.add_option("--benign", o.benign,
                 "benign findings: tell prints them, error also exits with 2")
      ->check(CLI::IsMember({"tell", "error"}))
      ->capture_default_str();
  app.add_flag("--json", o.json, "print the profile and the findings as JSON");
}
