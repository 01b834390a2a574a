// SPDX-License-Identifier: Apache-2.0
//
// The version that act's dialects write into bytecode.
//
// `major` is raised when bytecode of before would be misread, `minor` when ops
// or attributes are added. A reader takes its own major version and older ones,
// which upgradeFromVersion changes into the present form; of a newer one it
// says so, before an unknown op is an obscure error.
#ifndef ACT_DIALECTS_BYTECODEVERSION_H
#define ACT_DIALECTS_BYTECODEVERSION_H
#include "mlir/Bytecode/BytecodeImplementation.h"

namespace act {

struct BytecodeVersion : mlir::DialectVersion {
  BytecodeVersion(uint64_t major, uint64_t minor)
      : major(major), minor(minor) {}
  uint64_t major, minor;
};

inline constexpr uint64_t bytecodeMajor = 1, bytecodeMinor = 0;

struct VersionedBytecode : mlir::BytecodeDialectInterface {
  VersionedBytecode(mlir::Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(mlir::DialectBytecodeWriter &writer) const override {
    BytecodeVersion version(bytecodeMajor, bytecodeMinor);
    // A caller may ask for another one.
    if (auto asked = writer.getDialectVersion(getDialect()->getNamespace());
        mlir::succeeded(asked))
      version = static_cast<const BytecodeVersion &>(**asked);
    writer.writeVarInt(version.major);
    writer.writeVarInt(version.minor);
  }

  std::unique_ptr<mlir::DialectVersion>
  readVersion(mlir::DialectBytecodeReader &reader) const override {
    uint64_t major, minor;
    if (failed(reader.readVarInt(major)) || failed(reader.readVarInt(minor)))
      return nullptr;
    if (major > bytecodeMajor) {
      reader.emitError() << "the bytecode has version " << major << "." << minor
                         << " of dialect " << getDialect()->getNamespace()
                         << "; this act reads versions up to " << bytecodeMajor;
      return nullptr;
    }
    return std::make_unique<BytecodeVersion>(major, minor);
  }
};

} // namespace act
#endif
