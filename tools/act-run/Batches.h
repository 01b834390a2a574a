// SPDX-License-Identifier: Apache-2.0
//
// The input of a training step, as a pure function of (seed, step), so that a
// resumed run sees the same data as an uninterrupted one.
//
// A batch is a table of tokens, `rows` by `length`. For a model with N
// micro-batches it holds those N one after the other. The inputs are made from
// it:
//
//   tokens, labels     the table; a label of -100 is not counted
//   cu_seqlens         packed models: per group (micro-batch) the starts of its
//                      sequences, then its token count in all remaining places
//   position_ids       positions within the sequence
//   attention_mask     1 for a token that others may attend to; all 1 without a
//                      mask
//
// A sequence begins at each row and wherever the segment number changes. In a
// packed model padding is a separate sequence, so a mask becomes segments.
#ifndef ACT_TOOLS_ACTRUN_BATCHES_H
#define ACT_TOOLS_ACTRUN_BATCHES_H
#include "tools/act-run/Model.h"
#include "tools/act-run/Vocabulary.h"

namespace act::run {

constexpr int64_t ignoredLabel = -100;

/// The table that a function's inputs require.
struct BatchShape {
  int64_t rows = 1, length = 0;
  int64_t groups = 1;        // micro-batches of a packed model
  int64_t maxSequences = 0;  // per group; 0 when the model is not packed
  uint64_t maxPositions = 0; // in one sequence; 0: any number
  int64_t tokens() const { return rows * length; }
};
/// From the inputs `tokens` and `cu_seqlens`. `rowLength` cuts the flat tokens
/// of a packed model into rows; 0 takes each group as one row.
Result<BatchShape> batchShape(const Ports &ports, int64_t rowLength = 0);

struct Batch {
  std::vector<int64_t> tokens, labels;
  /// Empty, or one number per token; a negative one is padding.
  std::vector<int64_t> segments;
  /// Empty, or one number per token; 0 hides it.
  std::vector<int64_t> mask;
};
/// The number of counted labels.
uint64_t labelCount(const Batch &batch);

/// The k-th of `parts` equal parts.
Batch part(const Batch &batch, uint64_t k, uint64_t parts);

/// Sets every input of the function from the batch. An unknown input is an
/// error.
Status feed(Ports &ports, const BatchShape &shape, const Batch &batch);

class BatchSource {
public:
  virtual ~BatchSource() = default;
  /// The batch of step 1, 2, ...
  virtual Result<Batch> batch(uint64_t step) = 0;
  /// The number of steps with data; 0: unlimited.
  virtual uint64_t steps() const { return 0; }
  /// The row length of the source's own batches; 0: the model's.
  virtual int64_t rowLength() const { return 0; }
  /// Whether the source has a dimension for batches; else it is one batch.
  virtual bool isList() const { return true; }
  /// Held-out batches.
  virtual uint64_t evaluationBatches() const { return 0; }
  virtual Batch evaluationBatch(uint64_t) { return {}; }
  /// Why held-out data makes no batch; empty otherwise.
  virtual std::string whyNoEvaluation() const { return ""; }
  virtual const Vocabulary *vocabulary() const { return nullptr; }
  /// Lines about the data, for the user.
  virtual std::string summary() const { return ""; }
};

Result<std::unique_ptr<BatchSource>> openText(const std::string &path,
                                              const BatchShape &shape,
                                              uint64_t seed,
                                              int64_t modelVocabulary);
/// Integers in .npy files of one shape, [batches, ...]. All names except the
/// first may be empty.
struct TokenFiles {
  std::string tokens, labels, segments, mask;
  bool mayBeAlone = false; // also accept one batch without that dimension
};
Result<std::unique_ptr<BatchSource>> openTokenFiles(const TokenFiles &files,
                                                    const Ports &ports,
                                                    int64_t modelVocabulary);
/// JSON lines of {"tokens": [...], "labels": [...]}. Labels are aligned with
/// their own tokens, as in Hugging Face's data sets, and are shifted here.
/// Tokenizer output works too: "input_ids" for "tokens", and an
/// "attention_mask" whose zeros at either end are padding and dropped.
Result<std::unique_ptr<BatchSource>> openPack(const std::string &path,
                                              const BatchShape &shape,
                                              int64_t modelVocabulary);

/// Each token's label is its successor; -100 at the end of each row and
/// segment, in padding and where a mask hides one of the two.
std::vector<int64_t> shiftedLabels(const Batch &batch, int64_t rowLength);
Status checkTokens(const std::vector<int64_t> &tokens, int64_t vocabulary,
                   bool labels);

} // namespace act::run
#endif
