// SPDX-License-Identifier: Apache-2.0
//
// The header of a safetensors file: JSON with each tensor's type, shape and
// place. All of it is checked, because the data is then used without further
// checks.
#include "act/Safetensors/Safetensors.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

using namespace act;
using namespace act::safetensors;

uint64_t safetensors::elementBytes(const std::string &d) {
  if (d == "F64" || d == "I64" || d == "U64")
    return 8;
  if (d == "F32" || d == "I32" || d == "U32")
    return 4;
  if (d == "F16" || d == "BF16" || d == "I16" || d == "U16")
    return 2;
  if (d == "BOOL" || d == "U8" || d == "I8" || d == "F8_E4M3" || d == "F8_E5M2")
    return 1;
  return 0;
}

namespace {

// Turns the JSON parser's events into tensors directly. A tree of values would
// hide duplicate keys and allow any nesting. Here depth is bounded by the
// format: file, tensor, list.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
public:
  Header header;
  std::string problem;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override {
    return unexpected("a negative number");
  }
  bool number_float(number_float_t, const string_t &text) override {
    return unexpected("the number " + text);
  }
  bool binary(binary_t &) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t v) override {
    if (depth != 3)
      return unexpected("a number");
    if (v > uint64_t{INT64_MAX})
      return fail("tensor '" + current.name + "': " + key_ + " holds " +
                  std::to_string(v) + ", which exceeds 2^63 - 1");
    list.push_back(v);
    // Enough for all lists: there are two offsets, and ranks are small.
    return list.size() <= 64 || fail("tensor '" + current.name + "': " + key_ +
                                     " holds more than 64 numbers");
  }

  bool string(string_t &v) override {
    if (depth != 2)
      return unexpected("a string");
    if (inMetadata) {
      if (!header.metadata.emplace(key_, v).second)
        return fail("__metadata__ has the key '" + key_ + "' twice");
      return true;
    }
    if (key_ != "dtype")
      return unexpected("a string");
    current.dtype = v;
    return once(hasDtype);
  }

  bool start_object(size_t) override {
    if (depth >= 2)
      return unexpected("an object");
    if (++depth == 2) {
      inMetadata = key_ == "__metadata__";
      current = {};
      current.name = key_;
      hasDtype = hasShape = hasOffsets = false;
      if (!names.insert(key_).second)
        return fail("'" + key_ + "' occurs twice");
    }
    return true;
  }

  bool end_object() override {
    if (--depth == 1 && !inMetadata) {
      if (!hasDtype || !hasShape || !hasOffsets)
        return fail("tensor '" + current.name + "' lacks " +
                    (!hasDtype   ? "dtype"
                     : !hasShape ? "shape"
                                 : "data_offsets"));
      header.tensors.push_back(std::move(current));
    }
    return true;
  }

  bool start_array(size_t) override {
    if (depth != 2 || inMetadata || (key_ != "shape" && key_ != "data_offsets"))
      return unexpected("a list");
    depth = 3;
    list.clear();
    return true;
  }

  bool end_array() override {
    depth = 2;
    if (key_ == "shape") {
      current.shape.assign(list.begin(), list.end());
      return once(hasShape);
    }
    if (list.size() != 2)
      return fail("tensor '" + current.name + "': data_offsets holds " +
                  std::to_string(list.size()) + " numbers, expected 2");
    current.begin = list[0];
    current.end = list[1];
    return once(hasOffsets);
  }

  bool key(string_t &k) override {
    key_ = k;
    if (depth == 2 && !inMetadata && k != "dtype" && k != "shape" &&
        k != "data_offsets")
      return fail("tensor '" + current.name + "' has the unknown field '" + k +
                  "'");
    return true;
  }

  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    return fail("the header is not valid JSON at byte " +
                std::to_string(position));
  }

private:
  int depth = 0; // 1 in the file's object, 2 in a tensor's, 3 in a list
  bool inMetadata = false, hasDtype = false, hasShape = false,
       hasOffsets = false;
  std::string key_;
  Tensor current;
  std::vector<uint64_t> list;
  std::set<std::string> names;

  bool fail(const std::string &message) {
    if (problem.empty())
      problem = message;
    return false;
  }
  bool unexpected(const std::string &what) {
    return fail(depth == 0 ? "the header is " + what + ", expected an object"
                           : "the header has " + what + " at '" + key_ + "'");
  }
  bool once(bool &seen) {
    if (seen)
      return fail("tensor '" + current.name + "' has " + key_ + " twice");
    return seen = true;
  }
};

Status checkTensor(const Tensor &t, uint64_t dataBytes) {
  auto fail = [&](const std::string &m) -> Status {
    return Error{"tensor '" + t.name + "' " + m, ""};
  };
  uint64_t bytes = elementBytes(t.dtype);
  if (bytes == 0)
    return fail("has the unknown dtype '" + t.dtype + "'");
  for (int64_t d : t.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes))
      return fail("has a shape whose size overflows");
  if (t.begin > t.end || t.end > dataBytes)
    return fail("has data_offsets [" + std::to_string(t.begin) + ", " +
                std::to_string(t.end) + "] outside the " +
                std::to_string(dataBytes) + " bytes of data");
  if (t.end - t.begin != bytes)
    return fail("has " + std::to_string(t.end - t.begin) +
                " bytes of data, its dtype and shape need " +
                std::to_string(bytes));
  return ok();
}

} // namespace

Result<Header> safetensors::parse(const uint8_t *bytes, size_t size) {
  if (size < 8)
    return Error{"not a safetensors file: " + std::to_string(size) +
                     " bytes, expected at least 8",
                 ""};
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | bytes[i];
  // The reference implementation has the same limit of 100 MB.
  if (length > 100000000 || length > size - 8)
    return Error{"the header claims " + std::to_string(length) +
                     " bytes, the file has " + std::to_string(size - 8) +
                     " after it (at most 100000000 are allowed)",
                 ""};
  auto *text = reinterpret_cast<const char *>(bytes + 8);
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(text, text + length, &reader))
    return Error{reader.problem.empty() ? "the header is not valid JSON"
                                        : reader.problem,
                 ""};
  Header header = std::move(reader.header);
  header.dataStart = 8 + length;
  uint64_t dataBytes = size - header.dataStart;
  for (const Tensor &t : header.tensors)
    if (auto s = checkTensor(t, dataBytes); !s)
      return s.error();
  // In the order of their data, each must begin where the previous one ends.
  // This excludes both gaps and overlaps.
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const Tensor &a, const Tensor &b) {
              return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
            });
  uint64_t at = 0;
  for (const Tensor &t : header.tensors) {
    if (t.begin != at)
      return Error{
          "tensor '" + t.name + "' begins at byte " + std::to_string(t.begin) +
              " of the data, expected " + std::to_string(at) +
              (t.begin < at ? " (it overlaps another)" : " (there is a hole)"),
          ""};
    at = t.end;
  }
  if (at != dataBytes)
    return Error{"the data has " + std::to_string(dataBytes) +
                     " bytes, the tensors cover " + std::to_string(at),
                 ""};
  return header;
}
