// SPDX-License-Identifier: Apache-2.0
//
// act-plan: reads a problem, plans or validates, prints. The plan goes to
// standard output only after the validator has passed it.
#include "act/File/MappedFile.h"
#include "act/Plan/Csv.h"
#include "act/Plan/Solver.h"
#include "act/Plan/Validator.h"
#include "tools/act-plan/CommandLine.h"
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace act;
using namespace act::plan;
using namespace act::plantool;

static int fail(const Error &error) {
  fprintf(stderr, "act-plan: error: %s\n", error.str().c_str());
  return 1;
}

static std::string nameOf(const std::string &path) {
  return path == "-" ? "standard input" : path;
}

static Result<Problem> read(const std::string &path) {
  if (path != "-") {
    auto file = file::MappedFile::open(path);
    if (!file)
      return file.error();
    return readCsv(file->text(), path);
  }
  std::string text;
  char block[1 << 16];
  for (size_t n; (n = fread(block, 1, sizeof block, stdin)) > 0;)
    text.append(block, n);
  if (ferror(stdin))
    return Error{"cannot be read", nameOf(path)};
  return readCsv(text, nameOf(path));
}

static Result<Plan> makePlan(const CommandLine &o, const Problem &problem) {
  SolverOptions options;
  options.seed = o.seed;
  options.nodes = o.nodes.value_or(o.minimize ? 1'000'000 : 100'000'000);
  if (!o.minimize)
    return fit(problem, *o.capacity, options);
  auto plan = solve(problem, options);
  // A plan within the capacity may exist although the minimum was not found.
  if (plan && o.capacity && plan->arenaBytes > *o.capacity)
    return fit(problem, *o.capacity, options);
  return plan;
}

/// The file's own offsets as a plan within the capacity.
static Result<Plan> givenPlan(const CommandLine &o, const Problem &problem) {
  Plan plan;
  plan.lowerBoundBytes = plan.provenBytes = problem.lowerBound();
  int64_t highest = 0;
  for (const Buffer &b : problem.buffers) {
    plan.offsets.push_back(*b.offset);
    highest = std::max(highest, *b.offset + b.bytes);
  }
  plan.arenaBytes = o.capacity.value_or(highest);
  return plan;
}

/// The error if no option makes a plan and there is nothing to validate.
static Error nothingToDo(const CommandLine &o, size_t fixed) {
  const std::string makes = "--capacity=N or --minimize makes a plan";
  const char *expected = "expected --capacity=N or --minimize";
  std::string message =
      !o.validate ? expected
      : fixed     ? "offsets are given for " + std::to_string(fixed) +
                        " buffers and not for all; " + makes + " around them"
                  : "there is no offset to validate; " + makes;
  return {message, nameOf(o.file)};
}

static void tell(const Plan &plan) {
  bool proven = plan.arenaBytes == plan.provenBytes;
  fprintf(stderr, "height %" PRId64 ", lower bound %" PRId64, plan.arenaBytes,
          plan.lowerBoundBytes);
  if (plan.arenaBytes > plan.lowerBoundBytes && plan.lowerBoundBytes > 0)
    fprintf(stderr, " (%.2f %% above)",
            100 * double(plan.arenaBytes - plan.lowerBoundBytes) /
                double(plan.lowerBoundBytes));
  if (proven)
    fprintf(stderr, ": proven to be the lowest");
  else
    fprintf(stderr, ": not proven to be the lowest, none is below %" PRId64,
            plan.provenBytes);
  fprintf(stderr, "; %" PRIu64 " nodes\n", plan.nodes);
}

static std::string json(const CommandLine &o, const Plan &plan) {
  nlohmann::ordered_json j;
  if (o.capacity)
    j["capacity"] = *o.capacity;
  j["height"] = plan.arenaBytes;
  j["lower_bound"] = plan.lowerBoundBytes;
  j["proven_bound"] = plan.provenBytes;
  j["proven"] = plan.arenaBytes == plan.provenBytes;
  j["nodes"] = plan.nodes;
  j["offsets"] = plan.offsets;
  return j.dump() + "\n";
}

int plantool::run(const CommandLine &o) {
  auto contents = read(o.file);
  if (!contents)
    return fail(contents.error());
  const Problem &problem = *contents;
  const size_t fixed =
      std::count_if(problem.buffers.begin(), problem.buffers.end(),
                    [](const Buffer &b) { return b.offset.has_value(); });
  const bool given = o.validate && fixed == problem.buffers.size();
  if (!given && !o.capacity && !o.minimize)
    return fail(nothingToDo(o, fixed));
  auto plan = given ? givenPlan(o, problem) : makePlan(o, problem);
  if (!plan)
    return fail({plan.error().message, nameOf(o.file)});
  auto verdict = validate(problem, *plan);
  if (!verdict)
    return fail(
        {(given ? "" : "the plan found is wrong: ") + verdict.error().message,
         nameOf(o.file)});
  plan->arenaBytes = verdict->highestByte;
  std::string text = o.json ? json(o, *plan) : writeCsv(problem, &*plan);
  if (fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      fflush(stdout) != 0)
    return fail({"cannot be written", "standard output"});
  if (o.minimize && !given)
    tell(*plan);
  if (o.validate) {
    fprintf(stderr, "valid: height %" PRId64 ", lower bound %" PRId64,
            verdict->highestByte, verdict->lowerBoundBytes);
    if (verdict->hints > 0)
      fprintf(stderr, ", %" PRId64 " of %" PRId64 " hints met",
              verdict->hintsMet, verdict->hints);
    fprintf(stderr, "\n");
  }
  return 0;
}
