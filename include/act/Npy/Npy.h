// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files: one array, C order, little-endian.
//
//   auto tokens = npy::read("tokens.npy"); // dtype "i4", shape {10, 2, 64}
//   npy::write("out.npy", "f4", {2, 3}, data);
//
// Element types: b1 u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8. Fortran order and big
// endian are errors.
#ifndef ACT_NPY_NPY_H
#define ACT_NPY_NPY_H
#include "act/Result.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace act::npy {

struct Array {
  std::string dtype; // without the byte order: "i4"
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
  size_t elements() const;
};

/// Bytes of one element; 0 for an unknown type.
size_t elementBytes(const std::string &dtype);
Result<Array> parse(const uint8_t *bytes, size_t size);
Result<Array> read(const std::string &path);
Status write(const std::string &path, const std::string &dtype,
             const std::vector<int64_t> &shape, const void *data);

/// The elements of an integer or boolean array as 64-bit integers.
Result<std::vector<int64_t>> integers(const Array &array);

} // namespace act::npy
#endif
