"""The methods of the clustering study, and what each was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ravine.studies.choice import chosen_names
from ravine.studies.errors import StudyError

__all__ = ["METHODS", "Method", "choose_methods"]


@dataclass(frozen=True)
class Method:
    """A way to split data in two.

    Attributes
    ----------
    name : str
        For the command and in file names.
    title : str
        In tables and figures.
    make : callable
        From a seed to an estimator with ``fit_predict``.
    settings : str
        What it was given, in words.
    random : bool
        Whether the seed matters.
    in_paper : bool
        Whether it is a column of the paper's table.
    needs : str or None
        A package that must be installed.
    time_limit : float
        Seconds for a data set (all seeds).
    weight : float
        Guess of its cost relative to others.
    """

    name: str
    title: str
    make: Callable[[int], Any]
    settings: str
    random: bool = False
    in_paper: bool = True
    needs: str | None = None
    time_limit: float = float("inf")
    weight: float = 1.0

    @property
    def installed(self) -> bool:
        """Whether it can be run here."""
        return self.needs is None or find_spec(self.needs) is not None


def _mdp2(seed: int) -> Any:
    from ravine.estimators import MinimumDensityHyperplane, paper_settings

    return MinimumDensityHyperplane(**paper_settings("clustering"), random_state=seed)


def _mdp2_defaults(seed: int) -> Any:
    from ravine.estimators import MinimumDensityHyperplane

    return MinimumDensityHyperplane(random_state=seed)


def _isvr_linear(seed: int) -> Any:
    from ravine.baselines import IterativeSVR

    return IterativeSVR(kernel="linear", random_state=seed)


def _isvr_gaussian(seed: int) -> Any:
    from ravine.baselines import IterativeSVR

    return IterativeSVR(kernel="rbf", random_state=seed)


def _spectral(seed: int) -> Any:
    from ravine.baselines import SelfTuningSpectral

    return SelfTuningSpectral(duplicates="floor", random_state=seed)


def _spectral_defaults(seed: int) -> Any:
    from ravine.baselines import SelfTuningSpectral

    return SelfTuningSpectral(random_state=seed)


def _lda_k_means(seed: int) -> Any:
    from ravine.baselines import LDAKMeans

    return LDAKMeans(kmeans="k-means++", random_state=seed)


def _k_means(seed: int) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(2, init="k-means++", n_init=1, random_state=seed)


def _pddp(seed: int) -> Any:
    from ravine.baselines import PDDP

    return PDDP()


def _depddp(seed: int) -> Any:
    from ravine.baselines import DePDDP

    return DePDDP(percentile=0.0, min_cluster_size=1)


def _depddp_defaults(seed: int) -> Any:
    from ravine.baselines import DePDDP

    return DePDDP()


def _pdf_cluster(seed: int) -> Any:
    from ravine.baselines import PdfCluster

    return PdfCluster()


def _hipart_mdh(seed: int) -> Any:
    from ravine.studies.peers import HiPartClusterer

    return HiPartClusterer("MDH", random_state=seed)


def _hipart_depddp(seed: int) -> Any:
    from ravine.studies.peers import HiPartClusterer

    return HiPartClusterer("DePDDP")


METHODS = {
    method.name: method
    for method in (
        Method(
            "mdp2", "MDP²", _mdp2,
            "the paper's; 20 values of alpha and 5 iterations each were found with the labels in view",
            weight=3,
        ),
        Method(
            "isvr-l", "iSVR-L", _isvr_linear, "C = 1, balance 0.05 n (found with the labels in view)", True, weight=20
        ),
        Method(
            "isvr-g", "iSVR-G", _isvr_gaussian,
            "C = 1, width the median distance, balance 0.05 n (found with the labels in view)", True, weight=40,
        ),
        Method(
            "scn", "SCn", _spectral,
            "7th neighbour; Nyström with random landmarks above 6000 rows; repeated rows have a scale near 0",
            True, weight=30,
        ),
        Method("lda-2m", "LDA-2m", _lda_k_means, "k-means++ seeds, classes weighted by their size", True, weight=5),
        Method("2-means++", "2-means++", _k_means, "scikit-learn, one run for each seed", True),
        Method("pddp", "PDDP", _pddp, "split at the mean"),
        Method(
            "depddp", "dePDDP", _depddp,
            "half of Silverman's bandwidth, the lowest of all local minima (both found with the labels in view)",
        ),
        Method(
            "mdp2-defaults", "MDP², ravine's defaults", _mdp2_defaults,
            "chosen on simulated data, never on these sets", in_paper=False, weight=3,
        ),
        Method(
            "scn-defaults", "SCn, ravine's defaults", _spectral_defaults,
            "the scale of repeated rows is that of others", True, in_paper=False, weight=30,
        ),
        Method(
            "depddp-defaults", "dePDDP, ravine's defaults", _depddp_defaults,
            "the lowest minimum between the 10 and 90 % quantiles", in_paper=False,
        ),
        Method(
            "pdfcluster", "pdfCluster", _pdf_cluster, "cut at the first split of its tree; for few rows only",
            in_paper=False, time_limit=300.0, weight=50,
        ),
        Method(
            "hipart-mdh", "HiPart MDH", _hipart_mdh, "its defaults, one seed", in_paper=False, needs="HiPart",
            time_limit=120.0, weight=60,
        ),
        Method(
            "hipart-depddp", "HiPart dePDDP", _hipart_depddp, "its defaults", in_paper=False, needs="HiPart",
            time_limit=120.0, weight=2,
        ),
    )
}  # fmt: skip


def choose_methods(names: str | None) -> tuple[Method, ...]:
    """Methods by their names, separated by commas; None for all that are installed.

    Raises
    ------
    StudyError
        If a name is not known, or needs a package that is not installed.
    """
    chosen = [METHODS[name] for name in chosen_names(names, METHODS, "method")]
    if names is None:
        return tuple(method for method in chosen if method.installed)
    for method in chosen:
        if not method.installed:
            raise StudyError(
                f"The method {method.name!r} needs the package {method.needs}: pip install 'ravine[peers]'"
            )
    return tuple(chosen)
