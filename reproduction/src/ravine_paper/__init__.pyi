from ravine_paper.direct import solve_directly as solve_directly
from ravine_paper.optimise import GradientCheck as GradientCheck
from ravine_paper.optimise import check_gradient as check_gradient
from ravine_paper.theory import BandwidthPath as BandwidthPath
from ravine_paper.theory import BandwidthStep as BandwidthStep
from ravine_paper.theory import MaximumMarginHyperplane as MaximumMarginHyperplane
from ravine_paper.theory import Stationarity as Stationarity
from ravine_paper.theory import bandwidth_path as bandwidth_path
from ravine_paper.theory import stationarity as stationarity

__all__: list[str]
__version__: str
