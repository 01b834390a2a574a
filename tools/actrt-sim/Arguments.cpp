// SPDX-License-Identifier: Apache-2.0
//
// The syntax of --arg, --grid and the like.
#include "tools/actrt-sim/Arguments.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

using namespace act;
using namespace act::simtool;
using runtime::TensorMapType;

namespace {

struct TypeName {
  const char *name, *npy;
  int map; // its TensorMapType, or -1
};
/// NumPy lacks bf16 and tf32, which are stored as u2 and f4. Tensor maps lack
/// signed types below 32 bits; they only move the bits, so the unsigned ones
/// serve.
constexpr TypeName types[] = {
    {"f64", "f8", int(TensorMapType::F64)},
    {"f32", "f4", int(TensorMapType::F32)},
    {"f16", "f2", int(TensorMapType::F16)},
    {"bf16", "u2", int(TensorMapType::BF16)},
    {"tf32", "f4", int(TensorMapType::TF32)},
    {"i64", "i8", int(TensorMapType::S64)},
    {"u64", "u8", int(TensorMapType::U64)},
    {"i32", "i4", int(TensorMapType::S32)},
    {"u32", "u4", int(TensorMapType::U32)},
    {"i16", "i2", int(TensorMapType::U16)},
    {"u16", "u2", int(TensorMapType::U16)},
    {"i8", "i1", int(TensorMapType::U8)},
    {"u8", "u1", int(TensorMapType::U8)},
};

Result<TypeName> typeNamed(const std::string &name) {
  std::string all;
  for (const TypeName &t : types) {
    if (name == t.name)
      return t;
    all += std::string(all.empty() ? "" : " ") + t.name;
  }
  return Error{"element type '" + name + "', expected one of " + all, ""};
}

/// strtoull alone would accept a sign and leading spaces, and wrap -1 around.
Result<uint64_t> number(const std::string &text) {
  char *end = nullptr;
  errno = 0;
  uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (text.empty() || text[0] == '-' || isspace((unsigned char)text[0]) ||
      *end || errno)
    return Error{"'" + text + "' is not a number from 0 to 2^64 - 1", ""};
  return value;
}

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == at)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

template <typename T> void store(Argument &a, T value) {
  a.value.resize(sizeof value);
  std::memcpy(a.value.data(), &value, sizeof value);
}

Status parseInteger(Argument &a, const std::string &type,
                    const std::string &text) {
  bool isSigned = type[0] == 'i';
  unsigned bits = type == "i32" || type == "u32" ? 32 : 64;
  char *end = nullptr;
  errno = 0;
  int64_t s = isSigned ? std::strtoll(text.c_str(), &end, 0) : 0;
  uint64_t u = isSigned ? 0 : std::strtoull(text.c_str(), &end, 0);
  bool bad = text.empty() || *end || errno || (!isSigned && text[0] == '-') ||
             (bits == 32 && (s < INT32_MIN || s > INT32_MAX || u > UINT32_MAX));
  if (bad)
    return Error{"'" + text + "' is not a valid " + type, ""};
  uint64_t value = isSigned ? static_cast<uint64_t>(s) : u;
  if (bits == 32)
    store(a, static_cast<uint32_t>(value));
  else
    store(a, value);
  return ok();
}

Status parseFloat(Argument &a, const std::string &type,
                  const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end)
    return Error{"'" + text + "' is not a valid " + type, ""};
  if (type == "f32" && std::isfinite(value) &&
      std::fabs(value) > std::numeric_limits<float>::max())
    return Error{"'" + text + "' is out of range for f32", ""};
  if (type == "f32")
    store(a, static_cast<float>(value));
  else
    store(a, value);
  return ok();
}

// DTYPE[SHAPE]:FILE
Status parseOut(Argument &a, const std::string &text) {
  size_t open = text.find('['), close = text.find("]:");
  if (open == std::string::npos || close == std::string::npos || close < open)
    return Error{"expected out:DTYPE[SHAPE]:FILE", ""};
  auto type = typeNamed(text.substr(0, open));
  if (!type)
    return type.error();
  a.dtype = type->name;
  a.array.dtype = type->npy;
  a.file = text.substr(close + 2);
  uint64_t bytes = npy::elementBytes(a.array.dtype);
  std::string shape = text.substr(open + 1, close - open - 1);
  if (!shape.empty())
    for (const std::string &size : split(shape, ',')) {
      auto n = number(size);
      if (!n)
        return n.error();
      if (__builtin_mul_overflow(bytes, *n, &bytes) || bytes > uint64_t{1}
                                                                   << 40)
        return Error{"the array is larger than 2^40 bytes", ""};
      a.array.shape.push_back(static_cast<int64_t>(*n));
    }
  a.array.bytes.assign(bytes, 0);
  return ok();
}

Result<std::vector<uint32_t>> sizes(const std::string &text) {
  std::vector<uint32_t> out;
  for (const std::string &size : split(text, 'x')) {
    auto n = number(size);
    if (!n)
      return n.error();
    if (*n == 0 || *n > 65536 || out.size() == 5)
      return Error{"'" + text + "', expected up to 5 sizes like 64x128", ""};
    out.push_back(static_cast<uint32_t>(*n));
  }
  return out;
}

