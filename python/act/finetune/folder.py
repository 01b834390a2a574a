# SPDX-License-Identifier: Apache-2.0
"""Folders of models and of adapters, as transformers and peft write them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence, Union

from ..errors import InputError
from .adapters import Lora

if TYPE_CHECKING:
    import torch

PathLike = Union[str, "os.PathLike[str]"]

#: What belongs to a tokenizer, and goes along when a folder is written.
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
              "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt",
              "tokenizer.model", "chat_template.jinja", "chat_template.json")
#: Matrices with a row for each token.
_VOCABULARY = ("embed_tokens.weight", "wte.weight", "lm_head.weight")
_SHARD = 5_000_000_000  # bytes: what transformers puts into a file


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("%s: %s" % (path, error.strerror)) from None
    except (ValueError, RecursionError) as error:
        raise InputError("%s: not JSON: %s" % (path, error)) from None
    if not isinstance(found, dict):
        raise InputError("%s: expected a JSON object" % path)
    return found


def _is(path: Path, kind: Callable[[Path], bool]) -> bool:
    """Whether it is one; a name that is too long is of nothing."""
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


class Tensors:
    """The tensors of safetensors files by name. They are read when they are asked for."""

    def __init__(self, folder: Path, stem: str = "model") -> None:
        """The files of a folder: STEM.safetensors, or shards with an index."""
        from safetensors import SafetensorError, safe_open
        self.folder = folder
        index = folder / (stem + ".safetensors.index.json")
        alone = folder / (stem + ".safetensors")
        if index.is_file():
            where = read_json(index).get("weight_map")
            if not isinstance(where, dict) or not all(
                    isinstance(f, str) and os.path.basename(f) == f for f in where.values()):
                raise InputError("%s: 'weight_map' does not name files of this folder" % index)
        elif alone.is_file():
            where = None
        else:
            raise InputError("%s has no %s and no %s%s" % (
                folder, alone.name, index.name, _other_weights(folder)))
        names = sorted(set(where.values())) if where is not None else [alone.name]
        self._files = {}
        for name in names:
            if not _is(folder / name, Path.is_file):
                raise InputError("%s names the shard %s, which is not there" % (
                    index, name[:100]))
            try:
                self._files[name] = safe_open(folder / name, framework="pt")
            except (SafetensorError, OSError) as error:
                raise InputError("%s: %s" % (folder / name, error)) from None
        self._where = {key: name for name, file in self._files.items() for key in file.keys()}
        for key, name in (where or {}).items():
            if self._where.get(key) != name:
                raise InputError("%s: %s is not in %s" % (index, key, name))

    def __contains__(self, name: str) -> bool:
        return name in self._where

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._files[self._where[name]].get_tensor(name)

    def identity(self) -> str:
        """Tells weights apart, by their names, sizes and a sample of their bytes."""
        hashed = hashlib.sha256()
        for name in sorted(self._files):
            size = (self.folder / name).stat().st_size
            hashed.update(("%s %d " % (name, size)).encode())
            with open(self.folder / name, "rb") as file:
                for k in range(64):
                    file.seek(size * k // 64)
                    hashed.update(file.read(4096))
        return hashed.hexdigest()[:16]

    def shape(self, name: str) -> list[int]:
        return list(self._files[self._where[name]].get_slice(name).get_shape())


def _other_weights(folder: Path) -> str:
    """What to do about weights in another format."""
    for name in ("pytorch_model.bin", "pytorch_model.bin.index.json"):
        if (folder / name).is_file():
            return ("; it has %s: save it again with transformers, which writes safetensors"
                    % name)
    if any(folder.glob("*.gguf")):
        return "; GGUF files are not read"
    return ""


class ModelFolder:
    """A folder with a config, weights and a tokenizer; or with an adapter and the
    folder of its base.

    ``base`` is the base of an adapter, where adapter_config.json names none that is
    there.
    """

    def __init__(self, path: PathLike, base: Union[PathLike, None] = None) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise InputError("%s is not a folder%s" % (
                self.path, "" if self.path.exists() else "; models are read from disk, not "
                "from a hub"))
        self.adapter: Union[Lora, None] = None
        self.base = self
        if (self.path / "adapter_config.json").is_file():
            settings = read_json(self.path / "adapter_config.json")
            self.adapter = Lora.from_peft(settings, self.path / "adapter_config.json")
            there = self._base_path(settings, base)
            if (there / "adapter_config.json").is_file():
                raise InputError("%s: its base %s is an adapter too; merge that one first" % (
                    self.path, there))
            self.base = ModelFolder(there)
        elif base is not None:
            raise InputError("%s is no adapter, and so has no base" % self.path)
        elif not (self.path / "config.json").is_file():
            raise InputError("%s has no config.json and no adapter_config.json" % self.path)
        self.config = read_json(self.base.path / "config.json")
        if self.adapter and "vocab_size" in self.config:
            self.config["vocab_size"] = self._vocabulary()

    def _base_path(self, settings: dict[str, Any], given: Union[PathLike, None]) -> Path:
        if given is not None:
            return Path(given)
        named = settings.get("base_model_name_or_path")
        if not isinstance(named, str) or not named:
            raise InputError("%s: adapter_config.json names no base; give it with --base"
                             % self.path)
        for there in (Path(named), self.path / named):
            if _is(there, Path.is_dir):
                return there
        raise InputError("%s: its base %r is not a folder here; give it with --base" % (
            self.path, named[:200]))

    @property
    def tied(self) -> bool:
        """Whether the head is the embedding's matrix."""
        try:
            return "lm_head.weight" not in Tensors(self.base.path)
        except InputError:  # a config alone
            return bool(self.config.get("tie_word_embeddings", False))

    def _vocabulary(self) -> int:
        """Of an adapter whose tokens are more than its base's: it has their rows."""
        tensors = Tensors(self.path, "adapter_model")
        return max([int(self.config["vocab_size"]), *(
            tensors.shape(n)[0] for n in tensors if n.endswith(_VOCABULARY))])

    @property
    def generation(self) -> dict[str, Any]:
        """generation_config.json, or nothing."""
        path = self.base.path / "generation_config.json"
        return read_json(path) if path.is_file() else {}

    def tensors(self) -> Tensors:
        """The weights of the base."""
        return Tensors(self.base.path)

    def adapter_tensors(self) -> Union[Tensors, None]:
        return Tensors(self.path, "adapter_model") if self.adapter else None

    def _tokenizer_folder(self) -> Path:
        """The adapter's, if it has a tokenizer of its own. All files are of one place."""
        for folder in (self.path, self.base.path):
            if any((folder / name).is_file() for name in _TOKENIZER if "chat" not in name):
                return folder
        raise InputError("%s has no tokenizer.json" % self.base.path)

    def tokenizer(self) -> Any:
        """The folder's tokenizer."""
        import transformers
        folder = self._tokenizer_folder()
        try:
            return transformers.AutoTokenizer.from_pretrained(str(folder))
        except Exception as error:  # of any kind: it reads many files
            raise InputError("%s: the tokenizer cannot be read: %s" % (
                folder, error)) from error

    def identity(self) -> str:
        """Tells what a run begins with apart from other weights."""
        adapter = self.adapter_tensors()
        return self.tensors().identity() + (adapter.identity() if adapter else "")

    def write_config(self, folder: Path) -> None:
        """config.json and generation_config.json of the base."""
        write_json(folder / "config.json", self.config)
        if (self.base.path / "generation_config.json").is_file():
            shutil.copyfile(self.base.path / "generation_config.json",
                            folder / "generation_config.json")

    def write_tokenizer(self, folder: Path) -> None:
        """Its files as they are, so that nothing is lost in between."""
        place = self._tokenizer_folder()
        for name in _TOKENIZER:
            if (place / name).is_file():
                shutil.copyfile(place / name, folder / name)


