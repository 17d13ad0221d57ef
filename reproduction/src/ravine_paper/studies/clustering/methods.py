"""Methods of the clustering study and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from sklearn.cluster import KMeans

from ravine import MinimumDensityHyperplane, paper_settings
from ravine_paper.baselines import PDDP, DePDDP, IterativeSVR, LDAKMeans, PdfCluster, SelfTuningSpectral
from ravine_paper.studies.clustering.hipart import HiPartClusterer
from ravine_paper.studies.engine.errors import StudyError
from ravine_paper.studies.engine.methods import Method
from ravine_paper.studies.engine.options import choose_names

__all__ = ["METHODS", "ClusteringMethod", "choose_methods"]


@dataclass(frozen=True)
class ClusteringMethod(Method):
    """Estimator that splits data in two with ``fit_predict``.

    Attributes
    ----------
    name, title, make, settings
        See `Method`.
    random : bool
        Whether the result depends on the seed.
    in_paper : bool
        Whether the method is a column of the paper's table.
    needs : str or None
        Package that must be installed.
    time_limit : float
        Seconds for a data set, all seeds together.
    weight : float
        Estimated cost relative to other methods.
    """

    random: bool = False
    in_paper: bool = True
    needs: str | None = None
    time_limit: float = float("inf")
    weight: float = 1.0

    @property
    def installed(self) -> bool:
        """Whether the package that the method needs is installed."""
        return self.needs is None or find_spec(self.needs) is not None


METHODS = {
    method.name: method
    for method in (
        ClusteringMethod(
            "mdp2", "MDP²", lambda seed: MinimumDensityHyperplane(**paper_settings("clustering"), random_state=seed),
            "the paper's; 20 values of alpha with 5 iterations each were tuned on the labels",
            weight=3,
        ),
        ClusteringMethod(
            "isvr-l", "iSVR-L", lambda seed: IterativeSVR(kernel="linear", random_state=seed),
            "C = 1, balance 0.05 n (tuned on the labels)", random=True, weight=20,
        ),
        ClusteringMethod(
            "isvr-g", "iSVR-G", lambda seed: IterativeSVR(kernel="rbf", random_state=seed),
            "C = 1, width equal to the median distance, balance 0.05 n (tuned on the labels)", random=True, weight=40,
        ),
        ClusteringMethod(
            "scn", "SCn", lambda seed: SelfTuningSpectral(duplicates="floor", random_state=seed),
            "7th neighbour; Nyström with random landmarks above 6000 rows; repeated rows have a scale near 0",
            random=True, weight=30,
        ),
        ClusteringMethod(
            "lda-2m", "LDA-2m", lambda seed: LDAKMeans(kmeans="k-means++", random_state=seed),
            "k-means++ seeds, classes weighted by their size", random=True, weight=5,
        ),
        ClusteringMethod(
            "2-means++", "2-means++", lambda seed: KMeans(2, init="k-means++", n_init=1, random_state=seed),
            "scikit-learn, one run per seed", random=True,
        ),
        ClusteringMethod("pddp", "PDDP", lambda _: PDDP(), "split at the mean"),
        ClusteringMethod(
            "depddp", "dePDDP", lambda _: DePDDP(percentile=0.0, min_cluster_size=1),
            "half of Silverman's bandwidth, the lowest of all local minima (both tuned on the labels)",
        ),
        ClusteringMethod(
            "mdp2-defaults", "MDP², ravine's defaults", lambda seed: MinimumDensityHyperplane(random_state=seed),
            "chosen on simulated data, never on these sets", in_paper=False, weight=3,
        ),
        ClusteringMethod(
            "scn-defaults", "SCn, ravine's defaults", lambda seed: SelfTuningSpectral(random_state=seed),
            "the scale of repeated rows is the distance to the nearest row that differs", random=True, in_paper=False,
            weight=30,
        ),
        ClusteringMethod(
            "depddp-defaults", "dePDDP, ravine's defaults", lambda _: DePDDP(),
            "the lowest minimum between the 10 and 90 % quantiles", in_paper=False,
        ),
        ClusteringMethod(
            "pdfcluster", "pdfCluster", lambda _: PdfCluster(),
            "cut at the first split of its tree; for few rows only", in_paper=False, time_limit=300.0, weight=50,
        ),
        ClusteringMethod(
            "hipart-mdh", "HiPart MDH", lambda seed: HiPartClusterer("MDH", random_state=seed),
            "its defaults, one seed", in_paper=False, needs="HiPart", time_limit=120.0, weight=60,
        ),
        ClusteringMethod(
            "hipart-depddp", "HiPart dePDDP", lambda _: HiPartClusterer("DePDDP"), "its defaults",
            in_paper=False, needs="HiPart", time_limit=120.0, weight=2,
        ),
    )
}  # fmt: skip


def choose_methods(names: str | None) -> tuple[ClusteringMethod, ...]:
    """Return the methods in a comma-separated list; all installed methods for None.

    Raises
    ------
    StudyError
        If a name is unknown, or its package is not installed.
    """
    chosen = [METHODS[name] for name in choose_names(names, METHODS, "method")]
    if names is None:
        return tuple(method for method in chosen if method.installed)
    for method in chosen:
        if not method.installed:
            raise StudyError(
                f"The method {method.name!r} needs the package {method.needs}: pip install 'ravine-paper[peers]'"
            )
    return tuple(chosen)
