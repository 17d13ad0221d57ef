"""Studies of the paper: every table and figure, from the data sets to files.

Each study is a package with the same floor plan: ``tasks`` computes, ``report`` writes text, ``figures`` draws, and
``run`` does all of this in one call. ``engine`` holds what they share.
"""

from ravine_paper.studies.clustering.run import run_table2
from ravine_paper.studies.engine.errors import StudyError
from ravine_paper.studies.engine.options import RunOptions
from ravine_paper.studies.engine.study import Study
from ravine_paper.studies.margin.run import run_margin
from ravine_paper.studies.optimisers.run import run_optimisers
from ravine_paper.studies.pursuit.run import draw_alpha, draw_evolution
from ravine_paper.studies.s1.run import run_s1
from ravine_paper.studies.semi_supervised.run import run_semisupervised

__all__ = [
    "RunOptions",
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
