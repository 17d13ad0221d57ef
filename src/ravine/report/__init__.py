"""Reports: one self-contained HTML file that explains a fitted estimator."""

from ravine.report.writer import write_report

__all__ = ["write_report"]