@contextmanager
def written(path: PathLike, replace: bool = False) -> Iterator[Path]:
    """A new folder to fill, which gets the name `path` when it is complete. One that is
    there and not empty is an error, unless act made it and may `replace` it.

    Whoever is killed leaves the old folder, or the new one; under their names or, for
    the moment between two renames, the old one as .NAME.act-old-*, which the next call
    puts back.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_dir():
        raise InputError("%s is a file, expected a folder" % path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in list(path.parent.iterdir()):
        kind = re.fullmatch(r"\.%s\.act-(old|new)-[0-9a-f]{8}" % re.escape(path.name), left.name)
        if kind and kind[1] == "old" and not path.exists():
            left.rename(path)  # a run was killed between the two renames
        elif kind:
            shutil.rmtree(left)
    if not replace and path.exists() and any(path.iterdir()):
        raise InputError("%s is there already and not empty" % path)
    tag = uuid.uuid4().hex[:8]
    new, old = (path.parent / (".%s.act-%s-%s" % (path.name, kind, tag)) for kind in ("new", "old"))
    new.mkdir()
    try:
        yield new
        for file in new.rglob("*"):
            if file.is_file():
                with open(file, "rb") as opened:
                    os.fsync(opened.fileno())
        if path.exists():
            path.rename(old)
            new.rename(path)
            shutil.rmtree(old)
        else:
            new.rename(path)
    finally:
        if new.exists():
            shutil.rmtree(new)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def write_tensors(folder: Path, stem: str, tensors: Mapping[str, torch.Tensor],
                  shard_bytes: int = _SHARD) -> None:
    """STEM.safetensors, or shards with an index if they are larger than `shard_bytes`.
    The tensors of one shard are in memory at a time, where `tensors` makes them."""
    from safetensors.torch import save_file
    shards: list[list[str]] = [[]]
    total = here = 0
    for name in tensors:
        size = tensors[name].nbytes
        if shards[-1] and here + size > shard_bytes:
            shards.append([])
            here = 0
        shards[-1].append(name)
        here += size
        total += size
    where = {}
    for k, names in enumerate(shards):
        file = stem + ".safetensors" if len(shards) == 1 else "%s-%05d-of-%05d.safetensors" % (
            stem, k + 1, len(shards))
        save_file({n: tensors[n].contiguous() for n in names}, folder / file,
                  metadata={"format": "pt"})
        where.update(dict.fromkeys(names, file))
    if len(shards) > 1:
        write_json(folder / (stem + ".safetensors.index.json"),
                   {"metadata": {"total_size": total}, "weight_map": where})


class GrownFolder(ModelFolder):
    """A folder with more tokens than it has on disk: the tokenizer knows them, and their
    rows of embedding and head begin as the mean of the others."""

    def __init__(self, folder: ModelFolder, tokens: Sequence[str]) -> None:
        self.__dict__.update(folder.__dict__)
        if folder.adapter:
            raise InputError("%s is an adapter; tokens are added when it begins" % folder.path)
        self.base = folder
        self.added = list(tokens)
        self._tokenizer = folder.tokenizer()
        known = set(self._tokenizer.get_vocab())
        again = sorted(known & set(tokens))
        if again:
            raise InputError("the tokenizer of %s has %s already" % (
                folder.path, ", ".join(again)))
        self._tokenizer.add_tokens(list(tokens), special_tokens=True)
        old = folder.config.get("vocab_size")
        if not isinstance(old, int):
            raise InputError("%s has no vocab_size" % folder.path)
        # Models have spare rows as a rule.
        self.rows = max(old, len(self._tokenizer))
        self.config = {**folder.config, "vocab_size": self.rows}

    def tokenizer(self) -> Any:
        return self._tokenizer

    def tensors(self) -> Tensors:
        return _Grown(self.base.path, self.rows)

    def write_tokenizer(self, folder: Path) -> None:
        self._tokenizer.save_pretrained(str(folder))


class _Grown(Tensors):
    def __init__(self, folder: Path, rows: int) -> None:
        super().__init__(folder)
        self._rows = rows

    def shape(self, name: str) -> list[int]:
        shape = super().shape(name)
        return [max(self._rows, shape[0]), *shape[1:]] if name.endswith(_VOCABULARY) else shape

    def __getitem__(self, name: str) -> torch.Tensor:
        import torch
        tensor = super().__getitem__(name)
        more = self._rows - len(tensor) if name.endswith(_VOCABULARY) else 0
        if more <= 0:
            return tensor
        mean = tensor.float().mean(0, keepdim=True).to(tensor.dtype)
        return torch.cat([tensor, mean.expand(more, -1)])
