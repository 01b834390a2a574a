// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the CSV format of Csv.h. All errors about a row carry its
// line; the planning itself is elsewhere.
#include "act/Plan/Csv.h"
#include <algorithm>
#include <charconv>

namespace act::plan {
namespace {

enum Column { Id, Lower, Upper, Size, Alignment, Hint, Gaps, Offset, Count };
const char *const columnNames[Count] = {
    "id", "lower", "upper", "size", "alignment", "hint", "gaps", "offset"};

/// Column names of other tools. `end` is upper, but inclusive.
struct Alias {
  const char *name;
  Column column;
};
constexpr Alias aliases[] = {{"buffer", Id},
                             {"buffer_id", Id},
                             {"begin", Lower},
                             {"start", Lower},
                             {"end", Upper}};

Column columnNamed(const std::string &name) {
  for (const Alias &a : aliases)
    if (name == a.name)
      return a.column;
  return Column(std::find(columnNames, columnNames + Count, name) -
                columnNames);
}

/// Splits one line; false if a quote is left open or followed by text.
bool split(std::string_view line, std::vector<std::string> &fields) {
  fields.clear();
  for (size_t at = 0;; ++at) {
    std::string field;
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size())
          return false;
        if (line[at] == '"' && line.substr(at, 2) != "\"\"")
          break;
        at += line[at] == '"';
        field += line[at];
      }
      if (++at < line.size() && line[at] != ',')
        return false;
    } else {
      for (; at < line.size() && line[at] != ','; ++at)
        field += line[at];
    }
    fields.push_back(std::move(field));
    if (at >= line.size())
      return true;
  }
}

/// Writes a line break as a space, because it would end the row.
std::string quoted(std::string s) {
  std::replace_if(
      s.begin(), s.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  if (s.find_first_of(",\"") == std::string::npos)
    return s;
  std::string out = "\"";
  for (char c : s)
    out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

class Reader {
public:
  Reader(std::string_view text, const std::string &name)
      : text(text), name(name) {}
  Result<Problem> read();

private:
  bool nextLine();
  Status header();
  Status row(Problem &problem);
  Status number(Column column, int64_t &value);
  Status gaps(Buffer &buffer);
  Status afterLast(int64_t &value);
  Error error(const std::string &message) const {
    return Error{message, name + ":" + std::to_string(line)};
  }

  std::string_view text;
  std::string name;
  size_t line = 0;
  std::string_view current;
  std::vector<std::string> fields;
  int position[Count] = {-1, -1, -1, -1, -1, -1, -1, -1};
  size_t width = 0;
  bool lastIsInside = false; // lifetimes and gaps are inclusive
};

/// Skips empty lines; accepts \r\n and \n.
bool Reader::nextLine() {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    current = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (!current.empty() && current.back() == '\r')
      current.remove_suffix(1);
    if (!current.empty())
      return true;
  }
  return false;
}

Status Reader::header() {
  if (!nextLine() || !split(current, fields))
    return error("expected a header: id,lower,upper,size");
  for (size_t i = 0; i < fields.size(); ++i) {
    Column column = columnNamed(fields[i]);
    if (column == Count)
      return error("unknown column '" + fields[i] +
                   "', expected id, lower, upper, size, alignment, hint, gaps, "
                   "offset");
    int &where = position[column];
    if (where >= 0)
      return error(fields[i] == fields[size_t(where)]
                       ? "column '" + fields[i] + "' appears twice"
                       : "columns '" + fields[size_t(where)] + "' and '" +
                             fields[i] + "' are the same");
    where = int(i);
    lastIsInside |= fields[i] == "end";
  }
  width = fields.size();
  for (Column c : {Id, Lower, Upper, Size})
    if (position[c] < 0)
      return error(std::string("column '") + columnNames[c] + "' is missing");
  return ok();
}

Status Reader::number(Column column, int64_t &value) {
  const std::string &s = fields[position[column]];
  auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (code != std::errc() || end != s.data() + s.size())
    return error(std::string("expected a 64-bit integer as ") +
                 columnNames[column] + ", found '" + s + "'");
  return ok();
}

/// Makes an inclusive end half-open.
Status Reader::afterLast(int64_t &value) {
  if (lastIsInside && value == INT64_MAX)
    return error("expected an end below 2^63 - 1");
  value += lastIsInside;
  return ok();
}

/// 7-8 9-10@1:17: free from 7 to 8, and from 9 to 10 except bytes [1, 17).
Status Reader::gaps(Buffer &buffer) {
  const std::string &field = fields[position[Gaps]];
  const char *at = field.data(), *end = at + field.size();
  auto whole = [&](int64_t &value) {
    auto [next, code] = std::from_chars(at, end, value);
    at = next;
    return code == std::errc();
  };
  auto sign = [&](char c) { return at != end && *at == c && ++at; };
  for (;;) {
    while (sign(' '))
      ;
    if (at == end)
      return ok();
    Gap gap;
    bool good = whole(gap.first) && sign('-') && whole(gap.last);
    if (good && sign('@'))
      good = whole(gap.low) && sign(':') && whole(gap.high);
    if (!good || (at != end && *at != ' '))
      return error("expected gaps like 7-8 or 9-10@1:17, found '" + field +
                   "'");
    if (Status s = afterLast(gap.last); !s)
      return s;
    buffer.gaps.push_back(gap);
  }
}

/// Checks the buffer as a problem of its own, so that the error names its line.
/// The sum of all sizes is checked at the end.
Status Reader::row(Problem &problem) {
  if (!split(current, fields))
    return error("a quoted field is not closed");
  if (fields.size() != width)
    return error("expected " + std::to_string(width) + " fields, found " +
                 std::to_string(fields.size()));
  Buffer b;
  b.name = fields[position[Id]];
  int64_t offset = 0;
  int64_t *targets[Count] = {nullptr,      &b.first, &b.last, &b.bytes,
                             &b.alignment, &b.hint,  nullptr, &offset};
  for (Column c : {Lower, Upper, Size, Alignment, Hint, Offset}) {
    if (position[c] < 0 || (c > Size && fields[position[c]].empty()))
      continue;
    if (Status s = number(c, *targets[c]); !s)
      return s;
    if (c == Offset)
      b.offset = offset;
  }
  if (Status s = afterLast(b.last); !s)
    return s;
  b.hint = std::max<int64_t>(b.hint, -1);
  if (position[Gaps] >= 0)
    if (Status s = gaps(b); !s)
      return s;
  if (Status s = Problem{{b}}.check(); !s)
    return error(s.error().message);
  problem.buffers.push_back(std::move(b));
  return ok();
}

Result<Problem> Reader::read() {
  Problem problem;
  if (Status s = header(); !s)
    return s.error();
  while (nextLine())
    if (Status s = row(problem); !s)
      return s.error();
  if (Status s = problem.check(); !s)
    return error(s.error().message);
  return problem;
}

} // namespace

