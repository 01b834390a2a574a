// SPDX-License-Identifier: Apache-2.0
//
// Generates text with a causal model of fixed length. The last tokens of the
// text so far fill the first row; the logits at the last of them give the next
// token. They cannot attend to whatever follows them in the row.
#include "act/Artifact/Convert.h"
#include "act/Random/Philox.h"
#include "tools/act-run/Forward.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace act;
using namespace act::run;

static int64_t sample(const std::vector<double> &logits, const Options &o,
                      uint64_t place) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Ties go by token, so that the result is deterministic.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  if (o.temperature <= 0)
    return static_cast<int64_t>(order[0]);
  size_t n = o.topK > 0 ? std::min<size_t>(o.topK, order.size()) : order.size();
  std::vector<double> weight(n);
  for (size_t i = 0; i < n; ++i)
    weight[i] = std::exp((logits[order[i]] - logits[order[0]]) / o.temperature);
  double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  auto w = philox(
      {static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32), 0, 0},
      philoxKey(o.seed.value_or(0), "generate"));
  double u = (static_cast<double>(w[0]) * 0x1p32 + static_cast<double>(w[1])) *
             0x1p-64;
  double left = u * total;
  for (size_t i = 0; i < n; ++i)
    if ((left -= weight[i]) < 0)
      return static_cast<int64_t>(order[i]);
  return static_cast<int64_t>(order[n - 1]);
}

static Status generateAll(const Options &o) {
  auto f = openForward(o);
  if (!f)
    return f.error();
  const std::string weights = f->files.names();
  std::string entry = f->files.metadata("vocab");
  if (entry.empty())
    return Error{"the weights carry no vocabulary (act-run train --data stores "
                 "one)",
                 weights};
  auto vocabulary = Vocabulary::fromJson(entry);
  if (!vocabulary)
    return Error{vocabulary.error().message, weights};
  const Entity *logits = f->ports->output("logits");
  if (!logits || logits->type.rank < 2 || logits->elements() == 0)
    return Error{"the function 'forward' has no output 'logits'", o.file};
  auto classes = static_cast<size_t>(logits->type.shape[logits->type.rank - 1]);
  auto known = static_cast<size_t>(vocabulary->size());
  if (known > classes ||
      logits->elements() != static_cast<uint64_t>(f->shape.tokens()) * classes)
    return Error{"output '" + describe(*logits) +
                     "' does not fit the tokens and a vocabulary of " +
                     std::to_string(known),
                 o.file};
  auto text = vocabulary->encode(o.prompt);
  if (!text)
    return Error{"the prompt cannot be used: " + text.error().message, ""};
  if (text->empty())
    return Error{"the prompt is empty, expected at least one character", ""};

  if (auto s = setWeights(*f, o); !s)
    return s;
  fputs(o.prompt.c_str(), stdout);
  auto window = static_cast<size_t>(f->shape.length);
  auto type = static_cast<artifact::DType>(logits->type.dtype);
  for (uint64_t i = 0; i < o.count; ++i) {
    size_t n = std::min(window, text->size());
    Batch b;
    b.tokens.assign(static_cast<size_t>(f->shape.tokens()), 0);
    std::copy(text->end() - static_cast<ptrdiff_t>(n), text->end(),
              b.tokens.begin());
    b.labels.assign(b.tokens.size(), ignoredLabel);
    if (auto s = feed(*f->ports, f->shape, b); !s)
      return s;
    if (auto s = f->model->run("forward"); !s)
      return s;
    // Tokens beyond the vocabulary's characters are excluded.
    std::vector<double> row(known);
    for (size_t t = 0; t < known; ++t)
      row[t] = artifact::loadFloat(type, f->ports->data("logits"),
                                   (n - 1) * classes + t);
    for (double v : row)
      if (!std::isfinite(v))
        return Error{"the logits are not finite after " +
                         std::to_string(text->size()) + " characters",
                     weights};
    text->push_back(sample(row, o, i));
    fputs(vocabulary->character(text->back()).c_str(), stdout);
    fflush(stdout);
  }
  fputc('\n', stdout);
  return ok();
}

int run::generate(const Options &o) {
  auto s = generateAll(o);
  return s ? 0 : fail(s.error().str());
}
