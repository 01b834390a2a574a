// SPDX-License-Identifier: Apache-2.0
//
// Writes to a temporary file in the destination's folder and renames it when
// all is written. A reader sees the old file or the new one, never a part.
#include "act/File/AtomicFile.h"
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace act;
using namespace act::file;

static Error failure(const std::string &what, const std::string &path) {
  return {what + ": " + std::strerror(errno), path};
}

static std::string folderOf(const std::string &path) {
  auto slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Follows a symbolic link first: a rename would replace the link and leave its
// target unchanged.
static std::string resolve(const std::string &path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode))
    return path;
  if (char *real = realpath(path.c_str(), nullptr)) {
    std::string out = real;
    free(real);
    return out;
  }
  return path;
}

// A device or a pipe has no old content to keep and cannot be renamed to, so it
// is written directly.
Result<AtomicFile> AtomicFile::create(const std::string &path) {
  if (path.empty())
    return Error{"the name of the file to write is empty", ""};
  AtomicFile f;
  f.path = resolve(path);
  struct stat info;
  bool exists = stat(f.path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return Error{"cannot write: it is a folder", path};
  if (exists && !S_ISREG(info.st_mode)) {
    f.fd = ::open(f.path.c_str(), O_WRONLY | O_CLOEXEC);
    if (f.fd < 0)
      return failure("cannot write", path);
    return f;
  }
  static std::atomic<unsigned> serial{0};
  auto slash = f.path.rfind('/');
  std::string name =
      slash == std::string::npos ? f.path : f.path.substr(slash + 1);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string candidate = folderOf(f.path) + "/." + name + ".tmp-" +
                            std::to_string(getpid()) + "-" +
                            std::to_string(serial++);
    // An existing destination keeps its permissions; a new one takes the umask.
    f.fd = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  exists ? info.st_mode & 0777 : 0666);
    if (f.fd >= 0) {
      f.temporary = candidate;
      return f;
    }
    if (errno != EEXIST)
      break;
  }
  return failure("cannot write", path);
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      fd(other.fd) {
  other.fd = -1;
  other.temporary.clear();
}

AtomicFile::~AtomicFile() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status AtomicFile::write(const void *data, size_t bytes) {
  auto *p = static_cast<const char *>(data);
  while (bytes > 0) {
    // Linux writes at most 2 GiB at a time.
    ssize_t n = ::write(fd, p, bytes < (1u << 30) ? bytes : (1u << 30));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failure("cannot write", path);
    p += n;
    bytes -= static_cast<size_t>(n);
  }
  return ok();
}

Status AtomicFile::commit(Survives what) {
  if (temporary.empty()) {
    int closed = ::close(fd);
    fd = -1;
    return closed == 0 ? ok() : Status(failure("cannot write", path));
  }
  const bool flushes = what == Survives::PowerCut;
  if (flushes && fsync(fd) != 0)
    return failure("cannot flush", path);
  int closed = ::close(fd);
  fd = -1;
  if (closed != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)
    return failure("cannot write", path);
  temporary.clear();
  if (!flushes)
    return ok();
  // The rename itself must survive a power cut. Some file systems refuse to
  // flush a folder; ignore that, as the file is whole anyway.
  int folder =
      ::open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)fsync(folder);
    ::close(folder);
  }
  return ok();
}

Status act::file::writeFile(const std::string &path, const void *data,
                            size_t bytes, Survives what) {
  auto f = AtomicFile::create(path);
  if (!f)
    return f.error();
  if (auto s = f->write(data, bytes); !s)
    return s;
  return f->commit(what);
}
