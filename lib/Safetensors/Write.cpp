// SPDX-License-Identifier: Apache-2.0
//
// Writes a safetensors file. Tensors that are fetched one by one need no memory
// for all of them.
#include "act/File/AtomicFile.h"
#include "act/Safetensors/Safetensors.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace act;
using namespace act::safetensors;

Result<uint64_t> safetensors::byteSize(const Source &t) {
  uint64_t bytes = elementBytes(t.dtype);
  if (bytes == 0)
    return Error{
        "tensor '" + t.name + "' has the unknown dtype '" + t.dtype + "'", ""};
  for (int64_t d : t.shape)
    if (d < 0 ||
        __builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes))
      return Error{"tensor '" + t.name + "' has an impossible shape", ""};
  return bytes;
}

static Status writeTensor(file::AtomicFile &f, const Source &t,
                          uint64_t bytes) {
  if (!t.fetch)
    return f.write(t.data, bytes);
  auto fetched = t.fetch();
  if (!fetched)
    return fetched.error();
  if (fetched->size() != bytes)
    return Error{"tensor '" + t.name + "' came with " +
                     std::to_string(fetched->size()) + " bytes, expected " +
                     std::to_string(bytes),
                 ""};
  return f.write(fetched->data(), bytes);
}

Status safetensors::write(const std::string &path, std::vector<Source> tensors,
                          const Metadata &metadata) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Source &a, const Source &b) {
              uint64_t x = elementBytes(a.dtype), y = elementBytes(b.dtype);
              return x != y ? x > y : a.name < b.name;
            });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  std::vector<uint64_t> sizes;
  uint64_t at = 0;
  for (const Source &t : tensors) {
    auto bytes = byteSize(t);
    if (!bytes)
      return Error{bytes.error().message, path};
    nlohmann::ordered_json entry;
    entry["dtype"] = t.dtype;
    entry["shape"] = t.shape;
    entry["data_offsets"] = {at, at + *bytes};
    header.emplace(t.name, std::move(entry));
    sizes.push_back(*bytes);
    at += *bytes;
  }
  if (header.size() != tensors.size() + (metadata.empty() ? 0 : 1))
    return Error{"two tensors have the same name", path};
  // Bytes that are not UTF-8 are replaced; by default dump() would throw.
  std::string text = header.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint8_t length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<uint8_t>(uint64_t{text.size()} >> (8 * i));

  auto f = file::AtomicFile::create(path);
  if (!f)
    return f.error();
  if (auto s = f->write(length, 8); !s)
    return s;
  if (auto s = f->write(text); !s)
    return s;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (auto s = writeTensor(*f, tensors[i], sizes[i]); !s)
      return s;
  return f->commit();
}
