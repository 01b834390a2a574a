// SPDX-License-Identifier: Apache-2.0
//
// Writes arrays in NumPy's format, version 1.0.
#include "act/File/AtomicFile.h"
#include "act/Npy/Npy.h"

using namespace act;
using namespace act::npy;

Status npy::write(const std::string &path, const std::string &dtype,
                  const std::vector<int64_t> &shape, const void *data) {
  size_t element = elementBytes(dtype);
  if (element == 0)
    return Error{"cannot write elements of type '" + dtype + "'", path};
  uint64_t bytes = element;
  std::string dims;
  for (int64_t d : shape) {
    if (d < 0 ||
        __builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes))
      return Error{"cannot write: the shape is impossible", path};
    dims += std::to_string(d) + ", ";
  }
  if (shape.size() > 1)
    dims.resize(dims.size() - 2);
  else if (shape.size() == 1)
    dims.resize(dims.size() - 1);
  std::string header = std::string("{'descr': '") + (element == 1 ? '|' : '<') +
                       dtype + "', 'fortran_order': False, 'shape': (" + dims +
                       "), }";
  // The data starts at a multiple of 64; 10 bytes precede the header.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  if (header.size() > 65535)
    return Error{"cannot write: the shape has too many dimensions", path};
  std::string start = "\x93NUMPY";
  start += '\1';
  start += '\0';
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);
  auto f = file::AtomicFile::create(path);
  if (!f)
    return f.error();
  if (auto s = f->write(start + header); !s)
    return s;
  if (auto s = f->write(data, bytes); !s)
    return s;
  return f->commit();
}
