"""One self-contained HTML file that explains what was found."""

from ravine.report.write import write_report

__all__ = ["write_report"]
