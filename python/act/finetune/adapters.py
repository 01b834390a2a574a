# SPDX-License-Identifier: Apache-2.0
"""LoRA's settings, and how adapter_config.json of peft says them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError

#: peft's prefix of the names in adapter_model.safetensors.
PREFIX = "base_model.model."
#: Settings of peft that change what is computed, with the values that act computes.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "bias": ("none",), "lora_dropout": (0, 0.0),
    # Others change the base's weights when they begin.
    "init_lora_weights": (True, False, None, "gaussian", "orthogonal"),
    "layers_to_transform": (None,), "layers_pattern": (None,), "rank_pattern": (None, {}),
    "alpha_pattern": (None, {}), "use_dora": (False, None), "lora_bias": (False, None),
    "exclude_modules": (None, []), "megatron_config": (None,), "use_qalora": (False, None),
    "layer_replication": (None,), "trainable_token_indices": (None,),
    "target_parameters": (None, []), "alora_invocation_tokens": (None,)}


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters on a frozen model: W + B A alpha / rank."""

    rank: int = 16
    alpha: float = 32.0
    #: Modules by the end of their name (q_proj), or "all-linear" of the layers.
    targets: tuple[str, ...] = ("all-linear",)
    #: Divide alpha by the root of the rank (rank-stabilised LoRA).
    rslora: bool = False
    #: Modules that train as a whole beside the adapters (lm_head, embed_tokens).
    modules_to_save: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise InputError("LoRA's rank must be at least 1, got %d" % self.rank)
        if not math.isfinite(self.alpha):
            raise InputError("LoRA's alpha must be finite, got %r" % self.alpha)
        if not self.targets:
            raise InputError("LoRA has no target modules")

    @property
    def scale(self) -> float:
        return self.alpha / (math.sqrt(self.rank) if self.rslora else self.rank)

    def import_options(self) -> dict[str, Any]:
        """As the importer has them."""
        return {"lora_rank": self.rank, "lora_alpha": repr(self.scale * self.rank),
                "lora_targets": ",".join(self.targets),
                "train": ",".join(self.modules_to_save) or None}

    @classmethod
    def from_peft(cls, settings: dict[str, Any], path: Path) -> Lora:
        if settings.get("peft_type") != "LORA":
            raise InputError("%s: the peft_type is %r, expected LORA" % (
                path, settings.get("peft_type")))
        for name, plain in _PLAIN.items():
            if name in settings and settings[name] not in plain:
                raise InputError("%s: %s is %r, which act does not compute" % (
                    path, name, settings[name]))
        targets = settings.get("target_modules")
        if targets == "all-linear":
            targets = ["all-linear"]
        if not isinstance(targets, list) or not all(isinstance(t, str) for t in targets):
            raise InputError("%s: target_modules is %r, expected a list of modules" % (
                path, targets))
        saved = settings.get("modules_to_save") or []
        if not isinstance(saved, list) or not all(isinstance(s, str) for s in saved):
            raise InputError("%s: modules_to_save is %r, expected a list of modules" % (
                path, saved))
        try:
            return cls(rank=int(settings["r"]), alpha=float(settings["lora_alpha"]),
                       targets=tuple(sorted(targets)), rslora=bool(settings.get("use_rslora")),
                       modules_to_save=tuple(sorted(saved)))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError("%s: r and lora_alpha must be numbers: %s" % (
                path, error)) from None

    def to_peft(self, base: str, modules: list[str], whole: list[str], transposed: bool,
                tied: bool) -> dict[str, Any]:
        """`modules` are those that have adapters, and `whole` those that train as a whole,
        by names of which peft finds no more: it takes all that end so. They stay tied where
        they are. `transposed` weights are [in, out], as gpt2's."""
        return {"peft_type": "LORA", "task_type": "CAUSAL_LM", "inference_mode": True,
                "base_model_name_or_path": base, "r": self.rank, "lora_alpha": self.alpha,
                "use_rslora": self.rslora, "lora_dropout": 0.0, "bias": "none",
                "fan_in_fan_out": transposed,
                "modules_to_save": whole or None,
                "ensure_weight_tying": tied and bool(whole),
                "target_modules": sorted({m.rsplit(".", 1)[-1] for m in modules})}
