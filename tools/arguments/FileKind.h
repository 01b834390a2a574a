// SPDX-License-Identifier: Apache-2.0
//
// Recognises a file's kind by its first bytes, so that a tool given the wrong
// kind can say so, and what to do with the file, instead of a parser's error
// about the first character.
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
  Zip, // from torch.save
  Gguf,
  Folder,
};

FileKind kindOf(std::string_view bytes);

/// Empty if the file is of the kind `wanted` or of no known kind. Otherwise its
/// kind and what to do first, phrased to follow the file's name: "is the config
/// of a model; import it first: act-import x.json -o x.mlir".
std::string ifForeign(const std::string &path, std::string_view bytes,
                      FileKind wanted);

/// The same for a path that is a folder.
std::string ifFolder(const std::string &path, FileKind wanted);

} // namespace act::tools
#endif
