// SPDX-License-Identifier: Apache-2.0
//
// The documentation of act's ops, as the build generates it from the .td files.
#include "tools/act-lsp-server/OpDocs.h"
#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace act::lsp {

static const char pages[] =
#include "act.md.inc"
#include "tile.md.inc"
    ;

// Drops traits, interfaces and the table of attributes: they are for authors of
// passes.
static std::string withoutInternals(StringRef section) {
  std::string out;
  bool keep = true;
  while (!section.empty()) {
    auto [line, rest] = section.split('\n');
    section = rest;
    if (line.starts_with("#### "))
      keep = line == "#### Operands:" || line == "#### Results:";
    else if (line.starts_with("Traits: ") || line.starts_with("Interfaces: ") ||
             line.starts_with("Effects: "))
      continue;
    if (keep)
      out += line.str() + "\n";
  }
  return StringRef(out).trim().str();
}

std::map<std::string, OpDoc> readOpDocs(StringRef page) {
  std::map<std::string, OpDoc> docs;
  const StringRef mark = "\n### `";
  page = page.substr(page.find(mark));
  while (page.consume_front(mark)) {
    auto [heading, rest] = page.split('\n');
    StringRef name = heading.take_until([](char c) { return c == '`'; });
    StringRef section = rest.substr(0, rest.find(mark));
    page = rest.substr(section.size());
    StringRef summary = section.ltrim().split('\n').first;
    OpDoc doc;
    if (summary.size() > 2 && summary.starts_with("_"))
      doc.summary = summary.drop_front().drop_back().str();
    doc.text = "**`" + name.str() + "`** " + withoutInternals(section);
    docs[name.str()] = std::move(doc);
  }
  return docs;
}

const std::map<std::string, OpDoc> &opDocs() {
  static const std::map<std::string, OpDoc> docs = readOpDocs(pages);
  return docs;
}

} // namespace act::lsp
