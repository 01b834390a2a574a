# SPDX-License-Identifier: Apache-2.0
"""The exceptions of act. All of them are :class:`Error`."""


from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Iterable

if TYPE_CHECKING:
    from ._act import Diagnostic


class Error(Exception):
    """Something that act refused, or that failed."""


def whole(what: str, value: Any, least: int = 0, most: int = (1 << 32) - 1) -> int:
    """An integer from least to most, or a DeviceError that says what it is."""
    try:
        number = operator.index(value)
    except TypeError:
        raise DeviceError("%s: expected an integer, got %r" % (what, value)) from None
    if number < least or number > most:
        raise DeviceError("%s: expected at %s %d, got %d" % (
            what, *(("least", least) if number < least else ("most", most)), number))
    return number


class CompileError(Error):
    """The compiler refused a module or what was asked of it.

    ``diagnostics`` are all its messages with their places, in order.
    """

    def __init__(self, message: str, diagnostics: Iterable[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = list(diagnostics)

    def __str__(self) -> str:
        notes = [str(d) for d in self.diagnostics if d.severity in ("error", "note")]
        return "\n".join(notes) if notes else super().__str__()


class DeviceError(Error):
    """A device, a kernel or a step failed, or was given what it does not take."""


class InputError(Error):
    """A folder, a file or an option cannot be used, or they contradict each other."""


class Finding(DeviceError):
    """The simulator found an error in a kernel: a race, an access out of bounds, ...

    ``findings`` has a text for each.
    """

    def __init__(self, message: str, findings: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.findings = list(findings)
