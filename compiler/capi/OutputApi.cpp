// SPDX-License-Identifier: Apache-2.0
#include "compiler/capi/Objects.h"

using namespace act::capi;

actc_status actc_output_count(actc_output handle, size_t *count) {
  return guarded([&]() -> actc_status {
    auto output = find(handle);
    if (!output)
      return ACTC_INVALID_HANDLE;
    if (!count)
      return invalid("the place for the count is null");
    *count = output->files.size();
    return ACTC_SUCCESS;
  });
}

actc_status actc_output_get(actc_output handle, size_t index, const char **name,
                            const void **data, size_t *size) {
  return guarded([&]() -> actc_status {
    auto output = find(handle);
    if (!output)
      return ACTC_INVALID_HANDLE;
    if (index >= output->files.size())
      return invalid("there is no file " + std::to_string(index) +
                     ": the output has " +
                     std::to_string(output->files.size()));
    auto &[itsName, bytes] = output->files[index];
    if (name)
      *name = itsName.c_str();
    if (data)
      *data = bytes.c_str();
    if (size)
      *size = bytes.size();
    return ACTC_SUCCESS;
  });
}

actc_status actc_output_release(actc_output output) {
  return releaseHandle(Kind::Output, output);
}
