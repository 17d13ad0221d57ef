"""Bandwidth path as text and as CSV."""

from __future__ import annotations

from ravine_paper.studies.engine.formats import format_csv
from ravine_paper.studies.margin.tasks import N_ANGLES, Convergence

__all__ = ["format_path_csv", "format_summary"]


def format_path_csv(found: Convergence) -> str:
    """Return a CSV file with one line for each bandwidth."""
    header = ("bandwidth", "margin", "degrees_to_maximum_margin", "log_density", "support", "same_partition")
    rows = []
    for step, degrees in zip(found.path.steps, found.degrees, strict=True):
        numbers = (step.bandwidth, step.margin, degrees, step.log_density)
        rows.append([*(f"{x:.6g}" for x in numbers), len(step.support), step.same_partition])
    return format_csv(header, rows)


def format_summary(found: Convergence) -> str:
    """Return the first and the last step of the path in a few lines."""
    steps, limit = found.path.steps, found.limit
    return "\n".join(
        [
            f"rows                      {len(found.X)}",
            f"bandwidths                {steps[0].bandwidth:.3g} to {steps[-1].bandwidth:.3g}",
            f"margin                    {steps[0].margin:.4f} to {steps[-1].margin:.6f}",
            f"maximum margin            {limit.margin_:.6f} (scan over {N_ANGLES} directions: {found.widest:.6f})",
            f"angle between the two     {found.degrees[0]:.2f}° to {found.degrees[-1]:.2g}°",
            f"same partition from h =   {found.path.settled:.3g}",
            f"support points            {len(limit.support_)}",
        ]
    )
