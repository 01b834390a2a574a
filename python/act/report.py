# SPDX-License-Identifier: Apache-2.0
"""The memory report as an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Iterator


class Report(Mapping):
    """A report: the fields of its JSON, by key or as attributes.

    Lists and tables inside are plain lists and dicts. ``str(report)`` is a short
    summary.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError("the report has no %r; it has %s" % (
                name, ", ".join(self._fields))) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __str__(self) -> str:
        return "\n".join("%-28s %d" % (key, value) for key, value in self.items()
                         if isinstance(value, int) and key.endswith("bytes"))

    def __repr__(self) -> str:
        return "<act.Report of %s: %s>" % (self._fields.get("model", "a module"), ", ".join(
            "%s %d" % (k, v) for k, v in self.items() if k in (
                "retained_bytes", "peak_bytes", "total_peak_bytes")))
