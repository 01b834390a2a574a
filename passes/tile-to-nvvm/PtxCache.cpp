// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/PtxCache.h"
#include "act/File/AtomicFile.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "passes/tile-to-nvvm/CompileKernels.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>
#include <limits>

using namespace mlir;
using namespace act;
using namespace act::tile;

static constexpr llvm::StringLiteral magic = "act-ptx 4 ";

static std::string digest(StringRef text) {
  auto hash = llvm::BLAKE3::hash(llvm::arrayRefFromStringRef(text));
  return llvm::toHex(hash, /*LowerCase=*/true);
}

/// What stands after the first line of `entry`; nothing if it is damaged.
static std::optional<StringRef> bodyOf(StringRef entry) {
  auto [head, body] = entry.split('\n');
  if (!head.consume_front(magic) || head != digest(body))
    return std::nullopt;
  return body;
}

std::string tile::textForKey(Operation *op) {
  constexpr int64_t all = std::numeric_limits<int64_t>::max();
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags()
                    .useLocalScope()
                    .assumeVerified()
                    .printGenericOpForm(false)
                    .skipRegions(false)
                    .enableDebugInfo(false)
                    .printUniqueSSAIDs(false)
                    .printValueUsers(false)
                    .printNameLocAsPrefix(false)
                    .elideLargeElementsAttrs(all)
                    .elideLargeResourceString(all));
  // An assertion's place is in the message that its PTX prints.
  if (StringRef(text).contains("assert"))
    op->walk([&](Operation *inner) {
      if (isa<AssertOp, cf::AssertOp>(inner))
        os << inner->getLoc();
    });
  return text;
}

/// Which build this is: the file that this function lies in, a plugin or the
/// program itself, whose name may be just what the shell was given.
static std::string buildIdentity() {
  auto *here = reinterpret_cast<void *>(&buildIdentity);
  Dl_info info;
  if (!dladdr(here, &info) || !info.dli_fname)
    return "";
  std::string path = info.dli_fname;
  if (path.find('/') == std::string::npos)
    path = llvm::sys::fs::getMainExecutable(nullptr, here);
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    return "";
  auto time = status.getLastModificationTime().time_since_epoch().count();
  return (Twine(path) + " " + Twine(status.getSize()) + " " +
          Twine(int64_t(time)))
      .str();
}

PtxCache::PtxCache(StringRef given) : folder(given) {
  if (given == "none" || buildIdentity().empty()) {
    folder.clear();
    return;
  }
  if (!folder.empty())
    return;
  llvm::SmallString<128> home;
  if (!llvm::sys::path::cache_directory(home))
    return;
  llvm::sys::path::append(home, "act");
  folder = home.str();
}

std::string PtxCache::file(const std::string &key, StringRef ending) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, key + ending);
  return path.str().str();
}

std::string PtxCache::key(gpu::GPUModuleOp module,
                          const PtxOptions &options) const {
  if (folder.empty())
    return "";
  return key(textForKey(module), options);
}

std::string PtxCache::key(StringRef source, const PtxOptions &options) const {
  if (folder.empty())
    return "";
  static const std::string build = buildIdentity();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << magic << ACT_VERSION << "\n"
     << build << "\n"
     << options.chip << " " << options.registers << "\n"
     << source;
  return digest(text);
}

bool PtxCache::find(const std::string &key, CompiledKernel &kernel) const {
  if (key.empty())
    return false;
  auto buffer = llvm::MemoryBuffer::getFile(file(key, ".ptx"));
  if (!buffer)
    return false;
  auto body = bodyOf((*buffer)->getBuffer());
  if (!body)
    return false;
  auto [numbers, afterNumbers] = body->split('\n');
  auto [schedule, ptx] = afterNumbers.split('\n');
  SmallVector<StringRef> words;
  numbers.split(words, ' ');
  SmallVector<int64_t> values;
  for (StringRef word : words) {
    int64_t value;
    if (!word.getAsInteger(10, value))
      values.push_back(value);
  }
  auto parsed = llvm::json::parse(schedule);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return false;
  }
  if (values.size() != 8)
    return false;
  for (int i = 0; i < 3; ++i) {
    kernel.block[i] = int32_t(values[i]);
    kernel.grid[i] = values[3 + i];
  }
  kernel.sharedBytes = values[6];
  kernel.blockBytes = values[7];
  kernel.about["schedule"] = std::move(*parsed);
  kernel.ptx = ptx.str();
  return true;
}

void PtxCache::store(const std::string &key, const CompiledKernel &k) const {
  if (key.empty())
    return;
  std::string body;
  llvm::raw_string_ostream os(body);
  os << "block " << k.block[0] << " " << k.block[1] << " " << k.block[2]
     << " grid " << k.grid[0] << " " << k.grid[1] << " " << k.grid[2]
     << " shared " << k.sharedBytes << " bytes " << k.blockBytes << "\n";
  const llvm::json::Value *schedule = k.about.get("schedule");
  os << (schedule ? *schedule : llvm::json::Value(llvm::json::Object())) << "\n"
     << k.ptx;
  write(file(key, ".ptx"), body);
}

std::optional<std::string> PtxCache::findText(const std::string &key,
                                              StringRef ending) const {
  if (key.empty())
    return std::nullopt;
  auto buffer = llvm::MemoryBuffer::getFile(file(key, ending));
  if (!buffer)
    return std::nullopt;
  auto body = bodyOf((*buffer)->getBuffer());
  return body ? std::optional(body->str()) : std::nullopt;
}

void PtxCache::storeText(const std::string &key, StringRef text,
                         StringRef ending) const {
  if (!key.empty())
    write(file(key, ending), text);
}

void PtxCache::write(const std::string &file, StringRef body) const {
  if (llvm::sys::fs::create_directories(folder))
    return;
  // The digest tells what a power cut left.
  (void)file::writeFile(file, (magic + digest(body) + "\n" + body).str(),
                        file::Survives::ProcessEnd);
}
