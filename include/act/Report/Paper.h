// SPDX-License-Identifier: Apache-2.0
//
// Memory as publications count it. A publication's figure is a choice: which
// values of a layer, at how many bytes each. The choice is a file, so that it
// can be read, argued with and written for another publication:
//
//   {"publication": "...", "about": "...",
//    "equal": {"a*d": "h", "f": "4*h"},     letters that it does not tell apart
//    "figures": [
//      {"name": "layer", "what": "one layer",
//       "needs": ["layer_norm", "softmax"], not valid without these ops
//       "lacks": ["attention"],             not valid with these ops
//       "published": "b*s*(34*h + 5*a*s)", "note": "...",
//       "plus": 512,                        bytes that belong to no value
//       "counts": [
//         {"op": "linear", "operand": 0, "bytes": 2, "why": "..."}, ...]}],
//    "readings": [{"policy": "layer", "what": "peak", "bytes": 4200000000,
//                  "at": {"s": 4096}, "needs": ["attention"], "why": "..."}]}
//
// An entry of `counts` counts an op's `operand` or `result`, the `mask` of a
// dropout, the `rows` of an attention (its log-sum-exps: one number for each
// row), or the layer's `input` or `output` (no `op`). `parameter` narrows ops
// to those that read it, `made_by` narrows values to those that one of these
// ops made, `letters` counts with other letters ({"k": "a"}: keys as wide as
// queries). A value counts once, by the first entry that matches; an entry of 0
// bytes leaves it out. A view counts as the value that it shows.
//
// `readings` are measured, not counted. They are printed next to this program's
// figure if the policy matches.
#ifndef ACT_REPORT_PAPER_H
#define ACT_REPORT_PAPER_H
#include "act/Report/MemoryReport.h"

namespace act::report {

struct CountRule {
  enum class What : uint8_t { Operand, Result, Mask, Rows, Input, Output };
  What what = What::Result;
  unsigned index = 0; // of the operand or result
  std::string op, parameter;
  std::vector<std::string> madeBy;
  int64_t bytes = 0; // of an element
  std::map<std::string, std::string> letters;
  std::string why;
};

struct PublishedFigure {
  std::string name, what, note;
  std::vector<std::string> needs, lacks;
  std::optional<symbolic::Polynomial> published;
  /// Published bytes of all layers together, at the sizes `at`.
  std::optional<int64_t> publishedBytes;
  symbolic::Letters at;
  int64_t plus = 0;
  std::vector<CountRule> counts;
};

struct Reading {
  std::string policy, what, why; // what: peak or total
  std::vector<std::string> needs;
  int64_t bytes = 0;
  symbolic::Letters at;
};

struct Selection {
  std::string name, publication, about;
  /// A monomial, and its replacement.
  std::vector<std::pair<symbolic::Monomial, symbolic::Polynomial>> equal;
  std::vector<PublishedFigure> figures;
  std::vector<Reading> readings;

  symbolic::Polynomial inItsLetters(const symbolic::Polynomial &p) const;
};

/// Reads a selection file; errors carry `name`.
Result<Selection> parseSelection(const std::string &text,
                                 const std::string &name);
/// The selections that come with act.
const std::vector<Selection> &knownSelections();

/// One figure of one publication, counted in a program.
struct CountedFigure {
  struct Part {
    std::string name, why;
    symbolic::Polynomial bytes;
  };
  PublishedFigure figure;
  symbolic::Polynomial counted; // in the publication's letters, of one layer
  std::vector<Part> parts;      // what counts
  std::vector<Part> omits; // kept by this program, not counted by the figure
  std::vector<Part> adds;  // counted by the figure, not kept by this program
};
struct PaperReport {
  struct Publication {
    Selection selection;
    std::vector<CountedFigure> figures;
  };
  std::vector<Publication> publications;
  /// The same program's report: what it keeps, with letters and their sizes.
  MemoryReport right;
  std::string policy = "none";
  bool omitsKnown = false; // whether what a layer keeps could be compared
};

std::string toText(const PaperReport &report);
std::string toJson(const PaperReport &report);
/// A self-contained page: each figure's parts next to what the program keeps.
std::string toHtml(const PaperReport &report);
/// paper_FILE_FIGURE, paper_FILE_FIGURE_published and layer_saved.
std::string toFormulas(const PaperReport &report);

} // namespace act::report
#endif
