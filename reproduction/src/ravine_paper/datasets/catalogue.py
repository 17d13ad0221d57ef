"""Cards of the paper's fourteen data sets and of S1, with the URLs and checksums of their files.

The checksum of a file is given where projects that use the file publish it. For banknote, forest, optidigits,
pendigits, satellite and voting it was confirmed by writing the pinned content in the archive's format; for
breast_cancer, ionosphere, smartphone and wine several projects publish the same checksum. Every card also has the
fingerprint of the content, which is decisive.
"""

from __future__ import annotations

from ravine_paper.datasets.card import Card, Member, Source

__all__ = ["CARDS"]

UCI = "https://archive.ics.uci.edu/static/public/"
REPOSITORY = "UCI Machine Learning Repository"
CC_BY = "CC BY 4.0, as reported by projects that use the data"
CC_BY_UNCONFIRMED = "probably CC BY 4.0, the usual licence of the archive; not confirmed for this data set"
SAME = "same size as in the paper"


def _parse_counts(text: str) -> dict[str, int]:
    """Parse alternating names of classes and numbers of rows."""
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def _make_uci_source(path: str, sha256: str | None, *members: str | Member) -> tuple[Source, ...]:
    """Return a zip archive of the UCI repository with the members to extract."""
    needed = tuple(member if isinstance(member, Member) else Member(member) for member in members)
    return (Source(UCI + path + ".zip", sha256, needed),)


