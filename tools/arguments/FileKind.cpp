// SPDX-License-Identifier: Apache-2.0
//
// Recognises files by their first bytes, so that a file given to the wrong tool
// gets a message that names the right one.
#include "tools/arguments/FileKind.h"
#include "act/Artifact/Format.h"
#include <cstdint>
#include <filesystem>
#include <initializer_list>

namespace act::tools {
namespace {

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool startsWithAny(std::string_view text,
                   std::initializer_list<std::string_view> prefixes) {
  for (std::string_view prefix : prefixes)
    if (startsWith(text, prefix))
      return true;
  return false;
}

/// Skips blanks and comments. PTX and MLIR share line comments; PTX also has
/// C's block comments.
std::string_view firstWords(std::string_view text) {
  while (true) {
    size_t begin = text.find_first_not_of(" \t\r\n");
    text.remove_prefix(begin == std::string_view::npos ? text.size() : begin);
    size_t end;
    if (startsWith(text, "//"))
      end = text.find('\n');
    else if (startsWith(text, "/*"))
      end = text.find("*/", 2);
    else
      return text;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (startsWith(text, "/") && !startsWith(text, "//") &&
        !startsWith(text, "/*"))
      text.remove_prefix(1);
  }
}

bool isSafetensors(std::string_view bytes) {
  if (bytes.size() < 10 || bytes[8] != '{')
    return false;
  uint64_t header = 0;
  for (int i = 7; i >= 0; --i)
    header = header << 8 | static_cast<uint8_t>(bytes[i]);
  return header < uint64_t(1) << 32;
}

FileKind kindOfJson(std::string_view text) {
  // A prefix is enough: an index may name thousands of tensors, and a config
  // names its model early.
  std::string_view start = text.substr(0, 1 << 16);
  auto has = [&](std::string_view key) {
    return start.find(key) != std::string_view::npos;
  };
  if (has("\"weight_map\""))
    return FileKind::WeightIndex;
  if (has("\"model_type\"") || has("\"architectures\"") ||
      has("\"hidden_size\""))
    return FileKind::Config;
  return FileKind::Json;
}

/// "#map = ..." or "!view = ...", but not a heading or directive.
bool definesAlias(std::string_view text) {
  if (!startsWithAny(text, {"#", "!"}))
    return false;
  std::string_view line = text.substr(0, text.find('\n'));
  size_t end = line.find(' ');
  return end > 1 && end != std::string_view::npos &&
         startsWith(line.substr(end), " = ");
}

std::string moduleNameOf(const std::string &path) {
  std::filesystem::path p(path);
  // Every config has the same file name, so use the folder's.
  if (p.filename() == "config.json" && p.has_parent_path())
    return p.parent_path().filename().string() + ".mlir";
  return p.stem().string() + ".mlir";
}

std::string importFirst(const std::string &config) {
  return "import it first: act-import " + config + " -o " +
         moduleNameOf(config);
}

std::string describe(FileKind kind, FileKind wanted, const std::string &path) {
  switch (kind) {
  case FileKind::Config:
    return "is the config of a model; " + importFirst(path);
  case FileKind::WeightIndex:
    return "is the index of a model's weights, not the model; import the "
           "config.json beside it with act-import";
  case FileKind::Json:
    return wanted == FileKind::Module ? "is JSON, not MLIR" : "is JSON";
  case FileKind::Safetensors:
    return "holds weights (safetensors), not the model; import the model's "
           "config.json with act-import, and name the weights with --init of "
           "act-run";
  case FileKind::Numpy:
    return "is a NumPy array";
  case FileKind::Ptx:
    return "is PTX, which actrt-sim runs: actrt-sim " + path;
  case FileKind::Elf:
    return "is an object file; act runs PTX, artifacts and MLIR";
  case FileKind::Zip:
    return "is a zip archive, such as torch.save writes; act reads weights "
           "from "
           "safetensors, and models from a config.json";
  case FileKind::Gguf:
    return "is a model in GGUF; act reads weights from safetensors, and models "
           "from a config.json";
  case FileKind::Artifact:
    return "is a compiled artifact, which act-run runs: act-run train " + path;
  case FileKind::Module:
    return wanted == FileKind::Ptx ? "is MLIR; act-run kernel compiles and "
                                     "runs it: act-run kernel " +
                                         path
                                   : "is MLIR, so it is imported already";
  case FileKind::Folder:
  case FileKind::Unknown:
    break;
  }
  return "";
}

} // namespace

FileKind kindOf(std::string_view bytes) {
  if (artifact::looksLikeArtifact(bytes.data(), bytes.size()))
    return FileKind::Artifact;
  if (startsWith(bytes, "ML\xefR"))
    return FileKind::Module;
  if (startsWith(bytes, "\x93NUMPY"))
    return FileKind::Numpy;
  if (startsWith(bytes, "\x7f"
                        "ELF"))
    return FileKind::Elf;
  if (startsWith(bytes, "PK\x03\x04"))
    return FileKind::Zip;
  if (startsWith(bytes, "GGUF"))
    return FileKind::Gguf;
  if (isSafetensors(bytes))
    return FileKind::Safetensors;
  std::string_view text = firstWords(bytes);
  if (startsWith(text, "{-#"))
    return FileKind::Module;
  if (startsWith(text, "{"))
    return kindOfJson(text);
  if (startsWithAny(text, {".version", ".target"}))
    return FileKind::Ptx;
  if (definesAlias(text) ||
      startsWithAny(text, {"module", "builtin.module", "func.func",
                           "gpu.module", "act.", "\"builtin.module\""}))
    return FileKind::Module;
  return FileKind::Unknown;
}

std::string ifForeign(const std::string &path, std::string_view bytes,
                      FileKind wanted) {
  FileKind kind = kindOf(bytes);
  // Any JSON passes as a config: its reader reports errors.
  bool isWanted =
      kind == wanted || (wanted == FileKind::Config && kind == FileKind::Json);
  return isWanted ? "" : describe(kind, wanted, path);
}

std::string ifFolder(const std::string &path, FileKind wanted) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    return "";
  std::string config = (std::filesystem::path(path) / "config.json").string();
  if (!std::filesystem::exists(config, ignored))
    return "is a folder";
  return wanted == FileKind::Config
             ? "is a folder; name the config in it: act-import " + config
             : "is a model's folder; " + importFirst(config);
}

} // namespace act::tools
