# SPDX-License-Identifier: Apache-2.0
"""What was measured, as lines of JSON in a file that grows as it goes: a run that is cut
off keeps what it has, and the next one does what is missing.

A line has a unit of work and its state: begun, row (a result), done, failed or skipped."""
import json


class Results:
    def __init__(self, file=None):
        self.file, self.lines = file, []
        if file and file.exists():
            # The last line may be half written.
            for line in file.read_text().splitlines():
                try:
                    self.lines.append(json.loads(line))
                except ValueError:
                    pass

    def add(self, unit, state, **found):
        self.lines.append(dict(unit=unit, state=state, **found))
        if self.file:
            with self.file.open("a") as out:
                out.write(json.dumps(self.lines[-1]) + "\n")

    def of(self, unit, state):
        """Lines since the unit was last begun."""
        own = [l for l in self.lines if l["unit"] == unit]
        begun = max((i for i, l in enumerate(own) if l["state"] == "begun"), default=0)
        return [l for l in own[begun:] if l["state"] == state]

    def settled(self, unit):
        return bool(self.of(unit, "done") or self.of(unit, "failed"))

    def units(self):
        return list(dict.fromkeys(l["unit"] for l in self.lines))

    def begun(self):
        """Units that were begun and not finished."""
        return [u for u in self.units() if self.of(u, "begun") and not self.settled(u) and not self.of(u, "skipped")]

    def take(self, unit):
        """Whether to work on the unit now; begins it."""
        if self.settled(unit):
            return False
        self.add(unit, "begun")
        return True
