// SPDX-License-Identifier: Apache-2.0
//
// Reads arrays in NumPy's format, versions 1.0 to 3.0. The header is a Python
// dictionary; only its three known keys are accepted.
#include "act/File/MappedFile.h"
#include "act/Npy/Npy.h"
#include <cstring>
#include <string_view>

using namespace act;
using namespace act::npy;

/// Of a type without its byte order, such as "f4"; 0 if it is none of those
/// that are read.
size_t npy::elementBytes(const std::string &d) {
  if (d.size() != 2 || std::string_view("buif").find(d[0]) == std::string::npos)
    return 0;
  switch (d[1]) {
  case '1':
    return d[0] != 'f';
  case '2':
    return d[0] != 'b' ? 2 : 0;
  case '4':
    return d[0] != 'b' ? 4 : 0;
  case '8':
    return d[0] != 'b' ? 8 : 0;
  }
  return 0;
}

size_t Array::elements() const { return bytes.size() / elementBytes(dtype); }

namespace {

/// Reads the header: a Python dictionary with exactly three known keys. No
/// other Python is accepted.
class HeaderReader {
public:
  explicit HeaderReader(std::string_view text) : text(text) {}
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;

  Status run() {
    bool seen[3] = {false, false, false};
    if (!eat('{'))
      return fail("'{'");
    while (!eat('}')) {
      auto key = string();
      if (!key || !eat(':'))
        return fail("a key and ':'");
      int which = *key == "descr"           ? 0
                  : *key == "fortran_order" ? 1
                  : *key == "shape"         ? 2
                                            : -1;
      if (which < 0 || seen[which])
        return Error{
            "the header has the unknown or repeated key '" + *key + "'", ""};
      seen[which] = true;
      Status s = which == 0   ? readDescr()
                 : which == 1 ? readOrder()
                              : readShape();
      if (!s)
        return s;
      if (!eat(',') && peek() != '}')
        return fail("',' or '}'");
    }
    skip();
    if (at != text.size())
      return fail("the end");
    if (!seen[0] || !seen[1] || !seen[2])
      return Error{"the header lacks descr, fortran_order or shape", ""};
    return ok();
  }

private:
  std::string_view text;
  size_t at = 0;

  Error fail(const char *expected) {
    return {std::string("the header is damaged at byte ") + std::to_string(at) +
                ", expected " + expected,
            ""};
  }
  void skip() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
  }
  char peek() {
    skip();
    return at < text.size() ? text[at] : '\0';
  }
  bool eat(char c) {
    if (peek() != c || at >= text.size())
      return false;
    ++at;
    return true;
  }
  Result<std::string> string() {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return fail("a string");
    size_t end = text.find(quote, ++at);
    if (end == std::string_view::npos)
      return fail("a closing quote");
    std::string out(text.substr(at, end - at));
    at = end + 1;
    return out;
  }
  Status readDescr() {
    if (peek() == '[')
      return Error{"a structured array cannot be read, expected plain numbers",
                   ""};
    auto s = string();
    if (!s)
      return s.error();
    descr = *s;
    return ok();
  }
  Status readOrder() {
    skip();
    for (bool value : {true, false}) {
      std::string_view word = value ? "True" : "False";
      if (text.substr(at, word.size()) == word) {
        at += word.size();
        fortran = value;
        return ok();
      }
    }
    return fail("True or False");
  }
  // A Python tuple, which may end in a comma: "()", "(3,)", "(2, 3)".
  Status readShape() {
    if (!eat('('))
      return fail("'('");
    while (!eat(')')) {
      skip();
      size_t begin = at;
      uint64_t v = 0;
      while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        if (__builtin_mul_overflow(v, uint64_t{10}, &v) ||
            __builtin_add_overflow(v, uint64_t(text[at] - '0'), &v) ||
            v > uint64_t{INT64_MAX})
          return Error{"the header's shape holds a number beyond 2^63 - 1", ""};
        ++at;
      }
      if (at == begin)
        return fail("a dimension");
      shape.push_back(static_cast<int64_t>(v));
      if (shape.size() > 64)
        return Error{"the header's shape has more than 64 dimensions", ""};
      if (!eat(',') && peek() != ')')
        return fail("',' or ')'");
    }
    return ok();
  }
};

} // namespace

/// The layout: 6 bytes of magic, 2 of version, the header's length (2 bytes in
/// version 1, 4 in later ones), the header, the data.
Result<Array> npy::parse(const uint8_t *bytes, size_t size) {
  if (size < 10 || std::memcmp(bytes, "\x93NUMPY", 6) != 0)
    return Error{"not a .npy file", ""};
  int version = bytes[6];
  if (version < 1 || version > 3)
    return Error{".npy version " + std::to_string(version) +
                     " is unknown, expected 1, 2 or 3",
                 ""};
  size_t start = version == 1 ? 10 : 12;
  if (size < start)
    return Error{"the file ends within its header", ""};
  uint64_t length = bytes[8] | uint64_t{bytes[9]} << 8;
  if (version > 1)
    length |= uint64_t{bytes[10]} << 16 | uint64_t{bytes[11]} << 24;
  if (length > size - start)
    return Error{"the header claims " + std::to_string(length) +
                     " bytes, the file has " + std::to_string(size - start),
                 ""};
  HeaderReader header({reinterpret_cast<const char *>(bytes + start),
                       static_cast<size_t>(length)});
  if (auto s = header.run(); !s)
    return s.error();

  Array array;
  array.shape = header.shape;
  array.dtype = header.descr.empty() ? "" : header.descr.substr(1);
  size_t element = elementBytes(array.dtype);
  if (element == 0 || header.descr[0] == '>' ||
      std::string_view("<|=").find(header.descr[0]) == std::string::npos)
    return Error{"the element type '" + header.descr +
                     "' cannot be read, expected a little-endian number",
                 ""};
  // With at most one dimension both orders are the same, and NumPy may write
  // either.
  if (header.fortran && array.shape.size() > 1)
    return Error{"the array is in Fortran order, expected C order", ""};
  uint64_t total = element;
  for (int64_t d : array.shape)
    if (__builtin_mul_overflow(total, static_cast<uint64_t>(d), &total))
      return Error{"the header's shape overflows", ""};
  uint64_t present = size - start - length;
  if (present != total)
    return Error{"the file has " + std::to_string(present) +
                     " bytes of data, its shape needs " + std::to_string(total),
                 ""};
  array.bytes.assign(bytes + start + length, bytes + size);
  return array;
}

Result<Array> npy::read(const std::string &path) {
  auto mapped = file::MappedFile::open(path);
  if (!mapped)
    return mapped.error();
  auto array = parse(mapped->data(), mapped->size());
  if (!array)
    return Error{array.error().message, path};
  return array;
}

Result<std::vector<int64_t>> npy::integers(const Array &a) {
  if (a.dtype[0] == 'f')
    return Error{
        "the array holds floats ('" + a.dtype + "'), expected integers", ""};
  size_t width = elementBytes(a.dtype);
  bool isSigned = a.dtype[0] == 'i';
  std::vector<int64_t> out(a.elements());
  for (size_t i = 0; i < out.size(); ++i) {
    uint64_t v = 0;
    std::memcpy(&v, a.bytes.data() + i * width, width);
    if (isSigned && width < 8 && (v >> (8 * width - 1)))
      v |= ~uint64_t{0} << (8 * width);
    if (!isSigned && v > uint64_t{INT64_MAX})
      return Error{"element " + std::to_string(i) + " exceeds 2^63 - 1", ""};
    out[i] = static_cast<int64_t>(v);
  }
  return out;
}
