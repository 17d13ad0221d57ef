from ravine.estimators.classifier import MinimumDensityClassifier as MinimumDensityClassifier
from ravine.estimators.functions import make_search_settings as make_search_settings
from ravine.estimators.functions import minimum_density_hyperplane as minimum_density_hyperplane
from ravine.estimators.functions import paper_settings as paper_settings
from ravine.estimators.functions import valley_test as valley_test
from ravine.estimators.hyperplane import MinimumDensityHyperplane as MinimumDensityHyperplane
from ravine.estimators.hyperplane import PathSettings as PathSettings
from ravine.estimators.tree import MinimumDensityTree as MinimumDensityTree
from ravine.hyperplane import NoSplitWarning as NoSplitWarning
from ravine.hyperplane import PathStep as PathStep
from ravine.rows.inputs import validate_array as validate_array
from ravine.rows.scales import ScaleWarning as ScaleWarning
from ravine.validity import HalfTest as HalfTest
from ravine.validity import ValleyTest as ValleyTest

__all__: list[str]
