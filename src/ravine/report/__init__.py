"""Reports: one self-contained HTML file that explains a fitted estimator."""

from ravine.report.suggestion import Suggestion, find_suggestion
from ravine.report.writer import write_report

__all__ = ["Suggestion", "find_suggestion", "write_report"]
