// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_LIB_ARTIFACT_VALIDATEIMAGES_H
#define ACT_LIB_ARTIFACT_VALIDATEIMAGES_H
#include "act/Artifact/Step.h"
#include "act/Result.h"

namespace act::artifact {
/// Fails unless each kernel's image lies in Step::images, behind those of the
/// kernels before it, and is a GPU's ELF whose tables, sections and segments lie in
/// the image. Only a step for cuda that also has PTX may have images.
Status validateImages(const Step &step);
} // namespace act::artifact
#endif
