// SPDX-License-Identifier: Apache-2.0
//
// A safetensors file, mapped and with its header checked.
#include "act/Safetensors/Safetensors.h"

using namespace act;
using namespace act::safetensors;

Result<File> File::open(const std::string &path) {
  auto mapped = file::MappedFile::open(path);
  if (!mapped)
    return mapped.error();
  auto header = parse(mapped->data(), mapped->size());
  if (!header)
    return Error{header.error().message, path};
  return File(std::move(*mapped), std::move(*header));
}

const Tensor *File::find(const std::string &name) const {
  for (const Tensor &t : header.tensors)
    if (t.name == name)
      return &t;
  return nullptr;
}
