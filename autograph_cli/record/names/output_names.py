"""The variables that outputs were met in."""

from __future__ import annotations

from autograph_cli.engines.protocol import Output, key_of, number_of


class OutputNames(dict[int, dict[int, list[str]]]):
    """The variables of each output, by its event's key and its own number, the first one first."""

    def add(self, output: Output, name: str) -> None:
        """Note a variable of an output."""
        outputs = self.get(key_of(output))
        if outputs is None:
            self[key_of(output)] = {number_of(output): [name]}
        elif name not in (names := outputs.setdefault(number_of(output), [])):
            names.append(name)

    def of(self, output: Output) -> list[str]:
        """Return the variables of an output."""
        return self.get(key_of(output), {}).get(number_of(output), [])

    def copied(self) -> OutputNames:
        """Return a copy that grows by itself."""
        made = OutputNames()
        for key, outputs in self.items():
            made[key] = {nr: list(names) for nr, names in outputs.items()}
        return made
