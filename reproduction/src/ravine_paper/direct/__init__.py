"""The constrained problem in normal and offset together, solved by sequential quadratic programming."""

from ravine_paper.direct.joint import JointDensity
from ravine_paper.direct.solve import make_joint_density, solve_directly

__all__ = ["JointDensity", "make_joint_density", "solve_directly"]
