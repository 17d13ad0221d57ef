"""Report of a run: every finding as a reproducer, and the figures of all inputs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fuzz.judge import DONE, REFUSED, Outcome
from fuzz.plan import TARGETS, Input

__all__ = ["Report"]

KINDS = ("crash", "hang", "memory", "error", "message", "warning", "wrong result", "script")


@dataclass
class Report:
    """Outcomes of a run, counted as they arrive.

    Attributes
    ----------
    counts : Counter
        Number of inputs by target and kind of outcome.
    findings : list of (Input, Outcome)
    slowest, largest : dict of str to float
        The most seconds and megabytes of an input, by target.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[tuple[Input, Outcome]] = field(default_factory=list)
    slowest: Counter[str] = field(default_factory=Counter)
    largest: Counter[str] = field(default_factory=Counter)

    def add(self, given: Input, outcome: Outcome) -> None:
        """Count an outcome; keep it if it is a finding."""
        self.counts[given.target, outcome.kind] += 1
        self.slowest[given.target] = max(self.slowest[given.target], outcome.seconds)  # type: ignore[assignment]
        self.largest[given.target] = max(self.largest[given.target], outcome.megabytes)  # type: ignore[assignment]
        if outcome.is_finding:
            self.findings.append((given, outcome))

    @property
    def n_inputs(self) -> int:
        """Number of inputs so far."""
        return sum(self.counts.values())

    def format_summary(self) -> str:
        """Return a table of the targets as Markdown."""
        lines = ["| target | inputs | fitted or read | refused | findings | slowest | peak memory |"]
        lines.append("|---|---|---|---|---|---|---|")
        for target in TARGETS:
            if any(name == target for name, _ in self.counts):
                found = sum(self.counts[target, kind] for kind in KINDS)
                done, refused = self.counts[target, DONE], self.counts[target, REFUSED]
                lines.append(
                    f"| {target} | {done + refused + found} | {done} | {refused} | {found} "
                    f"| {self.slowest[target]:.1f} s | {self.largest[target]:.0f} MB |"
                )
        total = Counter({kind: sum(n for (_, k), n in self.counts.items() if k == kind) for kind in KINDS})
        shown = ", ".join(f"{kind} {n}" for kind, n in total.items())
        return "\n".join([*lines, "", f"{self.n_inputs} inputs; findings: {shown}"])


def format_finding(seed: int, given: Input, outcome: Outcome) -> str:
    """Return a finding as a script that reproduces it, with its outcome as a comment."""
    title = f"# {outcome.kind}: input {given.number} of seed {seed} ({given.target}), {outcome.seconds:.1f} s"
    detail = "\n".join(f"#   {line}" for line in outcome.detail.strip().splitlines()[-25:])
    return f"{title}, {outcome.megabytes:.0f} MB\n{detail}\n{given.script}"
