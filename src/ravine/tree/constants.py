"""Constants of the tree that results depend on.

They were chosen on simulated data (benchmarks/trees.py, benchmarks/shapes.py), never on the labels of a benchmark set.
A graph is that of the nearest neighbours of the rows, or of a random sample; evidence is a z-score for a valley.
"""

# ------------------------------------------------------------------------------- graph of nearest neighbours

# Largest number of rows in the graph: this, or the second for each expected cluster if that is more.
MOST_NEIGHBOUR_ROWS = 3000
ROWS_PER_CLUSTER = 100
# Number of neighbours of a row: half the size of an average cluster, between these.
FEWEST_NEIGHBOURS = 5
MOST_NEIGHBOURS = 40
# Number of neighbours by which two partitions into the same number of clusters are compared.
N_CUT_NEIGHBOURS = 10
# Largest width, in standard deviations of the feature, over which a repeated value is spread before neighbours are
# found. Cells of rare values are wider, and noise of that size would hide the other features.
WIDEST_SPREAD = 6.0
# Largest number of features for which sparse rows are stored as an array.
MOST_DENSE_FEATURES = 1000
# Lower bound on the evidence that divides the normalised cut of a hyperplane.
SMALLEST_EVIDENCE = 0.1

# ------------------------------------------------------------------------------- exploration of nodes without a valley

# Level of tests for which their precision and the thresholds of evidence are set.
USUAL_LEVEL = 0.05
# A node with fewer rows, or a smaller share of all rows, is not explored: it is unlikely to have many clusters.
FEWEST_EXPLORED_ROWS = 40
LEAST_EXPLORED_SHARE = 0.2
# Size of the random sample of a larger node.
MOST_EXPLORED_ROWS = 10_000
# Largest number of leaves of the finer tree, and smallest number of rows per leaf.
MOST_EXPLORED_LEAVES = 10
ROWS_PER_EXPLORED_LEAF = 10
# Share of the level of a node that its parts get. The node itself was tested before.
PART_OF_LEVEL = 0.5
# A split with less evidence on the rows that chose it is not tested: the 95 % quantile of the normal distribution.
LEAST_TESTED_EVIDENCE = 1.64

# ------------------------------------------------------------------------------- clusters above the largest size

# Size of the random sample of a node that gives the principal component along which it is halved.
MOST_HALVED_ROWS = 4000

# ------------------------------------------------------------------------------- refinement

# Ridge of covariance matrices, as a share of the mean variance of the features.
RIDGE = 1e-3
# Smallest number of rows of the graph per feature, and of a leaf per feature if it has a covariance matrix of its own.
ROWS_PER_FEATURE = 2
ROWS_PER_COVARIANCE = 3
# Largest number of leaves that are refined: components are compared in pairs.
MOST_REFINED_LEAVES = 200

# ------------------------------------------------------------------------------- cells

# Largest number of rows in the graph of cells, unless `ROWS_PER_CLUSTER` gives more.
MOST_GRAPH_ROWS = 4000
# Number of neighbours of a row in the graph of cells.
N_CELL_NEIGHBOURS = 10
# Number of rows at which the effective dimension is measured.
ROWS_FOR_DIMENSION = 500
# Strongly correlated features with fewer distinct values than this cannot be spread independently: no cells are cut.
MOST_COARSE_VALUES = 30
# Smallest eigenvalue of correlations below which features count as linearly dependent.
SINGULAR_EIGENVALUE = 1e-8
# Number of cells: one per this number of rows, within the bounds; the upper bound grows with the number of clusters.
ROWS_PER_CELL = 25
FEWEST_CELLS = 8
MOST_CELLS = 50
CELLS_PER_CLUSTER = 3
# Smallest number of rows of a cell, and its smallest share of the node that is cut.
FEWEST_CELL_ROWS = 10
LEAST_CELL_SHARE = 0.15
# Directions of cuts: between the halves of the rows nearer to either of two random rows (number of pairs, and of rows
# that are used), and principal components (number, and largest number of features for which they are computed).
N_PAIRS = 12
ROWS_FOR_DIRECTIONS = 2000
N_COMPONENTS = 3
MOST_FEATURES_FOR_COMPONENTS = 100

# ------------------------------------------------------------------------------- boundaries between groups of cells

