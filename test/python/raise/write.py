# SPDX-License-Identifier: Apache-2.0
"""Writes models as others' importers do.

  write.py torch-mlir|jax FOLDER [--layers N] [NAME.FORM...]

Of torch-mlir: NAME.linalg, NAME.tosa, NAME.stablehlo and NAME.torch. Of JAX:
NAME.jax.stablehlo. They
are losses; NAME-infer is the model alone. Without names, all of them."""
import argparse
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_models as models  # noqa: E402

FORMS = {"torch-mlir": {"linalg": "linalg-on-tensors", "tosa": "tosa", "stablehlo": "stablehlo",
                        "torch": "torch"},
         "jax": {"jax.stablehlo": "stablehlo"}}


def by_torch_mlir(program, name, form):
    from torch_mlir import fx
    module = fx.export_and_import(program, *program.inputs, *program.parameters_, func_name="forward",
                                  output_type=FORMS["torch-mlir"][form])
    # MLIR alone has neither StableHLO nor torch, but their generic form.
    return module.operation.get_asm(print_generic_op_form=form in ("stablehlo", "torch"))


def by_jax(program, name, form):
    import jax
    import jax_models

    def like(array):
        return jax.ShapeDtypeStruct(tuple(array.shape), "int32" if array.dtype == torch.int32 else "float32")

    arguments = [like(models.input_for_jax(a)) for a in program.inputs]
    arguments += [like(program.for_jax(i, p)) for i, p in enumerate(program.parameters_)]
    lowered = jax.jit(jax_models.program(name, program.trains), keep_unused=True).lower(*arguments)
    return lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("importer", choices=FORMS)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    models.LAYERS = options.layers
    names = list(models.MODELS)
    if options.importer == "jax":
        import jax_models
        names = list(jax_models.MODELS)
    every = [f"{name}{infer}.{form}" for name in names for infer in ("", "-infer")
             for form in FORMS[options.importer]]
    for file in options.names or every:
        name, form = file.split(".", 1)
        program = models.Program(name.removesuffix("-infer"), not name.endswith("-infer"))
        write = by_jax if options.importer == "jax" else by_torch_mlir
        (options.folder / file).write_text(write(program, name.removesuffix("-infer"), form))


if __name__ == "__main__":
    main()
