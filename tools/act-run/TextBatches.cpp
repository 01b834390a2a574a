// SPDX-License-Identifier: Apache-2.0
//
// Batches of a text, by characters: places drawn from the seed and the step, so
// that a resumed run sees what an uninterrupted one would.
#include "act/File/MappedFile.h"
#include "act/Random/Philox.h"
#include "tools/act-run/Batches.h"

using namespace act;
using namespace act::run;

namespace {

/// Training rows start at random positions in the first nine tenths of the
/// text. The last tenth is held out and read in consecutive rows.
class TextBatches : public BatchSource {
public:
  TextBatches(Vocabulary vocab, std::vector<int64_t> tokens, BatchShape shape,
              uint64_t seed)
      : vocab(std::move(vocab)), tokens(std::move(tokens)), shape(shape),
        key(philoxKey(seed, "data")) {
    training = this->tokens.size() - this->tokens.size() / 10;
  }

  Result<Batch> batch(uint64_t step) override {
    Batch b;
    uint64_t places = training - static_cast<uint64_t>(shape.length);
    for (int64_t row = 0; row < shape.rows; ++row) {
      auto w =
          philox({static_cast<uint32_t>(row), 0, static_cast<uint32_t>(step),
                  static_cast<uint32_t>(step >> 32)},
                 key);
      append(b, (uint64_t{w[0]} << 32 | w[1]) % places);
    }
    return b;
  }

  uint64_t evaluationBatches() const override {
    uint64_t held = tokens.size() - training;
    return held < 1 ? 0 : (held - 1) / static_cast<uint64_t>(shape.tokens());
  }

  Batch evaluationBatch(uint64_t i) override {
    Batch b;
    for (int64_t row = 0; row < shape.rows; ++row)
      append(b, training + (i * static_cast<uint64_t>(shape.rows) +
                            static_cast<uint64_t>(row)) *
                               static_cast<uint64_t>(shape.length));
    return b;
  }

  std::string whyNoEvaluation() const override {
    if (evaluationBatches() > 0)
      return "";
    return "the last tenth of the text has " +
           std::to_string(tokens.size() - training) +
           " characters, a batch needs " + std::to_string(shape.tokens() + 1);
  }

  const Vocabulary *vocabulary() const override { return &vocab; }
  std::string summary() const override {
    return std::to_string(tokens.size()) + " characters, " +
           std::to_string(vocab.size()) + " of them distinct; " +
           std::to_string(tokens.size() - training) + " held out";
  }

private:
  Vocabulary vocab;
  std::vector<int64_t> tokens;
  BatchShape shape;
  std::array<uint32_t, 2> key;
  uint64_t training;

  void append(Batch &b, uint64_t at) {
    auto first = tokens.begin() + static_cast<ptrdiff_t>(at);
    b.tokens.insert(b.tokens.end(), first, first + shape.length);
    b.labels.insert(b.labels.end(), first + 1, first + 1 + shape.length);
  }
};

} // namespace

Result<std::unique_ptr<BatchSource>> run::openText(const std::string &path,
                                                   const BatchShape &shape,
                                                   uint64_t seed,
                                                   int64_t modelVocabulary) {
  auto file = file::MappedFile::open(path);
  if (!file)
    return file.error();
  auto vocab = Vocabulary::fromText(file->text());
  if (!vocab)
    return Error{vocab.error().message, path};
  if (modelVocabulary > 0 && vocab->size() > modelVocabulary)
    return Error{"the text has " + std::to_string(vocab->size()) +
                     " distinct characters, the model's vocabulary is " +
                     std::to_string(modelVocabulary),
                 path};
  auto tokens = vocab->encode(file->text());
  if (!tokens)
    return Error{tokens.error().message, path};
  auto training = static_cast<int64_t>(tokens->size() - tokens->size() / 10);
  if (training < shape.length + 1)
    return Error{"the text has " + std::to_string(training) +
                     " characters to train on, a row needs " +
                     std::to_string(shape.length + 1),
                 path};
  return std::unique_ptr<BatchSource>(std::make_unique<TextBatches>(
      std::move(*vocab), std::move(*tokens), shape, seed));
}
