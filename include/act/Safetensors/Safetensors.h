// SPDX-License-Identifier: Apache-2.0
//
// Hugging Face's safetensors files.
//
//   [ u64 n, little-endian ][ n bytes of JSON ][ data ............... ]
//   {"__metadata__": {"k": "v"},
//    "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// Offsets count from the start of the data. The reader maps the file and does
// not trust the header: it must fit the file, its tensors must tile the data
// without gaps or overlap, shape and dtype must match the bytes exactly, and
// names must be unique. The writer sorts by descending element size, then by
// name, pads the header to a multiple of 8 so that the data is aligned, and
// replaces the file atomically.
#ifndef ACT_SAFETENSORS_SAFETENSORS_H
#define ACT_SAFETENSORS_SAFETENSORS_H
#include "act/File/MappedFile.h"
#include "act/Result.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace act::safetensors {

using Metadata = std::map<std::string, std::string>;

struct Tensor {
  std::string name;
  std::string dtype; // F64 F32 BF16 F16 F8_E4M3 I64 I32 U8 BOOL ...
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0; // within the data
};

/// A checked header. Tensors are in the order of their data.
struct Header {
  std::vector<Tensor> tensors;
  Metadata metadata;
  uint64_t dataStart = 0; // from the start of the file
};

/// Bytes of one element; 0 for an unknown dtype.
uint64_t elementBytes(const std::string &dtype);
/// Reads the header of a whole file's bytes.
Result<Header> parse(const uint8_t *bytes, size_t size);

class File {
public:
  static Result<File> open(const std::string &path);
  const std::vector<Tensor> &tensors() const { return header.tensors; }
  const Metadata &metadata() const { return header.metadata; }
  const Tensor *find(const std::string &name) const;
  /// Not necessarily aligned for the element type.
  const uint8_t *data(const Tensor &t) const {
    return mapped.data() + header.dataStart + t.begin;
  }
  /// Drops the tensor's pages from this process; reading them again loads them
  /// again. So a file larger than memory can be read from end to end.
  void forget(const Tensor &t) const {
    mapped.forget(header.dataStart + t.begin, t.end - t.begin);
  }

private:
  File(file::MappedFile mapped, Header header)
      : mapped(std::move(mapped)), header(std::move(header)) {}
  file::MappedFile mapped;
  Header header;
};

/// A tensor to write. Its bytes are at `data` or come from `fetch`; their
/// number must match dtype and shape. `fetch` is called when the tensor is
/// written and its result is dropped at once, so at most one tensor is in
/// memory twice.
struct Source {
  std::string name, dtype;
  std::vector<int64_t> shape;
  const void *data = nullptr;
  std::function<Result<std::vector<uint8_t>>()> fetch = {};
};
/// Fails for an unknown dtype or an impossible shape.
Result<uint64_t> byteSize(const Source &tensor);
Status write(const std::string &path, std::vector<Source> tensors,
             const Metadata &metadata = {});

} // namespace act::safetensors
#endif
