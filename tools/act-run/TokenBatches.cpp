// SPDX-License-Identifier: Apache-2.0
//
// Batches from arrays of tokens, labels, segments and masks.
#include "act/Npy/Npy.h"
#include "tools/act-run/Batches.h"
#include <functional>
#include <numeric>
#include <set>

using namespace act;
using namespace act::run;

namespace {
class TokenBatches : public BatchSource {
public:
  Batch all; // of all steps; without labels: the shifted tokens
  uint64_t count = 0, perStep = 0;
  int64_t row = 0;
  bool list = true;

  uint64_t steps() const override { return count; }
  int64_t rowLength() const override { return row; }
  bool isList() const override { return list; }
  Result<Batch> batch(uint64_t step) override {
    if (step < 1 || step > count)
      return Error{"there are tokens for " + std::to_string(count) +
                       " steps, not for step " + std::to_string(step),
                   ""};
    Batch b = part(all, step - 1, count);
    if (b.labels.empty())
      b.labels = shiftedLabels(b, row);
    return b;
  }
};
} // namespace

// The integers of a file whose shape must be the tokens' shape.
static Result<std::vector<int64_t>> readLike(const std::string &path,
                                             const std::vector<int64_t> &shape,
                                             const char *what) {
  auto array = npy::read(path);
  if (!array)
    return array.error();
  if (array->shape != shape)
    return Error{std::string("the ") + what +
                     " a different shape than the tokens",
                 path};
  auto values = npy::integers(*array);
  if (!values)
    return Error{values.error().message, path};
  return values;
}

static uint64_t product(const std::vector<int64_t> &shape, size_t from) {
  return std::accumulate(
      shape.begin() + static_cast<ptrdiff_t>(std::min(from, shape.size())),
      shape.end(), uint64_t{1},
      [](uint64_t n, int64_t size) { return n * static_cast<uint64_t>(size); });
}

// Finds the batches in an array of tokens. The last dimension is a row. Only a
// packed model allows a different row length, as its tokens are one flat list
// per micro-batch.
static Status placeBatches(TokenBatches &source, const Ports &ports,
                           const std::vector<int64_t> &shape, bool mayBeAlone) {
  const Entity &port = *ports.input("tokens");
  bool packed = port.type.rank == 1 || ports.input("cu_seqlens");
  bool rowsFit =
      !shape.empty() &&
      (packed || shape.back() == port.type.shape[port.type.rank - 1]);
  source.perStep = port.elements();
  if (mayBeAlone && shape == port.shape())
    source.list = false;
  else if (rowsFit && shape.size() >= 2 && product(shape, 1) == source.perStep)
    source.list = true;
  else if (mayBeAlone && packed && shape.size() == 2 &&
           product(shape, 0) == source.perStep)
    source.list = false;
  else {
    std::string have;
    for (int64_t size : shape)
      have += (have.empty() ? "" : ",") + std::to_string(size);
    return Error{"the tokens have shape [" + have + "], expected " +
                     (mayBeAlone ? "that of" : "[steps, ...] for") +
                     " input '" + describe(port) + "'" +
                     (mayBeAlone ? ", alone or as a list" : ""),
                 ""};
  }
  source.count = source.list ? static_cast<uint64_t>(shape[0]) : 1;
  source.row = shape.back();
  return ok();
}

// In a packed model padding is a separate sequence, so masked tokens must not
// lie inside another one.
static Status maskSegments(Batch &all, const std::vector<int64_t> &mask,
                           int64_t rowLength) {
  if (all.segments.empty())
    all.segments.assign(mask.size(), 0);
  auto length = static_cast<size_t>(rowLength);
  std::set<int64_t> ended; // by padding, in this row
  for (size_t i = 0; i < mask.size(); ++i) {
    if (i % length == 0)
      ended.clear();
    int64_t &segment = all.segments[i];
    if (mask[i] != 0 && segment >= 0 && ended.count(segment))
      return Error{"the mask hides tokens inside a sequence (which continues "
                   "at position " +
                       std::to_string(i) +
                       "), but a packed model takes padding only between "
                       "sequences; a model imported with --attention-mask and "
                       "without --packed takes any mask",
                   ""};
    if (mask[i] == 0) {
      if (i % length != 0 && all.segments[i - 1] >= 0)
        ended.insert(all.segments[i - 1]);
      segment = -1;
    }
  }
  return ok();
}

static Status addMask(Batch &all, std::vector<int64_t> mask, const Ports &ports,
                      int64_t rowLength) {
  if (ports.input("attention_mask")) {
    all.mask = std::move(mask);
    return ok();
  }
  if (ports.input("cu_seqlens"))
    return maskSegments(all, mask, rowLength);
  return Error{"the model takes no mask (it has no input 'attention_mask'); "
               "import it with --attention-mask, or with --packed, where "
               "padding is a sequence of its own; a causal model needs none "
               "for padding after the text",
               ""};
}

Result<std::unique_ptr<BatchSource>>
run::openTokenFiles(const TokenFiles &files, const Ports &ports,
                    int64_t modelVocabulary) {
  if (!ports.input("tokens"))
    return Error{"the function has no input 'tokens'", ""};
  auto array = npy::read(files.tokens);
  if (!array)
    return array.error();
  auto source = std::make_unique<TokenBatches>();
  if (auto s = placeBatches(*source, ports, array->shape, files.mayBeAlone); !s)
    return Error{s.error().message, files.tokens};
  auto values = npy::integers(*array);
  if (!values)
    return Error{values.error().message, files.tokens};
  Batch &all = source->all;
  all.tokens = std::move(*values);
  if (auto s = checkTokens(all.tokens, modelVocabulary, false); !s)
    return Error{s.error().message, files.tokens};
  if (!files.labels.empty()) {
    auto l = readLike(files.labels, array->shape, "labels have");
    if (!l)
      return l.error();
    all.labels = std::move(*l);
    if (auto s = checkTokens(all.labels, modelVocabulary, true); !s)
      return Error{s.error().message, files.labels};
  }
  if (!files.segments.empty()) {
    auto s = readLike(files.segments, array->shape, "segments have");
    if (!s)
      return s.error();
    all.segments = std::move(*s);
  }
  if (!files.mask.empty()) {
    auto m = readLike(files.mask, array->shape, "mask has");
    if (!m)
      return m.error();
    if (auto s = addMask(all, std::move(*m), ports, source->row); !s)
      return Error{s.error().message, files.mask};
  }
  return std::unique_ptr<BatchSource>(std::move(source));
}
