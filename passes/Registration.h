// SPDX-License-Identifier: Apache-2.0
//
// One call each for tools and the plugin.
#ifndef ACT_PASSES_REGISTRATION_H
#define ACT_PASSES_REGISTRATION_H

namespace mlir {
class DialectRegistry;
}
namespace act {
/// Adds act's dialects.
void registerDialects(mlir::DialectRegistry &registry);
/// Registers act's passes by their flags. Once per process.
void registerPasses();
} // namespace act
#endif
