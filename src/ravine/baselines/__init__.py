"""Methods that the paper compares with, as estimators in their own right."""

from ravine.baselines.gradient_tsvm import GradientTSVM
from ravine.baselines.iterative_svr import IterativeSVR
from ravine.baselines.laplacian_svm import LaplacianSVM
from ravine.baselines.lda_kmeans import LDAKMeans
from ravine.baselines.neighbour_graph import neighbour_graph
from ravine.baselines.pdf_cluster import PdfCluster
from ravine.baselines.principal_trees import PDDP, DePDDP
from ravine.baselines.spectral import SelfTuningSpectral
from ravine.baselines.sssl import SSSL
from ravine.baselines.xnv import XNV

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