Result<Problem> readCsv(std::string_view text, const std::string &name) {
  return Reader(text, name).read();
}

static std::string written(const std::vector<Gap> &gaps) {
  std::string out;
  for (const Gap &g : gaps) {
    out += out.empty() ? "" : " ";
    out += std::to_string(g.first) + "-" + std::to_string(g.last);
    if (g.low < g.high)
      out += "@" + std::to_string(g.low) + ":" + std::to_string(g.high);
  }
  return out;
}

/// A column that no buffer needs is left out, so that files of other tools come
/// back with the columns they had.
std::string writeCsv(const Problem &problem, const Plan *plan) {
  auto any = [&](auto has) {
    return std::any_of(problem.buffers.begin(), problem.buffers.end(), has);
  };
  bool aligned = any([](const Buffer &b) { return b.alignment != 1; });
  bool hinted = any([](const Buffer &b) { return b.hint >= 0; });
  bool gaps = any([](const Buffer &b) { return !b.gaps.empty(); });
  bool fixed = any([](const Buffer &b) { return b.offset.has_value(); });
  std::string out = "id,lower,upper,size";
  out += aligned ? ",alignment" : "";
  out += hinted ? ",hint" : "";
  out += gaps ? ",gaps" : "";
  out += plan || fixed ? ",offset\n" : "\n";
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &b = problem.buffers[i];
    out += quoted(b.name);
    for (int64_t v : {b.first, b.last, b.bytes})
      out += "," + std::to_string(v);
    if (aligned)
      out += "," + std::to_string(b.alignment);
    if (hinted)
      out += "," + std::to_string(b.hint);
    if (gaps)
      out += "," + written(b.gaps);
    if (plan)
      out += "," + std::to_string(plan->offsets[i]);
    else if (fixed)
      out += "," + (b.offset ? std::to_string(*b.offset) : "");
    out += "\n";
  }
  return out;
}

} // namespace act::plan
