// SPDX-License-Identifier: Apache-2.0
//
// Files as memory. Pages are read when they are touched, so a large file costs
// what is used of it.
#include "act/File/MappedFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace act;
using namespace act::file;

Result<MappedFile> MappedFile::open(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return Error{std::string("cannot read: ") + std::strerror(errno), path};
  struct stat info;
  MappedFile f;
  Status status = ok();
  if (fstat(fd, &info) != 0) {
    status = Error{std::string("cannot read: ") + std::strerror(errno), path};
  } else if (!S_ISREG(info.st_mode)) {
    status = Error{"cannot read: it is not a regular file", path};
  } else if (info.st_size > 0) {
    f.length = static_cast<size_t>(info.st_size);
    void *p = mmap(nullptr, f.length, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
      f.length = 0;
      status = Error{std::string("cannot map: ") + std::strerror(errno), path};
    } else {
      f.bytes = static_cast<const uint8_t *>(p);
    }
  }
  ::close(fd);
  if (!status)
    return status.error();
  return f;
}

/// Gives back only pages that lie in the range as a whole: the others may still
/// be read.
void MappedFile::forget(size_t first, size_t size) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t begin = (first + page - 1) / page * page;
  size_t end = (first + size) / page * page;
  if (bytes && begin < end && end <= length + page)
    madvise(const_cast<uint8_t *>(bytes) + begin, end - begin, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : bytes(other.bytes), length(other.length) {
  other.bytes = nullptr;
  other.length = 0;
}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(length, other.length);
  return *this;
}

MappedFile::~MappedFile() {
  if (bytes)
    munmap(const_cast<uint8_t *>(bytes), length);
}
