// SPDX-License-Identifier: Apache-2.0
//
// A file that is written atomically: it appears whole or not at all.
//
//   auto f = AtomicFile::create("weights.safetensors");
//   if (!f) return f.error();
//   if (auto s = f->write(header); !s) return s.error();
//   if (auto s = f->write(data); !s) return s.error();
//   return f->commit();
//
// The bytes go to a temporary file in the same folder. commit() flushes it to
// the disk, renames it over the destination and flushes the folder. With
// Survives::ProcessEnd, for data that is easily made again, it does not flush.
// Without a commit the temporary is removed and the destination is unchanged. A
// process killed at any instant leaves the destination old or new, never in
// between (a stray `.NAME.tmp-…` may stay behind).
//
// An existing destination that is not a regular file (/dev/null, a pipe) cannot
// be replaced; it is written directly.
#ifndef ACT_FILE_ATOMICFILE_H
#define ACT_FILE_ATOMICFILE_H
#include "act/Result.h"
#include <cstddef>
#include <string>
#include <string_view>

namespace act::file {

enum class Survives { ProcessEnd, PowerCut };

class AtomicFile {
public:
  static Result<AtomicFile> create(const std::string &path);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();
  Status write(const void *data, size_t bytes);
  Status write(std::string_view text) {
    return write(text.data(), text.size());
  }
  Status commit(Survives what = Survives::PowerCut);

private:
  AtomicFile() = default;
  std::string path, temporary; // temporary is empty when written directly
  int fd = -1;
};

/// Writes all of `data` to `path`, atomically.
Status writeFile(const std::string &path, const void *data, size_t bytes,
                 Survives what = Survives::PowerCut);
inline Status writeFile(const std::string &path, std::string_view text,
                        Survives what = Survives::PowerCut) {
  return writeFile(path, text.data(), text.size(), what);
}

} // namespace act::file
#endif
