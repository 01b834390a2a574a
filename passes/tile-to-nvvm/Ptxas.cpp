// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/Ptxas.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "passes/tile-to-nvvm/FindPtxas.h"
#include "passes/tile-to-nvvm/PtxCache.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

/// The number before the last occurrence of `word`, or 0.
static int64_t numberBefore(StringRef text, StringRef word) {
  size_t at = text.rfind(word);
  if (at == StringRef::npos)
    return 0;
  StringRef head = text.take_front(at).rtrim();
  size_t digits = head.find_last_not_of("0123456789");
  int64_t value = 0;
  (void)head.substr(digits == StringRef::npos ? 0 : digits + 1)
      .getAsInteger(10, value);
  return value;
}

void tile::readPtxasReport(StringRef text, Cubin &cubin) {
  cubin.registers = numberBefore(text, " registers");
  cubin.stackBytes = numberBefore(text, " bytes stack frame");
  cubin.spillStores = numberBefore(text, " bytes spill stores");
  cubin.spillLoads = numberBefore(text, " bytes spill loads");
  cubin.staticSharedBytes = numberBefore(text, " bytes smem");
  cubin.barriers = numberBefore(text, " barriers");
}

/// The first warning line that means wrong or slow code: C75xx. ptxas succeeds
/// all the same.
static StringRef badWarning(StringRef text) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (line.contains("(C75"))
      return line;
    text = rest;
  }
  return "";
}

/// The key of a cubin; empty, so no cache, if the ptxas cannot be identified.
static std::string keyOf(StringRef ptx, StringRef chip, StringRef program,
                         const PtxCache &cache) {
  std::string ptxas = identityOf(program);
  if (ptxas.empty())
    return "";
  PtxOptions options;
  options.chip = chip.str();
  return cache.key("cubin\n" + ptxas + "\n" + ptx.str(), options);
}

// "registers 40 stack 0 stores 0 loads 0 shared 0 barriers 1", then the code.
static constexpr std::pair<llvm::StringLiteral, int64_t Cubin::*> numbers[] = {
    {"registers", &Cubin::registers},      {"stack", &Cubin::stackBytes},
    {"stores", &Cubin::spillStores},       {"loads", &Cubin::spillLoads},
    {"shared", &Cubin::staticSharedBytes}, {"barriers", &Cubin::barriers}};

static std::string entryOf(const Cubin &cubin) {
  std::string entry;
  for (auto [name, number] : numbers)
    entry += (name + " " + Twine(cubin.*number) + " ").str();
  entry += "\n";
  entry.append(cubin.bytes.begin(), cubin.bytes.end());
  return entry;
}

static std::optional<Cubin> cubinOf(StringRef entry) {
  Cubin cubin;
  auto [line, bytes] = entry.split('\n');
  for (auto [name, number] : numbers)
    if (!line.consume_front(name) || !line.consume_front(" ") ||
        line.consumeInteger(10, cubin.*number) || !line.consume_front(" "))
      return std::nullopt;
  cubin.bytes.assign(bytes.begin(), bytes.end());
  return cubin;
}

/// ptxas reads and writes files: they are in a temporary directory that is
/// always removed.
static FailureOr<Cubin> runPtxas(StringRef program, StringRef ptx,
                                 StringRef chip, Location loc) {
  llvm::SmallString<128> folder;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("act-ptxas", folder))
    return emitError(loc) << "cannot create a temporary directory: "
                          << code.message();
  llvm::scope_exit cleanup([&] { llvm::sys::fs::remove_directories(folder); });
  std::string input = (folder + "/kernel.ptx").str();
  std::string output = (folder + "/kernel.cubin").str();
  std::string log = (folder + "/log").str(), error;
  {
    std::error_code code;
    llvm::raw_fd_ostream file(input, code);
    file << ptx;
    file.close();
    if (code || file.has_error()) {
      file.clear_error();
      return emitError(loc) << "cannot write " << input;
    }
  }
  std::string arch = ("-arch=" + chip).str();
  StringRef argv[] = {program, arch, "-v", input, "-o", output};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(program, argv, std::nullopt, redirects,
                                         0, 0, &error);
  auto messages = llvm::MemoryBuffer::getFile(log);
  StringRef said = messages ? (*messages)->getBuffer() : StringRef(error);
  if (status != 0)
    return emitError(loc) << "ptxas rejects the kernel: " << said.trim();
  if (StringRef line = badWarning(said); !line.empty())
    return emitError(loc) << "ptxas warns: " << line.trim();
  auto file = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return emitError(loc) << "cannot read " << output;
  Cubin cubin;
  cubin.bytes.assign((*file)->getBufferStart(), (*file)->getBufferEnd());
  readPtxasReport(said, cubin);
  return cubin;
}

FailureOr<Cubin> tile::assemble(StringRef ptx, StringRef chip, Location loc,
                                const PtxCache &cache, StringRef ptxas) {
  std::string program = ptxas.str();
  if (program.empty()) {
    auto found = findPtxas();
    if (!found)
      return emitError(loc)
             << "cannot find ptxas, which cubins need, in " << ptxasPlaces;
    program = found->path;
  }
  std::string key = keyOf(ptx, chip, program, cache);
  if (auto entry = cache.findText(key, ".cubin"))
    if (auto cubin = cubinOf(*entry))
      return *cubin;
  auto cubin = runPtxas(program, ptx, chip, loc);
  if (succeeded(cubin))
    cache.storeText(key, entryOf(*cubin), ".cubin");
  return cubin;
}

FailureOr<Cubin> tile::assembleWithFewSpills(std::string &ptx, StringRef chip,
                                             Location loc,
                                             const PtxCache &cache,
                                             StringRef ptxas) {
  FailureOr<Cubin> best = assemble(ptx, chip, loc, cache, ptxas);
  if (failed(best))
    return failure();
  // Larger spills mean that the kernel really needs more registers.
  constexpr int64_t mostByAccident = 128;
  constexpr StringLiteral unlimited = "\n.minnctapersm 1\n";
  size_t at = ptx.find(unlimited);
  if (best->spilled() > mostByAccident || at == std::string::npos)
    return best;
  const std::string first = ptx;
  for (int registers : {248, 246, 250, 240, 232, 252, 243, 234, 229, 254}) {
    if (best->spilled() == 0)
      break;
    std::string limited = first;
    limited.replace(at, unlimited.size(),
                    ("\n.maxnreg " + Twine(registers) + "\n").str());
    FailureOr<Cubin> other = assemble(limited, chip, loc, cache, ptxas);
    if (failed(other))
      return failure();
    if (other->spilled() < best->spilled()) {
      best = std::move(other);
      ptx = std::move(limited);
    }
  }
  return best;
}
