from ravine.density import ProjectedDensity as ProjectedDensity
from ravine.density import Valley as Valley
from ravine.estimators import HalfTest as HalfTest
from ravine.estimators import MinimumDensityClassifier as MinimumDensityClassifier
from ravine.estimators import MinimumDensityHyperplane as MinimumDensityHyperplane
from ravine.estimators import MinimumDensityTree as MinimumDensityTree
from ravine.estimators import NoSplitWarning as NoSplitWarning
from ravine.estimators import PathSettings as PathSettings
from ravine.estimators import PathStep as PathStep
from ravine.estimators import ScaleWarning as ScaleWarning
from ravine.estimators import ValleyTest as ValleyTest
from ravine.estimators import minimum_density_hyperplane as minimum_density_hyperplane
from ravine.estimators import paper_settings as paper_settings
from ravine.estimators import valley_test as valley_test
from ravine.explain import FeatureTests as FeatureTests
from ravine.explain import compare_clusters as compare_clusters
from ravine.hyperplane import Hyperplane as Hyperplane
from ravine.models import describe_rules as describe_rules
from ravine.models import load as load
from ravine.models import save as save
from ravine.plotting import BoundaryDisplay as BoundaryDisplay
from ravine.plotting import CellDisplay as CellDisplay
from ravine.plotting import DirectionDisplay as DirectionDisplay
from ravine.plotting import HyperplaneDisplay as HyperplaneDisplay
from ravine.plotting import PathDisplay as PathDisplay
from ravine.plotting import TreeDisplay as TreeDisplay
from ravine.rows import ClusterError as ClusterError
from ravine.rows import ClusterRows as ClusterRows
from ravine.rows import RowBlocks as RowBlocks
from ravine.tables import Consensus as Consensus
from ravine.tables import MixedScaler as MixedScaler
from ravine.tables import MultipleImputer as MultipleImputer
from ravine.tables import fit_consensus as fit_consensus
from ravine.tree import Split as Split
from ravine.tree import Tree as Tree

__all__: list[str]
__version__: str
