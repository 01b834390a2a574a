// SPDX-License-Identifier: Apache-2.0
//
// What a file is, told by its first bytes, and what to do with it: a tool that
// was given a file of another kind than it reads says that in place of a
// parser's error about the first character.
#ifndef ACT_TOOLS_ARGUMENTS_FILEKIND_H
#define ACT_TOOLS_ARGUMENTS_FILEKIND_H
#include <string>
#include <string_view>

namespace act::tools {

enum class FileKind {
  Unknown,
  Module,      // MLIR, as text or bytecode
  Artifact,    // a compiled step
  Config,      // a Hugging Face config.json
  WeightIndex, // a *.safetensors.index.json
  Json,
  Safetensors,
  Numpy,
  Ptx,
  Elf, // an object file, such as a cubin
  Zip, // what torch.save writes
  Gguf,
  Folder,
};

FileKind kindOf(std::string_view bytes);

/// Empty where the file is of the kind `wanted`, or of no known kind. Otherwise
/// what it is and what to do first, to stand behind the file's name: "is the
/// config of a model; import it first: act-import x.json -o x.mlir".
std::string ifForeign(const std::string &path, std::string_view bytes,
                      FileKind wanted);

/// The same for a path that is a folder.
std::string ifFolder(const std::string &path, FileKind wanted);

} // namespace act::tools
#endif