// One of the words after the type: box=64x128.
Status parseMapWord(Argument &a, const std::string &word) {
  size_t equals = word.find('=');
  std::string key = word.substr(0, equals),
              value =
                  equals == std::string::npos ? "" : word.substr(equals + 1);
  if (key == "box" || key == "step" || key == "sizes") {
    auto list = sizes(value);
    if (!list)
      return list.error();
    (key == "box" ? a.box : key == "step" ? a.steps : a.sizes) = *list;
    return ok();
  }
  if (key == "strides") {
    for (const std::string &stride : split(value, 'x')) {
      auto n = number(stride);
      if (!n)
        return n.error();
      if (a.strides.size() == 4)
        return Error{"'" + value + "', expected up to 4 strides like 320x64",
                     ""};
      a.strides.push_back(*n);
    }
    return ok();
  }
  if (key == "fill" && (value == "nan" || value == "zero")) {
    a.map.fill = value == "nan";
    return ok();
  }
  struct {
    const char *key;
    uint32_t &field;
    std::vector<std::string> values; // by the field's number
  } fields[] = {{"swizzle", a.map.swizzle, {"0", "32", "64", "128"}},
                {"l2", a.map.l2Promotion, {"0", "64", "128", "256"}},
                {"interleave", a.map.interleave, {"0", "16", "32"}}};
  for (auto &f : fields)
    for (uint32_t i = 0; key == f.key && i < f.values.size(); ++i)
      if (value == f.values[i]) {
        f.field = i;
        return ok();
      }
  return Error{
      "'" + word +
          "', expected box=64x128, sizes=128x160, step=1x1, strides=320, "
          "swizzle=0|32|64|128, fill=zero|nan, interleave=0|16|32 or "
          "l2=0|64|128|256",
      ""};
}

// FILE:DTYPE:words; the file's name may contain colons.
Status parseMap(Argument &a, const std::string &text) {
  std::vector<std::string> parts = split(text, ':');
  size_t words = parts.size();
  while (words > 0 && parts[words - 1].find('=') != std::string::npos)
    --words;
  if (words < 2 || words == parts.size())
    return Error{"expected tma:FILE:DTYPE:box=64x128:swizzle=128", ""};
  auto type = typeNamed(parts[words - 1]);
  if (!type)
    return type.error();
  a.dtype = type->name;
  a.map.type = static_cast<TensorMapType>(type->map);
  a.file = parts[0];
  for (size_t i = 1; i + 1 < words; ++i)
    a.file += ":" + parts[i];
  for (size_t i = words; i < parts.size(); ++i)
    if (auto s = parseMapWord(a, parts[i]); !s)
      return s;
  if (a.box.empty())
    return Error{"the tensor map has no box", ""};
  return ok();
}

Status parse(Argument &a, const std::string &kind, const std::string &rest) {
  if (kind == "in" || kind == "inout") {
    a.kind = kind == "in" ? Argument::In : Argument::InOut;
    a.file = rest;
    return ok();
  }
  if (kind == "out") {
    a.kind = Argument::Out;
    return parseOut(a, rest);
  }
  if (kind == "tma") {
    a.kind = Argument::Map;
    return parseMap(a, rest);
  }
  if (kind == "i32" || kind == "u32" || kind == "i64" || kind == "u64")
    return parseInteger(a, kind, rest);
  if (kind == "f32" || kind == "f64")
    return parseFloat(a, kind, rest);
  if (kind == "ptr") {
    if (rest != "0")
      return Error{"ptr takes only the null pointer, ptr:0", ""};
    return parseInteger(a, "u64", rest);
  }
  return Error{"expected in: inout: out: i32: u32: i64: u64: f32: f64: ptr: or "
               "tma:",
               ""};
}

} // namespace

Result<Argument> simtool::parseArgument(const std::string &text) {
  Argument a;
  a.text = text;
  size_t colon = text.find(':');
  std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  auto s = parse(a, text.substr(0, colon), rest);
  if (s && a.kind != Argument::Scalar && a.file.empty())
    s = Error{"the file has no name", ""};
  if (!s)
    return Error{"--arg " + text + ": " + s.error().message, ""};
  return a;
}

/// The file's canonical name, so that ./ and links compare equal.
static std::string resolved(const std::string &file) {
  std::error_code failed;
  auto path = std::filesystem::absolute(file, failed);
  if (!failed)
    path = std::filesystem::weakly_canonical(path, failed);
  return failed ? file : path.string();
}

Result<std::vector<Argument>>
simtool::parseArguments(const std::vector<std::string> &texts) {
  std::vector<Argument> arguments;
  std::map<std::string, std::string> written;
  for (const std::string &text : texts) {
    auto a = parseArgument(text);
    if (!a)
      return a.error();
    if (a->isWritten()) {
      auto [other, isNew] = written.emplace(resolved(a->file), text);
      if (!isNew)
        return Error{"--arg " + text + ": '" + a->file +
                         "' is also written by --arg " + other->second,
                     ""};
    }
    arguments.push_back(std::move(*a));
  }
  return arguments;
}

Status simtool::parseDimensions(const std::string &what,
                                const std::string &text, uint32_t out[3]) {
  std::vector<std::string> parts = split(text, ',');
  out[0] = out[1] = out[2] = 1;
  for (size_t i = 0; i < parts.size(); ++i) {
    auto n = number(parts[i]);
    if (!n || i > 2 || *n == 0 || *n > INT32_MAX)
      return Error{what + " " + text +
                       ", expected up to three numbers from 1: "
                       "X,Y,Z",
                   ""};
    out[i] = static_cast<uint32_t>(*n);
  }
  return ok();
}
