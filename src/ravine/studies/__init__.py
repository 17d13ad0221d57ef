"""The paper's studies: every table and figure, from the data sets to files one can look at."""

from ravine.studies.errors import StudyError
from ravine.studies.margin import run_margin
from ravine.studies.pictures import draw_alpha, draw_evolution
from ravine.studies.study import Study, run_semisupervised, run_table2
from ravine.studies.theory import run_optimisers, run_s1

__all__ = [
    "Study",
    "StudyError",
    "draw_alpha",
    "draw_evolution",
    "run_margin",
    "run_optimisers",
    "run_s1",
    "run_semisupervised",
    "run_table2",
]
