// SPDX-License-Identifier: Apache-2.0
//
// act-remat: the cheapest schedule of a graph under a memory budget.
#include "act/File/MappedFile.h"
#include "act/Remat/Evaluator.h"
#include "act/Remat/TextFormat.h"
#include "tools/Numbers.h"
#include "tools/act-remat/Budget.h"
#include "tools/act-remat/Print.h"
#include "tools/arguments/ParseArguments.h"
#include <cstdio>

using namespace act;

static int fail(const Error &error) {
  std::fprintf(stderr, "act-remat: %s\n", error.str().c_str());
  return 1;
}

static int run(const std::string &file, const std::string &budget,
               const remat::SolverOptions &options, bool json) {
  auto mapped = file::MappedFile::open(file);
  if (!mapped)
    return fail(mapped.error());
  auto graph = remat::readText(mapped->text(), file);
  if (!graph)
    return fail(graph.error());
  auto base = remat::evaluate(*graph, remat::withoutRecomputation(*graph));
  if (!base)
    return fail(base.error());
  rematool::Found found;
  found.basePeak = base->peakBytes;
  auto bytes = rematool::parseBudget(budget, found.basePeak);
  if (!bytes)
    return fail(bytes.error());
  found.budget = *bytes;
  auto answer = remat::solve(*graph, found.budget, options);
  if (!answer)
    return fail(answer.error());
  found.answer = std::move(*answer);
  if (!rematool::hasSchedule(found)) {
    if (json)
      std::fputs(rematool::json(found).c_str(), stdout);
    return fail(rematool::noSchedule(found));
  }
  // Print only what an independent evaluation confirms.
  auto checked = remat::evaluate(*graph, found.answer.schedule);
  if (!checked || checked->peakBytes != found.answer.peakBytes ||
      checked->extraCost != found.answer.extraCost ||
      checked->peakBytes > found.budget)
    return fail(
        {"internal error: the checker does not accept the schedule", ""});
  std::string out = json ? rematool::json(found) : rematool::text(found);
  if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() ||
      std::fflush(stdout) != 0)
    return fail({"cannot be written", "standard output"});
  return 0;
}

int main(int argc, char **argv) {
  CLI::App app(
      "Finds the cheapest recomputation schedule within a memory budget.",
      "act-remat");
  std::string file, budget;
  remat::SolverOptions options;
  bool json = false, verbose = false;
  app.add_option("GRAPH", file,
                 "file of nodes and edges; docs/act-remat.md has the format")
      ->required();
  app.add_option("--budget", budget,
                 "a fraction of the peak without recomputation (0.8), or bytes "
                 "with a unit (24GB, 512MiB, 4096B)")
      ->required();
  app.add_flag("--json", json, "print one JSON object");
  app.add_option(
         "--effort", options.effort,
         "limit of work; the best schedule found by then is printed. One "
         "unit takes about a second, but it is counted in work, so results "
         "do not depend on the machine")
      ->check(tools::finite())
      ->capture_default_str();
  app.add_option(
         "--gap", options.gap,
         "stop when the extra cost is within (1 + GAP) times its lower bound")
      ->check(tools::finite())
      ->capture_default_str();
  app.add_option(
         "--seconds", options.seconds,
         "limit of processor time (0: none); results then depend on the "
         "machine")
      ->check(tools::finite())
      ->capture_default_str();
  app.add_flag("--verbose", verbose, "print the solver's progress to stderr");
  if (auto status = tools::parseArguments(app, argc, argv))
    return *status;
  if (verbose)
    options.log = [](const std::string &line) {
      std::fprintf(stderr, "%s\n", line.c_str());
    };
  return run(file, budget, options, json);
}
