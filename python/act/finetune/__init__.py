# SPDX-License-Identifier: Apache-2.0
"""From a folder of a model to a fine-tuned one. The command ``act`` is a thin layer over
this:

>>> from act.finetune import Lora, ModelFolder, Plan, Shape, Trainer
>>> trainer = Trainer(ModelFolder("base"), "chats.jsonl", "run",
...                   shape=Shape(seq=512, lora=Lora(16)),
...                   plan=Plan(epochs=3))  # doctest: +SKIP
>>> trainer.run()                           # doctest: +SKIP

| module | what is in it |
|---|---|
| folder | folders of models and adapters; how they are written so that nothing is lost |
| adapters, merging | LoRA's settings as peft has them; adapters in the base's weights |
| values | tensors of a folder to parameters of a step and back |
| examples, tokens, rows | records, their tokens, rows of packed samples and batches |
| schedule, training | learning rates, the run |
| checkpoints, logs | what a run writes |
| fitting | what fits on a card, and how long it takes |
| cache, generation | keys and values in blocks; answers |
| command | the command line |

Each uses only what is above it. What is a number is computed by compiled steps; what is
text is the work of transformers' tokenizers and templates.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters import Lora
    from .folder import ModelFolder
    from .generation import Generator, Sampling
    from .merging import merge
    from .schedule import Schedule
    from .training import Optimizer, Plan, Shape, Trainer

_WHERE = {"Lora": "adapters", "ModelFolder": "folder", "Generator": "generation",
          "Sampling": "generation", "merge": "merging", "Schedule": "schedule",
          "Optimizer": "training", "Plan": "training", "Shape": "training",
          "Trainer": "training"}
__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    """Modules are imported when they are used first: some need PyTorch."""
    if name not in _WHERE:
        raise AttributeError("module 'act.finetune' has no attribute %r" % name)
    globals()[name] = getattr(importlib.import_module("." + _WHERE[name], __name__), name)
    return globals()[name]
