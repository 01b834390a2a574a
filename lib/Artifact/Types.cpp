// SPDX-License-Identifier: Apache-2.0
//
// Element types and sizes of tensors in an artifact.
#include "act/Artifact/Types.h"
#include "act/Nf4/Nf4.h"

using namespace act;
using namespace act::artifact;

const char *artifact::dtypeName(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return "f64";
  case DType::F32:
    return "f32";
  case DType::BF16:
    return "bf16";
  case DType::F16:
    return "f16";
  case DType::F8E4M3FN:
    return "f8E4M3FN";
  case DType::I1:
    return "i1";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::NF4:
    return "nf4";
  case DType::NF4Nested:
    return "nf4-nested";
  case DType::U8:
    return "u8";
  }
  return "?";
}

uint64_t artifact::elementBytes(DType dtype) {
  switch (dtype) {
  case DType::F64:
  case DType::I64:
    return 8;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::F8E4M3FN:
  case DType::I1:
  case DType::U8:
    return 1;
  case DType::NF4:
  case DType::NF4Nested:
    return 0;
  }
  return 0;
}

bool artifact::isFloat(DType dtype) { return dtype <= DType::F8E4M3FN; }

bool artifact::isNf4(DType dtype) {
  return dtype == DType::NF4 || dtype == DType::NF4Nested;
}

std::string artifact::typeName(const TensorType &type) {
  std::string out = dtypeName(type.dtype);
  out += '[';
  for (size_t i = 0; i < type.shape.size(); ++i)
    out += (i ? "," : "") + std::to_string(type.shape[i]);
  return out + ']';
}

Result<uint64_t> artifact::elementCount(const TensorType &type) {
  uint64_t n = 1;
  bool empty = false;
  for (int64_t d : type.shape) {
    if (d < 0)
      return Error{typeName(type) + " has a negative dimension", ""};
    // A zero extent must not hide an overflow of the others.
    uint64_t factor = d == 0 ? (empty = true, 1) : static_cast<uint64_t>(d);
    if (__builtin_mul_overflow(n, factor, &n) || n > maxBytes)
      return Error{typeName(type) + " has more than 2^48 elements", ""};
  }
  return empty ? 0 : n;
}

Result<uint64_t> artifact::byteSize(const TensorType &type) {
  auto n = elementCount(type);
  if (!n)
    return n;
  if (isNf4(type.dtype)) {
    if (type.blockSize <= 0)
      return Error{typeName(type) + " has a block size of " +
                       std::to_string(type.blockSize) + ", expected at least 1",
                   ""};
    // At most 2^48 elements, so that nothing overflows.
    nf4::Layout layout(static_cast<int64_t>(*n), type.blockSize,
                       type.dtype == DType::NF4Nested);
    return static_cast<uint64_t>(layout.bytes);
  }
  uint64_t bytes = *n * elementBytes(type.dtype); // at most 2^51
  if (bytes > maxBytes)
    return Error{typeName(type) + " takes more than 2^48 bytes", ""};
  return bytes;
}
