"""Methods that the paper compares with, as estimators in their own right."""

from ravine.baselines.iterative_svr import IterativeSVR
from ravine.baselines.lda_kmeans import LDAKMeans
from ravine.baselines.pdf_cluster import PdfCluster
from ravine.baselines.principal_trees import PDDP, DePDDP
from ravine.baselines.spectral import SelfTuningSpectral

__all__ = ["PDDP", "DePDDP", "IterativeSVR", "LDAKMeans", "PdfCluster", "SelfTuningSpectral"]
