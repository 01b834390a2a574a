// SPDX-License-Identifier: Apache-2.0
//
// First-fit packing: each sample goes into the first row that still has room.
#include "act/File/MappedFile.h"
#include "tools/act-run/Batches.h"
#include <nlohmann/json.hpp>

using namespace act;
using namespace act::run;

namespace {

struct Sample {
  std::vector<int64_t> tokens, labels;
};

struct Row {
  std::vector<int64_t> tokens, labels, segments;
};

class PackedBatches : public BatchSource {
public:
  PackedBatches(std::vector<Row> rows, BatchShape shape, std::string text)
      : rows(std::move(rows)), shape(shape), text(std::move(text)) {}

  // Cycles through the rows in the order of the file.
  Result<Batch> batch(uint64_t step) override {
    auto perStep = static_cast<uint64_t>(shape.rows);
    uint64_t batches = rows.size() / perStep;
    uint64_t first = (step - 1) % batches * perStep;
    Batch b;
    for (uint64_t r = first; r < first + perStep; ++r) {
      const Row &row = rows[r];
      b.tokens.insert(b.tokens.end(), row.tokens.begin(), row.tokens.end());
      b.labels.insert(b.labels.end(), row.labels.begin(), row.labels.end());
      b.segments.insert(b.segments.end(), row.segments.begin(),
                        row.segments.end());
    }
    return b;
  }
  std::string summary() const override { return text; }

private:
  std::vector<Row> rows;
  BatchShape shape;
  std::string text;
};

} // namespace

static Result<std::vector<int64_t>> integers(const nlohmann::json &json,
                                             const char *key) {
  const auto &list = json[key];
  if (!list.is_array())
    return Error{std::string("'") + key + "' is not a list", ""};
  std::vector<int64_t> out;
  for (auto &v : list) {
    if (!v.is_number_integer())
      return Error{
          std::string("'") + key + "' holds something other than integers", ""};
    out.push_back(v.get<int64_t>());
  }
  return out;
}

// The token list, under act's own key or the one that tokenizers use.
static Result<std::vector<int64_t>> readTokens(const nlohmann::json &json) {
  bool own = json.contains("tokens"), theirs = json.contains("input_ids");
  if (own && theirs)
    return Error{
        "the sample has 'tokens' and 'input_ids', expected one of them", ""};
  return integers(json, own ? "tokens" : "input_ids");
}

// The range of a sample that its mask keeps: padding may only be at the ends.
struct Kept {
  size_t first, end;
};

static Result<Kept> readMask(const nlohmann::json &json, size_t n) {
  if (!json.contains("attention_mask"))
    return Kept{0, n};
  auto mask = integers(json, "attention_mask");
  if (!mask)
    return mask.error();
  if (mask->size() != n)
    return Error{"the attention_mask has " + std::to_string(mask->size()) +
                     " numbers for " + std::to_string(n) + " tokens",
                 ""};
  for (size_t i = 0; i < n; ++i)
    if ((*mask)[i] != 0 && (*mask)[i] != 1)
      return Error{"the attention_mask holds " + std::to_string((*mask)[i]) +
                       " at position " + std::to_string(i) +
                       ", expected 0 or 1",
                   ""};
  Kept kept{0, n};
  while (kept.first < n && (*mask)[kept.first] == 0)
    ++kept.first;
  while (kept.end > kept.first && (*mask)[kept.end - 1] == 0)
    --kept.end;
  for (size_t i = kept.first; i < kept.end; ++i)
    if ((*mask)[i] == 0)
      return Error{"the attention_mask hides the token at position " +
                       std::to_string(i) +
                       ", between others; a packed sample has padding at its "
                       "ends only (a label of -100 takes a token out of the "
                       "loss)",
                   ""};
  return kept;
}

static void keep(std::vector<int64_t> &list, const Kept &kept) {
  list.erase(list.begin() + static_cast<ptrdiff_t>(kept.end), list.end());
  list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(kept.first));
}

