"""Constants of the tree that results depend on.

They were chosen on simulated data and the development tables (benchmarks/trees.py), never on labels of a benchmark set.
Evidence is a z-score for a valley.
"""

# ------------------------------------------------------------------------------- graph

# Largest number of rows in the graph: this, or the second for each expected cluster if that is more.
MOST_GRAPH_ROWS = 4000
ROWS_PER_CLUSTER = 100
# Weight of an edge of which only one end is among the nearest neighbours of the other. A row of a sparse cluster has
# neighbours in a dense one nearby, but rows of the dense one do not have it as a neighbour.
ONE_SIDED_WEIGHT = 0.01

# ------------------------------------------------------------------------------- proposals

# Number of seeds of k-means, and largest number of its steps.
N_SEEDS = 3
MEANS_STEPS = 20
# Largest number of steps of a mixture, and the change of the mean log-likelihood at which it ends before.
MIXTURE_STEPS = 10
MIXTURE_TOLERANCE = 1e-4
# Ridge of covariance matrices, as a share of the mean variance of the features.
RIDGE = 1e-3
# Smallest number of rows per feature of a component with a covariance matrix of its own.
ROWS_PER_COVARIANCE = 3
# Tolerance and largest number of steps for eigenvectors. Those of a small graph, with at most this number of rows, are
# exact.
EIGEN_TOLERANCE = 1e-3
EIGEN_STEPS = 20
FEW_GRAPH_ROWS = 300

# ------------------------------------------------------------------------------- cells

# Number of sets of cells, which depend on random directions.
N_CELL_SETS = 3
# Number of cells: one per this number of rows, within the bounds; the upper bound grows with the number of clusters.
ROWS_PER_CELL = 25
FEWEST_CELLS = 8
MOST_CELLS = 50
CELLS_PER_CLUSTER = 3
# Smallest number of rows of a cell.
FEWEST_CELL_ROWS = 10
# Directions of cuts: between the halves of the rows nearer to either of two random rows (number of pairs, and of rows
# that are used), and principal components (number).
N_PAIRS = 12
ROWS_FOR_DIRECTIONS = 2000
N_COMPONENTS = 3
# Evidence that keeps two groups of cells apart.
SEPARATED = 4.0

# ------------------------------------------------------------------------------- choice

# Added to the normalised cut, so that a cut of nearly no edges does not outweigh all other proposals.
LEAST_CUT = 0.05
# Factor of the weight of joined cells if valleys separate all of them.
CLEAR = 8.0
# Groups of cells smaller than this share of an average cluster are joined first, and clusters smaller than this do not
# count in the choice of a number.
LEAST_CLUSTER_SHARE = 0.1
# Two clusters are not convex if a larger share of their rows is on the wrong side of the hyperplane between them.
CURVED = 0.1
# Neighbours of a cluster are close if they have at least this share of the edges of the closest one.
CLOSE_SHARE = 0.25
# Largest P of a valley between clusters that are suggested.
SUPPORTED = 0.1
# Largest number of clusters that are found so, and the number of failures in a row after which the search ends.
MOST_CLUSTERS = 20
PATIENCE = 4

# Number of clusters of the tree whose nodes are tested if all rows together show none, and smallest number of rows per
# cluster.
MOST_PARTS = 8
ROWS_PER_PART = 25

# ------------------------------------------------------------------------------- hyperplanes

# A node is split as long as two clusters have at least this share of their rows in it, and this number of rows.
LEAST_PART_OF_CLUSTER = 0.1
FEWEST_PART_ROWS = 3
# Largest number of splits per cluster: one cluster inside another is cut off in several pieces.
LEAVES_PER_CLUSTER = 5
# Share of the rows that may be on the wrong side of a hyperplane, more than necessary, so that its density is lower.
TOLERATED = 0.01

# ------------------------------------------------------------------------------- sizes

# Size of the random sample of a node that gives the principal component along which it is halved.
MOST_HALVED_ROWS = 4000

# ------------------------------------------------------------------------------- constraints on pairs of rows

# Largest number of steps of the search for an assignment of groups to a given number of clusters.
MOST_ASSIGNMENT_STEPS = 20_000
# Number of labels of a node, the largest first, for which a hyperplane against all others is tried.
MOST_SEPARATED_LABELS = 8
# Largest number of iterations for the hyperplane between clusters that overlap.
MARGIN_ITERATIONS = 200
