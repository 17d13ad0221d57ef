"""The paper's studies: every table and figure, from the data sets to files one can look at."""

from ravine.experiments.errors import StudyError
from ravine.experiments.margin import run_margin
from ravine.experiments.pictures import draw_alpha, draw_evolution
from ravine.experiments.study import Study, run_semisupervised, run_table2
from ravine.experiments.theory import run_optimisers, run_s1

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
