// SPDX-License-Identifier: Apache-2.0
#include "act/Npy/Npy.h"
#include "tools/act-run/Batches.h"

using namespace act;
using namespace act::run;

namespace {
class TokenBatches : public BatchSource {
public:
  std::vector<int64_t> tokens, labels, segments;
  uint64_t count = 0, perStep = 0;
  int64_t row = 0;

  uint64_t steps() const override { return count; }
  int64_t rowLength() const override { return row; }
  Result<Batch> batch(uint64_t step) override {
    if (step < 1 || step > count)
      return Error{"there are tokens for " + std::to_string(count) +
                       " steps, not for step " + std::to_string(step),
                   ""};
    Batch b;
    b.tokens = slice(tokens, step);
    if (!segments.empty())
      b.segments = slice(segments, step);
    b.labels = labels.empty() ? shiftedLabels(b.tokens, b.segments, row)
                              : slice(labels, step);
    return b;
  }

private:
  std::vector<int64_t> slice(const std::vector<int64_t> &all, uint64_t step) {
    auto first = all.begin() + static_cast<ptrdiff_t>((step - 1) * perStep);
    return {first, first + static_cast<ptrdiff_t>(perStep)};
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
                     " have another shape than the tokens",
                 path};
  auto values = npy::integers(*array);
  if (!values)
    return Error{values.error().message, path};
  return values;
}

Result<std::unique_ptr<BatchSource>>
run::openTokenFiles(const std::string &tokens, const std::string &labels,
                    const std::string &segments, const Ports &ports,
                    int64_t modelVocabulary) {
  const Entity *port = ports.input("tokens");
  if (!port)
    return Error{"the function has no input 'tokens'", ""};
  auto array = npy::read(tokens);
  if (!array)
    return array.error();
  auto source = std::make_unique<TokenBatches>();
  source->perStep = port->elements();
  const auto &shape = array->shape;
  uint64_t perStep = shape.empty() ? 0 : 1;
  for (size_t i = 1; i < shape.size(); ++i)
    perStep *= static_cast<uint64_t>(shape[i]);
  // The last dimension is a row; only a packed model lets it differ from its
  // own, as its tokens are one flat list.
  bool fits = shape.size() >= 2 && perStep == source->perStep &&
              (port->type.rank == 1 ||
               shape.back() == port->type.shape[port->type.rank - 1]);
  if (!fits) {
    std::string have = "[";
    for (size_t i = 0; i < shape.size(); ++i)
      have += (i ? "," : "") + std::to_string(shape[i]);
    return Error{"the tokens have shape " + have +
                     "], expected [steps, ...] for input '" + describe(*port) +
                     "'",
                 tokens};
  }
  source->count = static_cast<uint64_t>(shape[0]);
  source->row = shape.back();
  auto values = npy::integers(*array);
  if (!values)
    return Error{values.error().message, tokens};
  source->tokens = std::move(*values);
  if (auto s = checkTokens(source->tokens, modelVocabulary, false); !s)
    return Error{s.error().message, tokens};
  if (!labels.empty()) {
    auto l = readLike(labels, shape, "labels");
    if (!l)
      return l.error();
    source->labels = std::move(*l);
    if (auto s = checkTokens(source->labels, modelVocabulary, true); !s)
      return Error{s.error().message, labels};
  }
  if (!segments.empty()) {
    auto s = readLike(segments, shape, "segments");
    if (!s)
      return s.error();
    source->segments = std::move(*s);
  }
  return std::unique_ptr<BatchSource>(std::move(source));
}
