// SPDX-License-Identifier: Apache-2.0
//
// A regular file's bytes, mapped read-only. An empty file has size 0 and a null
// pointer. The mapping lives as long as the object.
#ifndef ACT_FILE_MAPPEDFILE_H
#define ACT_FILE_MAPPEDFILE_H
#include "act/Result.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace act::file {

class MappedFile {
public:
  static Result<MappedFile> open(const std::string &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();
  const uint8_t *data() const { return bytes; }
  size_t size() const { return length; }
  /// Drops the pages that lie within a range from this process; they are read
  /// again when they are touched.
  void forget(size_t first, size_t bytes) const;
  std::string_view text() const {
    return {reinterpret_cast<const char *>(bytes), length};
  }

private:
  MappedFile() = default;
  const uint8_t *bytes = nullptr;
  size_t length = 0;
};

} // namespace act::file
#endif
