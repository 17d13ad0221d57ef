"""Methods that the paper compares with, as scikit-learn estimators."""

from ravine_paper.baselines.clustering.iterative_svr import IterativeSVR
from ravine_paper.baselines.clustering.lda_kmeans import LDAKMeans
from ravine_paper.baselines.clustering.pddp import PDDP, DePDDP
from ravine_paper.baselines.clustering.pdf_cluster import PdfCluster
from ravine_paper.baselines.clustering.spectral import SelfTuningSpectral
from ravine_paper.baselines.semi_supervised.gradient_tsvm import GradientTSVM
from ravine_paper.baselines.semi_supervised.laplacian_svm import LaplacianSVM
from ravine_paper.baselines.semi_supervised.neighbour_graph import neighbour_graph
from ravine_paper.baselines.semi_supervised.sssl import SSSL
from ravine_paper.baselines.semi_supervised.xnv import XNV

__all__ = [
    "PDDP",
    "SSSL",
    "XNV",
    "DePDDP",
    "GradientTSVM",
    "IterativeSVR",
    "LDAKMeans",
    "LaplacianSVM",
    "PdfCluster",
    "SelfTuningSpectral",
    "neighbour_graph",
]
