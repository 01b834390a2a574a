// SPDX-License-Identifier: Apache-2.0
//
// A batch's tokens, labels and segments, checked and written to a function's
// inputs.
#include "tools/act-run/Batches.h"
#include <algorithm>
#include <set>

using namespace act;
using namespace act::run;

Result<BatchShape> run::batchShape(const Ports &ports, int64_t rowLength) {
  const Entity *tokens = ports.input("tokens");
  if (!tokens || tokens->type.rank < 1 || tokens->elements() == 0)
    return Error{"the function has no input 'tokens' with a shape", ""};
  BatchShape s;
  auto total = static_cast<int64_t>(tokens->elements());
  if (const Entity *cu = ports.input("cu_seqlens")) {
    if (cu->type.rank < 1 || cu->type.rank > 2 ||
        cu->type.shape[cu->type.rank - 1] < 2)
      return Error{"input '" + describe(*cu) +
                       "' is not a list of sequence boundaries",
                   ""};
    s.maxSequences = cu->type.shape[cu->type.rank - 1] - 1;
    s.groups = cu->type.rank == 2 ? cu->type.shape[0] : 1;
    if (s.groups < 1 || total % s.groups != 0)
      return Error{"input '" + describe(*cu) + "' does not divide '" +
                       describe(*tokens) + "'",
                   ""};
  }
  s.length = tokens->type.rank > 1 ? tokens->type.shape[tokens->type.rank - 1]
                                   : total / s.groups;
  if (rowLength > 0)
    s.length = rowLength;
  if (total % s.length != 0 || (total / s.groups) % s.length != 0)
    return Error{"rows of " + std::to_string(s.length) +
                     " tokens do not divide '" + describe(*tokens) + "'",
                 ""};
  s.rows = total / s.length;
  s.maxPositions = ports.maxPositions;
  return s;
}

/// A label is the next token of the same row and the same sample; elsewhere
/// there is none.
std::vector<int64_t> run::shiftedLabels(const Batch &batch, int64_t rowLength) {
  const auto &[tokens, given, segments, mask] = batch;
  std::vector<int64_t> labels(tokens.size(), ignoredLabel);
  auto length = static_cast<size_t>(rowLength);
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    bool together = segments.empty() ||
                    (segments[i] >= 0 && segments[i] == segments[i + 1]);
    bool seen = mask.empty() || (mask[i] != 0 && mask[i + 1] != 0);
    if ((i + 1) % length != 0 && together && seen)
      labels[i] = tokens[i + 1];
  }
  return labels;
}

uint64_t run::labelCount(const Batch &batch) {
  return batch.labels.size() -
         static_cast<uint64_t>(std::count(batch.labels.begin(),
                                          batch.labels.end(), ignoredLabel));
}

Status run::checkTokens(const std::vector<int64_t> &tokens, int64_t vocabulary,
                        bool labels) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    int64_t t = tokens[i];
    if (labels && t == ignoredLabel)
      continue;
    if (t < 0 || (vocabulary > 0 && t >= vocabulary))
      return Error{std::string(labels ? "label " : "token ") +
                       std::to_string(t) + " at position " + std::to_string(i) +
                       " is outside the model's vocabulary of " +
                       std::to_string(vocabulary),
                   ""};
  }
  return ok();
}

namespace {
struct Sequences {
  std::vector<int64_t> boundaries; // groups x (maxSequences + 1)
  std::vector<int64_t> positions;
};
} // namespace

static bool begins(const BatchShape &shape, const Batch &batch, int64_t i) {
  auto k = static_cast<size_t>(i);
  return i % shape.length == 0 || (!batch.segments.empty() &&
                                   batch.segments[k] != batch.segments[k - 1]);
}

/// Boundaries from segment ids. A sequence has to be in one piece, because
/// boundaries say where each begins and no more.
static Result<Sequences> findSequences(const BatchShape &shape,
                                       const Batch &batch) {
  Sequences s;
  int64_t perGroup = shape.tokens() / shape.groups;
  for (int64_t g = 0; g < shape.groups; ++g) {
    int64_t start = 0, found = 0;
    std::set<int64_t> ended; // ids of the row's earlier sequences
    for (int64_t i = 0; i < perGroup; ++i) {
      auto at = static_cast<size_t>(g * perGroup + i);
      if (i % shape.length == 0)
        ended.clear();
      if (begins(shape, batch, g * perGroup + i)) {
        if (!batch.segments.empty() && batch.segments[at] >= 0 &&
            !ended.insert(batch.segments[at]).second)
          return Error{"segment " + std::to_string(batch.segments[at]) +
                           " reappears at token " + std::to_string(at) +
                           " of the batch, after another segment; the tokens "
                           "of a sequence must be contiguous",
                       ""};
        start = i;
        ++found;
        s.boundaries.push_back(i);
      }
      bool padding = !batch.segments.empty() && batch.segments[at] < 0;
      if (shape.maxPositions > 0 && !padding &&
          static_cast<uint64_t>(i - start) >= shape.maxPositions)
        return Error{"a sequence has more than " +
                         std::to_string(shape.maxPositions) +
                         " tokens, the number of positions that the model has "
                         "(the sequence starts at token " +
                         std::to_string(at - static_cast<size_t>(i - start)) +
                         " of the batch)",
                     ""};
      s.positions.push_back(i - start);
    }
    if (shape.maxSequences > 0 && found > shape.maxSequences)
      return Error{"a batch has " + std::to_string(found) +
                       " sequences, the model was compiled for at most " +
                       std::to_string(shape.maxSequences) +
                       "; act-import --packed=N makes it for N",
                   ""};
    for (; found <= shape.maxSequences; ++found)
      s.boundaries.push_back(perGroup);
  }
  return s;
}

Batch run::part(const Batch &batch, uint64_t k, uint64_t parts) {
  auto cut = [&](const std::vector<int64_t> &all) {
    size_t n = all.size() / parts;
    auto first = all.begin() + static_cast<ptrdiff_t>(k * n);
    return std::vector<int64_t>(first, first + static_cast<ptrdiff_t>(n));
  };
  return {cut(batch.tokens), cut(batch.labels), cut(batch.segments),
          cut(batch.mask)};
}

Status run::feed(Ports &ports, const BatchShape &shape, const Batch &batch) {
  auto sequences = findSequences(shape, batch);
  if (!sequences)
    return sequences.error();
  if (shape.maxSequences == 0 && !batch.segments.empty())
    return Error{
        "the data has segments, but the model is not packed (it has no "
        "input 'cu_seqlens'): tokens would attend to other samples; import it "
        "with act-import --packed",
        ""};
  for (const Entity &e : ports.inputs) {
    Status s = ok();
    if (e.name == "tokens")
      s = ports.set(e.name, batch.tokens);
    else if (e.name == "labels")
      s = ports.set(e.name, batch.labels);
    else if (e.name == "cu_seqlens")
      s = ports.set(e.name, sequences->boundaries);
    else if (e.name == "position_ids")
      s = ports.set(e.name, sequences->positions);
    else if (e.name == "attention_mask")
      s = ports.set(e.name, batch.mask.empty()
                                ? std::vector<int64_t>(e.elements(), 1)
                                : batch.mask);
    else if (e.name == "token_type_ids")
      s = ports.set(e.name, std::vector<int64_t>(e.elements(), 0));
    else
      return Error{"the function has an input '" + describe(e) +
                       "' that no option sets; only a program that binds it "
                       "can run the step (actrt_step_bind)",
                   ""};
    if (!s)
      return s;
  }
  return ok();
}