# Largest number of steps from a boundary in a graph of the usual size; larger graphs have shorter, hence more, steps.
USUAL_GRAPH_ROWS = 500
MOST_BOUNDARY_STEPS = 4
# The neighbourhood stops growing after this number of steps if both groups have enough rows in it.
FEWEST_BOUNDARY_STEPS = 2
ENOUGH_BOUNDARY_ROWS = 150
# Largest number of rows of both groups that are measured, and smallest number of rows of one group.
MOST_CONTACT_ROWS = 400
FEWEST_CONTACT_ROWS = 10
# Numbers of nearest rows, in one group and in both, that define the coordinate across the boundary.
N_GROUP_NEIGHBOURS = 5
N_MIXED_NEIGHBOURS = 10
# Factors of Silverman's bandwidth: the smaller one shows narrow valleys.
BANDWIDTH_FACTORS = 1.0, 0.6
# Number of points at which the lowest density between two groups is sought.
N_VALLEY_POINTS = 61
# Weight of an edge of which only one end is among the nearest neighbours of the other. A row of a sparse cluster has
# neighbours in a dense one nearby, but rows of the dense one do not have it as a neighbour.
ONE_SIDED_WEIGHT = 0.01

# ------------------------------------------------------------------------------- clusters of joined cells

# Number of sets of cells that are cut at most. Two sets whose clusters agree on this share of the rows are enough, or
# this number of sets with a single cluster.
N_CELL_SETS = 5
SAME_CLUSTERS = 0.95
ENOUGH_SINGLE_CLUSTERS = 3
# Evidence that keeps two groups of cells apart at the usual level. At another level it moves with the normal quantile,
# down to the second number.
SEPARATED = 4.0
LEAST_SEPARATED = 3.0
# Smallest number of rows that are cut into cells if the number of clusters is not given: a sparse curve has gaps.
FEWEST_ROWS_FOR_CELLS = 200
# Smallest number of rows of a cluster in the graph and, given the number of clusters, its smallest share of the size
# of an average cluster.
FEWEST_CLUSTER_ROWS = 10
LEAST_CLUSTER_SHARE = 0.1
# Joined clusters replace convex ones if the evidence for their weakest boundary is larger by the margin, and at least
# the second number.
EVIDENCE_MARGIN = 2.0
LEAST_JOINED_EVIDENCE = 3.0
# Two clusters are not convex if a larger share of their rows is on the wrong side of the hyperplane between them.
CURVED = 0.1
# Without a given number, fewer joined clusters replace more convex ones if the weakest boundary of the convex ones has
# less evidence than the first number, and that of the joined ones more than the second.
IN_DOUBT = 2.0
STRONG = 8.0

# ------------------------------------------------------------------------------- constraints on pairs of rows

# Number of rows without a constraint that keep a hyperplane near the one it replaces, and their total weights, relative
# to the rows with a constraint, that are tried in turn.
MOST_OTHERS = 2000
WEIGHTS_OF_OTHERS = 1.0, 0.01, 0.0
# Smallest share of its relative depth that a hyperplane keeps when it is moved to keep linked rows together; below it,
# leaves are joined instead.
LEAST_KEPT_DEPTH = 0.5
# Largest number of steps of the search for an assignment of groups to a given number of clusters.
MOST_ASSIGNMENT_STEPS = 20_000
# Number of labels of a node, the largest first, for which a hyperplane against all others is tried.
MOST_SEPARATED_LABELS = 8
# Regularisation of the support vector machine that separates constrained rows, weak enough to separate whatever can be
# separated (rows have a largest coordinate of 1), and its largest number of iterations.
SVM_C = 1e4
SVM_ITERATIONS = 100_000

# ------------------------------------------------------------------------------- stability

# Number of random halves, and largest number of rows of one.
N_HALVES = 4
MOST_ROWS_OF_HALF = 2500
# Smallest mean prediction strength at which trees of random halves agree. With 0.8, the bound of Tibshirani & Walther,
# too few clusters are suggested; with 0.6, two clusters are suggested in noise.
STABLE_AGREEMENT = 0.65
# Largest number of clusters that are suggested.
MOST_SUGGESTED = 10
# Smallest number of rows for which halves are compared.
FEWEST_ROWS_FOR_HALVES = 20