_ALL = (
    Card(
        name="banknote",
        title="Banknote Authentication",
        n=1372,
        d=4,
        classes={"0": 762, "1": 610},
        source=f"{REPOSITORY}, id 267",
        licence=CC_BY,
        citation="V. Lohweg (2012). Banknote Authentication. UCI Machine Learning Repository, doi:10.24432/C55P57.",
        preprocessing="none: raw values",
        paper=SAME,
        fingerprint="c8b1119eb083379bd2f3a6832ecff82d63042f0097ea0c237eda326aac6b596c",
        sources=_make_uci_source(
            "267/banknote+authentication",
            "1e2acd9a2085fadf3d8145c12d3d22af853320d52294a6590c2eaf75fdc05227",
            Member(
                "data_banknote_authentication.txt",
                ("d0539aaed2139ba7a587b3e34fb345ce503ff7d5d33dbf9912d8e195ce425cb9",),
            ),
        ),
    ),
    Card(
        name="breast_cancer",
        title="Breast Cancer Wisconsin (Original)",
        n=699,
        d=9,
        classes={"benign": 458, "malignant": 241},
        missing=16,
        source=f"{REPOSITORY}, id 15; the local file comes from the R package mlbench",
        licence=CC_BY,
        citation=(
            "W. Wolberg (1990). Breast Cancer Wisconsin (Original). UCI Machine Learning Repository, "
            "doi:10.24432/C5HP4Z."
        ),
        preprocessing="the number of the sample is dropped; the 16 missing cells of bare_nuclei are NaN",
        paper=(
            "same size; the paper authors' R package PPCI has 0 in the 16 missing cells, `standardised` uses the median"
        ),
        fingerprint="b6a2cbe384fa788d7aba4e74198907626c03df4faa05845414177594a54b9cd8",
        sources=_make_uci_source(
            "15/breast+cancer+wisconsin+original",
            None,
            Member(
                "breast-cancer-wisconsin.data", ("402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64",)
            ),
        ),
    ),
    Card(
        name="forest",
        title="Forest type mapping",
        n=523,
        d=27,
        classes={"d": 159, "h": 86, "o": 83, "s": 195},
        source=f"{REPOSITORY}, id 333: training.csv (198 rows), then testing.csv (325 rows)",
        licence=CC_BY,
        citation="B. Johnson (2012). Forest type mapping. UCI Machine Learning Repository, doi:10.24432/C5QP56.",
        preprocessing="blanks after the class are dropped; s is Sugi, h Hinoki, d mixed deciduous, o other",
        paper=SAME,
        fingerprint="31cd525f5dc225a33eb8823f91f36cb53440c09773c2a08c630565b79fd7801a",
        sources=_make_uci_source(
            "333/forest+type+mapping",
            None,
            Member(  # with Unix, then with Windows line ends
                "training.csv",
                (
                    "d63da464655f4ec7c95bb310f560adecc7b716258bc379e4e0ca59f91a5ebf18",
                    "af7b3eedba6602c1e9b9036b1bc35b7d8991e59207e8a0e6efef9ee39b6d857c",
                ),
            ),
            Member(  # with Unix, then with Windows line ends
                "testing.csv",
                (
                    "8f1dc6b2e437122f958d0ec96b81c32f5c175b57ad901de8fe4052e2443bd315",
                    "90e7538988ca5b9c5f25be940b6fbb571e6d921d0d4fe11ae5e7647ac1749894",
                ),
            ),
        ),
    ),
    Card(
        name="image_seg",
        title="Statlog (Image Segmentation)",
        n=2310,
        d=18,
        classes=dict.fromkeys(("brickface", "cement", "foliage", "grass", "path", "sky", "window"), 330),
        source=f"{REPOSITORY}, id 147: segment.dat",
        licence=CC_BY_UNCONFIRMED,
        citation="Statlog (Image Segmentation) (1990). UCI Machine Learning Repository, doi:10.24432/C5P01G.",
        preprocessing="the constant feature region_pixel_count is dropped; 224 rows are duplicates",
        paper="2310 rows; the paper prints 2309 and does not say why",
        fingerprint="d9520c6022d1f0874db97921c8fc50fc8b5dc91f8af9a14245bda87d2939b2bb",
        sources=_make_uci_source(
            "147/statlog+image+segmentation",
            None,
            "segment.dat",
        ),
    ),
    Card(
        name="ionosphere",
        title="Ionosphere",
        n=351,
        d=33,
        classes={"bad": 126, "good": 225},
        source=f"{REPOSITORY}, id 52; the local file comes from the R package mlbench",
        licence=CC_BY,
        citation=(
            "V. Sigillito, S. Wing, L. Hutton, K. Baker (1989). Ionosphere. UCI Machine Learning Repository, "
            "doi:10.24432/C5W01B."
        ),
        preprocessing="the second attribute, always 0, is dropped; the names keep the numbers of the archive",
        paper=SAME,
        fingerprint="fcc0d485eaf76f6c3f23a957066299b1d52aeff50a0f8b6dc94abd77fd3ecbf4",
        sources=_make_uci_source(
            "52/ionosphere",
            None,
            Member("ionosphere.data", ("46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",)),
        ),
    ),
    Card(
        name="optidigits",
        title="Optical Recognition of Handwritten Digits",
        n=5620,
        d=64,
        classes={str(k): c for k, c in enumerate((554, 571, 557, 572, 568, 558, 558, 566, 554, 562))},
        source=f"{REPOSITORY}, id 80: optdigits.tra (3823 rows), then optdigits.tes (1797 rows)",
        licence=CC_BY,
        citation=(
            "E. Alpaydin, C. Kaynak (1998). Optical Recognition of Handwritten Digits. UCI Machine Learning "
            "Repository, doi:10.24432/C50P49."
        ),
        preprocessing="none: counts from 0 to 16; the constant features f0 and f39 are kept",
        paper="5620 rows; the paper prints 5618 and does not say which two it leaves out",
        fingerprint="01bba51b1ef8e236d841f6f29ed60faec627710b6a306e1f87b69e2a52ba1000",
        sources=_make_uci_source(
            "80/optical+recognition+of+handwritten+digits",
            "0d7b054fea010270e9b3f06411c654c5e59547732ad626381980baffe0a23fb0",
            Member("optdigits.tra", ("e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd",)),
            Member("optdigits.tes", ("6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8",)),
        ),
    ),
    Card(
        name="pendigits",
        title="Pen-Based Recognition of Handwritten Digits",
        n=10992,
        d=16,
        classes={str(k): c for k, c in enumerate((1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055))},
        source=f"{REPOSITORY}, id 81: pendigits.tra (7494 rows), then pendigits.tes (3498 rows)",
        licence=CC_BY,
        citation=(
            "E. Alpaydin, F. Alimoglu (1996). Pen-Based Recognition of Handwritten Digits. UCI Machine Learning "
            "Repository, doi:10.24432/C5MG6K."
        ),
        preprocessing="none: coordinates from 0 to 100",
        paper=SAME,
        fingerprint="7d15c05e61ecea920726ec2db5f627a1326ddf23b3fd3cce9858aeb074f6bc90",
        sources=_make_uci_source(
            "81/pen+based+recognition+of+handwritten+digits",
            "1e02bea023613c2b11c9492f6f34caf975420455934f3527d270cee9a1f03b64",
            Member("pendigits.tra", ("e2b9eb9f0d0467e2b64a4816a3420edf2b8043447576f4b84337aba44a9f97d3",)),
            Member("pendigits.tes", ("8bd03229c5c5291fefe43e45465dd948d2645bf23328b9d993e0b777666b2015",)),
        ),
    ),
    Card(
        name="satellite",
        title="Statlog (Landsat Satellite)",
        n=6435,
        d=36,
        classes={"1": 1533, "2": 703, "3": 1358, "4": 626, "5": 707, "7": 1508},
        source=f"{REPOSITORY}, id 146: sat.trn (4435 rows), then sat.tst (2000 rows)",
        licence=CC_BY_UNCONFIRMED,
        citation=(
            "A. Srinivasan (1993). Statlog (Landsat Satellite). UCI Machine Learning Repository, doi:10.24432/C55887."
        ),
        preprocessing=(
            "none: values from 0 to 255; 1 is red soil, 2 cotton crop, 3 grey soil, 4 damp grey soil, 5 vegetation "
            "stubble, 7 very damp grey soil; there is no 6"
        ),
        paper=SAME,
        fingerprint="ffb76d256dbfb68aac03c3bb4762afbff102dd9e489b59ac23a33f998472ab57",
        sources=_make_uci_source(
            "146/statlog+landsat+satellite",
            "7c54e0e11c872a1b0b647da370d596dcb06746159cce4121d92ccd70b7d7ce3c",
            Member("sat.trn", ("e896dc88a960fa2404160fc4c3cb3dc53fcf4afd80ba920bf2d261bd42d12613",)),
            Member("sat.tst", ("4b9167b8a92baafafed7c8809aef86d0683a5e685c19d98d119fa6974f0f2479",)),
        ),
    ),
    Card(
        name="seeds",
        title="Seeds",
        n=210,
        d=7,
        classes={"1": 70, "2": 70, "3": 70},
        source=f"{REPOSITORY}, id 236",
        licence=CC_BY,
        citation=(
            "M. Charytanowicz, J. Niewczas, P. Kulczycki, P. Kowalski, S. Lukasik (2010). Seeds. UCI Machine Learning "
            "Repository, doi:10.24432/C5H30K."
        ),
        preprocessing="none: 1 is Kama, 2 Rosa, 3 Canadian",
        paper=SAME,
        fingerprint="41b352d2968d69187c70399b3a4bc2bf559415f03f54b448cc22f02263bf2e0e",
        sources=_make_uci_source(
            "236/seeds",
            None,
            "seeds_dataset.txt",
        ),
    ),
    Card(
        name="smartphone",
        title="Smartphone-Based Recognition of Human Activities and Postural Transitions (HAPT)",
        n=10929,
        d=561,
        classes=_parse_counts(
            "LAYING 1958 LIE_TO_SIT 85 LIE_TO_STAND 84 SITTING 1801 SIT_TO_LIE 107 SIT_TO_STAND 33 STANDING 1979 "
            "STAND_TO_LIE 139 STAND_TO_SIT 70 WALKING 1722 WALKING_DOWNSTAIRS 1407 WALKING_UPSTAIRS 1544"
        ),
        source=f"{REPOSITORY}, id 341: train (7767 rows), then test (3162 rows)",
        licence=CC_BY,
        citation=(
            "J. Reyes-Ortiz, D. Anguita, L. Oneto, X. Parra (2015). Smartphone-Based Recognition of Human Activities "
            "and Postural Transitions. UCI Machine Learning Repository, doi:10.24432/C54G7M."
        ),
        preprocessing=(
            "every feature is scaled to [-1, 1] by the archive; repeated names get _2, _3; the pinned content has 8 "
            "digits and was recomputed from the archive's raw recordings (the 499 rows of the archive's own matrix "
            "that could be compared agree to 4.3e-8), so that matrix is accepted if sums of its values agree to 1e-5"
        ),
        paper=SAME,
        fingerprint="688f2f0f250279bd179e8527c915997f87a5ce19afa602ee6bf6adcc55ec7321",
        labels="d714f650e43551061d94b0cb5ca03e7c9bc0fb7ace6fa45a61987720222a032b",
        sketch=(-0.10300192, -0.19180695, 0.03813969, 0.01449402, -0.04835657, 0.02923600),
        sources=_make_uci_source(
            "341/smartphone+based+recognition+of+human+activities+and+postural+transitions",
            "4ac4ae064227c07045a99551876b54d204837e995e298b6488559e209b3deb09",
            "Train/X_train.txt",
            "Train/y_train.txt",
            "Test/X_test.txt",
            "Test/y_test.txt",
            "activity_labels.txt",
            "features.txt",
        ),
    ),
    Card(
        name="synth_control",
        title="Synthetic Control Chart Time Series",
        n=600,
        d=60,
        classes=dict.fromkeys(
            ("cyclic", "decreasing_trend", "downward_shift", "increasing_trend", "normal", "upward_shift"), 100
        ),
        source=f"{REPOSITORY}, id 139",
        licence=CC_BY_UNCONFIRMED,
        citation="R. Alcock (1999). Synthetic Control Chart Time Series. UCI Machine Learning Repository, id 139.",
        preprocessing="the classes are added from the documented order of the rows, 100 each",
        paper=SAME,
        fingerprint="7d8f3ef42a834f64b7295fe186508eafee6f17e8cfc26b6729c6bad4c872b575",
        sources=_make_uci_source(
            "139/synthetic+control+chart+time+series",
            None,
            "synthetic_control.data",
        ),
    ),
    Card(
        name="voting",
        title="Congressional Voting Records",
        n=435,
        d=16,
        classes={"democrat": 267, "republican": 168},
        source=f"{REPOSITORY}, id 105",
        licence=CC_BY,
        citation="Congressional Voting Records (1987). UCI Machine Learning Repository, doi:10.24432/C5C01P.",
        preprocessing="y is coded as 1, n as -1, ? (392 cells, neither) as 0",
        paper="same size; the paper does not say how it codes ?",
        fingerprint="452957be83d08d7e75ea7f0cbaa9bc8b61abb0be0253daf780c0c7d6ee8527bc",
        sources=_make_uci_source(
            "105/congressional+voting+records",
            "ffec9d9328f28f151d95d2f8d36fd94ed8d2b0cdd0c9bd284bd8e65031a5e6a6",
            Member("house-votes-84.data", ("c87c14110a5ba91d4a1e313ec7392824458152bf071fa5f5452340488337936e",)),
        ),
    ),
    Card(
        name="wine",
        title="Wine",
        n=178,
        d=13,
        classes={"1": 59, "2": 71, "3": 48},
        source=f"{REPOSITORY}, id 109",
        licence=CC_BY,
        citation="S. Aeberhard, M. Forina (1992). Wine. UCI Machine Learning Repository, doi:10.24432/C5PC7J.",
        preprocessing="none: raw values",
        paper=SAME,
        fingerprint="6ff27835cb043138e9a90dc94a706af079f8a1bf348dbb7eb2994bbcc8510555",
        sources=_make_uci_source(
            "109/wine",
            "2bae62c4481220623579d4c4fb36b55652b6b75e06e49fa1981b8198362dfdab",
            Member("wine.data", ("6be6b1203f3d51df0b553a70e57b8a723cd405683958204f96d23d7cd6aea659",)),
        ),
    ),
    Card(
        name="yeast",
        title="Yeast cell cycle",
        n=698,
        d=72,
        classes={"G1": 255, "G2/M": 172, "M/G1": 92, "S": 64, "S/G2": 115},
        source=(
            "Stanford Yeast Cell Cycle Analysis Project, in the form that D. Hofmeyr distributes with the R package "
            "SCPP (yeast.RData)"
        ),
        licence="none stated for the measurements; the R package SCPP is under GPL-3",
        citation=(
            "P. T. Spellman et al. (1998). Comprehensive identification of cell cycle-regulated genes of the yeast "
            "Saccharomyces cerevisiae by microarray hybridization. Molecular Biology of the Cell 9."
        ),
        preprocessing=(
            "as distributed: each gene standardised over its time points, missing values filled, then each feature "
            "standardised; the features are named by matching with the published measurements (cdc28_90 is absent), "
            "the classes are the published phases of the peak; the pinned content has 12 digits, so the file with all "
            "digits is accepted if sums of its values agree to 1e-5"
        ),
        paper=SAME,
        fingerprint="845ac37b7cce530577401ab574c36108b6efb81878cf54e5084dd461871f816c",
        labels="0d8bb47ce4459c32d34136d7f0621f75cb648c7fb795b22fb77d061e2c151c4a",
        sketch=(-0.00609585, 0.13125074, 0.35745855, -0.02825783, 0.07962986, 0.43005421),
        sources=(
            Source(
                "https://raw.githubusercontent.com/DavidHofmeyr/SCPP/662f7d50763911902667ffdbca02ec47aed87aa2/data/yeast.RData"
            ),
        ),
    ),
    Card(
        name="s1",
        title="S-sets: S1",
        n=5000,
        d=2,
        classes=_parse_counts(
            "1 300 2 316 3 314 4 318 5 325 6 326 7 334 8 338 9 341 10 342 11 347 12 349 13 350 14 350 15 350"
        ),
        source=(
            "Clustering basic benchmark, University of Eastern Finland; classes as in M. Gagolewski's benchmark suite "
            "for clustering algorithms, version 1.1.0"
        ),
        licence="none stated; the authors ask to be cited",
        citation=(
            "P. Fränti, O. Virmajoki (2006). Iterative shrinking method for clustering problems. "
            "Pattern Recognition 39 (5), 761-775."
        ),
        preprocessing=(
            "none; the classes are the authors' partition as given by the suite (another label file in circulation "
            "differs on 27 points)"
        ),
        paper="used only as an illustration",
        fingerprint="20b3a3fd226839c9eb85f34a1d3450aeb6a86e5b410b9f4b645001ad3192fe04",
        sources=(
            Source("https://cs.uef.fi/sipu/datasets/s1.txt"),
            Source("https://github.com/gagolews/clustering-data-v1/raw/v1.1.0/sipu/s1.labels0.gz"),
        ),
    ),
)

CARDS: dict[str, Card] = {card.name: card for card in _ALL}