// Reads one line. Each label moves to the token before it, since a token
// predicts its successor; a sample's last token predicts nothing, so no label
// crosses into the next sample of the row.
static Result<Sample> readSample(std::string_view line, int64_t vocabulary) {
  auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() ||
      !(json.contains("tokens") || json.contains("input_ids")))
    return Error{"expected a JSON object with 'tokens' or 'input_ids'", ""};
  Sample s;
  auto tokens = readTokens(json);
  if (!tokens)
    return tokens.error();
  s.tokens = std::move(*tokens);
  auto kept = readMask(json, s.tokens.size());
  if (!kept)
    return kept.error();
  std::vector<int64_t> own = s.tokens;
  if (json.contains("labels")) {
    auto labels = integers(json, "labels");
    if (!labels)
      return labels.error();
    own = std::move(*labels);
    if (own.size() != s.tokens.size())
      return Error{"there are " + std::to_string(own.size()) + " labels for " +
                       std::to_string(s.tokens.size()) + " tokens",
                   ""};
  }
  // Drop padding before the checks: it may have any tokens and labels.
  keep(s.tokens, *kept);
  keep(own, *kept);
  if (auto c = checkTokens(s.tokens, vocabulary, false); !c)
    return c.error();
  if (auto c = checkTokens(own, vocabulary, true); !c)
    return c.error();
  s.labels.assign(own.size(), ignoredLabel);
  for (size_t i = 0; i + 1 < own.size(); ++i)
    s.labels[i] = own[i + 1];
  return s;
}

static Result<std::vector<Sample>> readSamples(std::string_view text,
                                               const std::string &path,
                                               int64_t vocabulary,
                                               size_t longest) {
  std::vector<Sample> samples;
  size_t line = 0;
  while (!text.empty()) {
    ++line;
    size_t end = text.find('\n');
    std::string_view one = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (one.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    std::string where = path + ":" + std::to_string(line);
    auto s = readSample(one, vocabulary);
    if (!s)
      return Error{s.error().message, where};
    if (s->tokens.empty() || s->tokens.size() > longest)
      return Error{"the sample has " + std::to_string(s->tokens.size()) +
                       " tokens, a row holds 1 to " + std::to_string(longest),
                   where};
    samples.push_back(std::move(*s));
  }
  if (samples.empty())
    return Error{"there are no samples", path};
  return samples;
}

Result<std::unique_ptr<BatchSource>> run::openPack(const std::string &path,
                                                   const BatchShape &shape,
                                                   int64_t modelVocabulary) {
  if (shape.maxSequences == 0)
    return Error{"--pack needs a model imported with act-import --packed; "
                 "otherwise tokens would attend to other samples",
                 path};
  auto file = file::MappedFile::open(path);
  if (!file)
    return file.error();
  auto length = static_cast<size_t>(shape.length);
  auto samples = readSamples(file->text(), path, modelVocabulary, length);
  if (!samples)
    return samples.error();

  std::vector<Row> rows;
  std::vector<int64_t> inRow;
  // Each row gets an equal share of its group's sequences, including one for
  // the row's padding.
  int64_t rowsPerGroup = shape.rows / shape.groups;
  int64_t mostPerRow = shape.maxSequences / rowsPerGroup;
  uint64_t real = 0, counted = 0;
  // Rows before this one are full, so the search starts here.
  size_t open = 0;
  for (const Sample &s : *samples) {
    size_t r = open;
    for (; r < rows.size(); ++r) {
      size_t filled = rows[r].tokens.size() + s.tokens.size();
      // One more sequence for the sample, and one for the padding unless the
      // row is then full.
      if (filled <= length && inRow[r] + 1 + (filled < length) <= mostPerRow)
        break;
    }
    if (r == rows.size()) {
      rows.emplace_back();
      inRow.push_back(0);
    }
    Row &row = rows[r];
    row.tokens.insert(row.tokens.end(), s.tokens.begin(), s.tokens.end());
    row.labels.insert(row.labels.end(), s.labels.begin(), s.labels.end());
    row.segments.insert(row.segments.end(), s.tokens.size(), inRow[r]++);
    real += s.tokens.size();
    for (int64_t l : s.labels)
      counted += l != ignoredLabel;
    while (open < rows.size() && rows[open].tokens.size() == length)
      ++open;
  }
  size_t used = rows.size();
  // Rows of padding alone complete the last batch.
  while (rows.size() % static_cast<size_t>(shape.rows) != 0)
    rows.emplace_back();
  for (Row &row : rows) {
    row.tokens.resize(length, 0);
    row.labels.resize(length, ignoredLabel);
    row.segments.resize(length, -1);
  }
  uint64_t all = rows.size() * length;
  char share[32];
  snprintf(share, sizeof share, "%.2f",
           100.0 * static_cast<double>(all - real) / static_cast<double>(all));
  std::string text = std::to_string(samples->size()) + " samples packed into " +
                     std::to_string(used) + " rows of " +
                     std::to_string(length) + " tokens; padding " + share +
                     " %; effective tokens " + std::to_string(real) + " of " +
                     std::to_string(all) + ", " + std::to_string(counted) +
                     " with a label";
  return std::unique_ptr<BatchSource>(
      std::make_unique<PackedBatches>(std::move(rows), shape, std::move(text)));
}
