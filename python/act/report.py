# SPDX-License-Identifier: Apache-2.0
"""The memory report as an object."""

from collections.abc import Mapping


class Report(Mapping):
    """A report: the fields of its JSON, by key or as attributes.

    Lists and tables inside are plain lists and dicts. ``str(report)`` is a short
    summary.
    """

    def __init__(self, fields):
        self._fields = fields

    def __getitem__(self, key):
        return self._fields[key]

    def __iter__(self):
        return iter(self._fields)

    def __len__(self):
        return len(self._fields)

    def __getattr__(self, name):
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError("the report has no %r; it has %s" % (
                name, ", ".join(self._fields))) from None

    def __dir__(self):
        return [*super().__dir__(), *self._fields]

    def __str__(self):
        return "\n".join("%-28s %d" % (key, value) for key, value in self.items()
                         if isinstance(value, int) and key.endswith("bytes"))

    def __repr__(self):
        return "<act.Report of %s: %s>" % (self._fields.get("model", "a module"), ", ".join(
            "%s %d" % (k, v) for k, v in self.items() if k in (
                "retained_bytes", "peak_bytes", "total_peak_bytes")))
