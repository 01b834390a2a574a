// SPDX-License-Identifier: Apache-2.0
//
// Hugging Face's safetensors files.
//
//   [ u64 n, little-endian ][ n bytes of JSON ][ data ............... ]
//   {"__metadata__": {"k": "v"},
//    "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// Offsets count from the start of the data. The reader maps the file and
// believes nothing in the header: it must fit the file, its tensors must tile
// the data without hole or overlap, shape and dtype must give exactly the
// bytes, names must be unique. The writer sorts by name within falling element
// size, pads the header to a multiple of 8 so that the data is aligned, and
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

/// What a header says, checked against `dataBytes`. Tensors are in order of
/// their data.
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
  /// Takes the tensor's pages out of this process; reading them again brings
  /// them back. So a file larger than memory can be read from end to end.
  void forget(const Tensor &t) const {
    mapped.forget(header.dataStart + t.begin, t.end - t.begin);
  }

private:
  File(file::MappedFile mapped, Header header)
      : mapped(std::move(mapped)), header(std::move(header)) {}
  file::MappedFile mapped;
  Header header;
};

/// A tensor to write. Its bytes, as many as dtype and shape say, are at `data`,
/// or are what `fetch` returns, which is called when they are written and whose
/// result is dropped at once: so no more than one tensor is there twice.
struct Source {
  std::string name, dtype;
  std::vector<int64_t> shape;
  const void *data = nullptr;
  std::function<Result<std::vector<uint8_t>>()> fetch = {};
};
/// An error for an unknown dtype or a shape that is none.
Result<uint64_t> byteSize(const Source &tensor);
Status write(const std::string &path, std::vector<Source> tensors,
             const Metadata &metadata = {});

} // namespace act::safetensors
#endif
