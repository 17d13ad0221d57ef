"""Statements that a study confirms or refutes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["OUTCOMES", "Claim", "list_claims"]

OUTCOMES = {True: "holds", False: "**does not hold**", None: "undecided"}


@dataclass(frozen=True)
class Claim:
    """Statement and whether the results support it.

    Attributes
    ----------
    text : str
    holds : bool or None
        None if the results do not decide it.
    evidence : str
        Numbers behind the decision.
    """

    text: str
    holds: bool | None
    evidence: str = ""


def list_claims(claims: Iterable[Claim]) -> list[str]:
    """Return one Markdown bullet for each claim."""
    return [f"- {'yes' if claim.holds else 'NO'}: {claim.text}" for claim in claims]
