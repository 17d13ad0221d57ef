"""From the files of an archive, in the archive's own formats, to features and classes.

Every function takes the files of one data set by their names and returns the features, the classes and the names of
the columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.datasets.errors import CorruptDatasetError
from ravine.datasets.rdata import read_rdata
from ravine.datasets.tables import Row, decode, gunzip, numbers, read_matrix, read_rows, split_label

__all__ = ["PARSERS", "Parsed"]

Files = Mapping[str, bytes]
Parsed = tuple[Array, NDArray[np.str_], tuple[str, ...]]

WINE = (
    "alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols flavanoids nonflavanoid_phenols proanthocyanins "
    "color_intensity hue od280_od315_of_diluted_wines proline"
)
BREAST_CANCER = (
    "cl_thickness cell_size cell_shape marg_adhesion epith_c_size bare_nuclei bl_cromatin normal_nucleoli mitoses"
)
SEEDS = "area perimeter compactness kernel_length kernel_width asymmetry groove_length"
SEGMENT = (
    "region_centroid_col region_centroid_row region_pixel_count short_line_density_5 short_line_density_2 vedge_mean "
    "vedge_sd hedge_mean hedge_sd intensity_mean rawred_mean rawblue_mean rawgreen_mean exred_mean exblue_mean "
    "exgreen_mean value_mean saturation_mean hue_mean"
)
VOTES = (
    "handicapped_infants water_project budget_resolution physician_fee_freeze el_salvador_aid religious_groups "
    "anti_satellite_ban nicaraguan_contras_aid mx_missile immigration synfuels_cutback education_spending "
    "superfund_right_to_sue crime duty_free_exports south_africa_export"
)
YEAST = (
    *(f"alpha{t}" for t in range(0, 120, 7)),
    *(f"cdc15_{t}" for t in (10, 30, 50, *range(70, 260, 10), 270, 290)),
    *(f"cdc28_{t}" for t in range(0, 170, 10) if t != 90),
    *(f"elu{t}" for t in range(0, 420, 30)),
)
# The rows of each class of yeast differ in number, so the numbers tell which code is which phase.
YEAST_PHASES = {255: "G1", 172: "G2/M", 92: "M/G1", 64: "S", 115: "S/G2"}
CONTROL = ("normal", "cyclic", "increasing_trend", "decreasing_trend", "upward_shift", "downward_shift")
IMAGES = {"1": "brickface", "2": "sky", "3": "foliage", "4": "cement", "5": "window", "6": "path", "7": "grass"}


def _words(labels: Sequence[str]) -> NDArray[np.str_]:
    return np.array(labels, dtype=np.str_)


def _numbered(columns: int) -> tuple[str, ...]:
    return tuple(f"f{j}" for j in range(columns))


def _classes(labels: Sequence[str], known: Mapping[str, str], rows: Sequence[Row], file: str) -> NDArray[np.str_]:
    """Codes of classes as words."""
    for (line, _), label in zip(rows, labels, strict=True):
        if label not in known:
            raise CorruptDatasetError(
                f"{file}, line {line}: {label[:40]!r} is not one of the classes {', '.join(known)}; get the file again."
            )
    return _words([known[label] for label in labels])


def _together(files: Files, names: Sequence[str], columns: int, separator: str | None) -> Parsed:
    """Training rows, then test rows; the class in the last column."""
    parts = [read_matrix(files[name], name, separator=separator, width=columns + 1) for name in names]
    table = np.concatenate(parts)
    return table[:, :-1], _words([f"{code:g}" for code in table[:, -1]]), _numbered(columns)


def _banknote(files: Files) -> Parsed:
    file = "data_banknote_authentication.txt"
    rows, labels = split_label(read_rows(files[file], file, separator=",", width=5), -1)
    names = ("variance", "skewness", "curtosis", "entropy")
    return numbers(rows, file, names=names), _words(labels), names


def _breast_cancer(files: Files) -> Parsed:
    file, names = "breast-cancer-wisconsin.data", tuple(BREAST_CANCER.split())
    rows, codes = split_label(read_rows(files[file], file, separator=",", width=11), -1)
    rows, _ = split_label(rows, 0)  # the sample's number is no feature
    labels = _classes(codes, {"2": "benign", "4": "malignant"}, rows, file)
    return numbers(rows, file, names=names, missing={"?"}), labels, names


def _forest(files: Files) -> Parsed:
    names: tuple[str, ...] = ()
    parts, labels = [], []
    for file in ("training.csv", "testing.csv"):
        header, *rows = read_rows(files[file], file, separator=",", width=28)
        rows, classes = split_label(rows, 0)
        names = tuple(header[1][1:])
        parts.append(numbers(rows, file, names=names))
        labels += classes
    return np.concatenate(parts), _words(labels), names


def _ionosphere(files: Files) -> Parsed:
    file = "ionosphere.data"
    rows, codes = split_label(read_rows(files[file], file, separator=",", width=35), -1)
    data = numbers(rows, file)
    if data[:, 1].any():
        raise CorruptDatasetError(f"{file}: the second attribute is not 0 in every row; get the file again.")
    names = tuple(f"V{j}" for j in range(1, 35) if j != 2)
    return np.delete(data, 1, axis=1), _classes(codes, {"g": "good", "b": "bad"}, rows, file), names


def _image_seg(files: Files) -> Parsed:
    file, names = "segment.dat", SEGMENT.split()
    rows, codes = split_label(read_rows(files[file], file, width=20), -1)
    data = numbers(rows, file, names=names)
    pixels = names.index("region_pixel_count")
    labels = _classes(codes, IMAGES, rows, file)
    return np.delete(data, pixels, axis=1), labels, tuple(names[:pixels] + names[pixels + 1 :])


def _optidigits(files: Files) -> Parsed:
    return _together(files, ("optdigits.tra", "optdigits.tes"), 64, ",")


def _pendigits(files: Files) -> Parsed:
    return _together(files, ("pendigits.tra", "pendigits.tes"), 16, ",")


def _satellite(files: Files) -> Parsed:
    return _together(files, ("sat.trn", "sat.tst"), 36, None)


def _seeds(files: Files) -> Parsed:
    file, names = "seeds_dataset.txt", tuple(SEEDS.split())
    rows, labels = split_label(read_rows(files[file], file, width=8), -1)
    return numbers(rows, file, names=names), _words(labels), names


def _smartphone(files: Files) -> Parsed:
    file = "activity_labels.txt"
    activities = {cells[0]: cells[1] for _, cells in read_rows(files[file], file, width=2)}
    listed = [name.strip() for name in decode(files["features.txt"], "features.txt").splitlines() if name.strip()]
    seen: Counter[str] = Counter()
    names = []
    for name in listed:
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    parts, labels = [], []
    for part in ("train", "test"):
        file = f"y_{part}.txt"
        codes = read_rows(files[file], file, width=1)
        parts.append(read_matrix(files[f"X_{part}.txt"], f"X_{part}.txt", width=len(names)))
        if len(parts[-1]) != len(codes):
            raise CorruptDatasetError(
                f"X_{part}.txt has {len(parts[-1])} rows and {file} {len(codes)}: get the archive again."
            )
        labels.append(_classes([cells[0] for _, cells in codes], activities, codes, file))
    return np.concatenate(parts), np.concatenate(labels), tuple(names)


def _synth_control(files: Files) -> Parsed:
    file = "synthetic_control.data"
    data = read_matrix(files[file], file, width=60)
    if len(data) % len(CONTROL):
        raise CorruptDatasetError(f"{file} has {len(data)} rows, not as many of each of 6 classes: get it again.")
    return data, np.repeat(_words(CONTROL), len(data) // len(CONTROL)), _numbered(60)


def _voting(files: Files) -> Parsed:
    file, names = "house-votes-84.data", tuple(VOTES.split())
    rows, labels = split_label(read_rows(files[file], file, separator=",", width=17), 0)
    votes = {"y": 1.0, "n": -1.0, "?": 0.0}
    return numbers(rows, file, names=names, value=votes.__getitem__), _words(labels), names


def _wine(files: Files) -> Parsed:
    file, names = "wine.data", tuple(WINE.split())
    rows, labels = split_label(read_rows(files[file], file, separator=",", width=14), 0)
    return numbers(rows, file, names=names), _words(labels), names


def _yeast(files: Files) -> Parsed:
    file = "yeast.RData"
    objects = read_rdata(files[file], file)
    try:
        yeast = objects["yeast"]
        data = np.ascontiguousarray(yeast.element("x").matrix(), dtype=np.float64)
        codes = yeast.element("c").words()
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise CorruptDatasetError(f"{file} does not hold a list with x and c: get it again.") from error
    counts = Counter(codes)
    if data.ndim != 2 or len(data) != len(codes) or set(counts.values()) != set(YEAST_PHASES):
        raise CorruptDatasetError(f"{file} is not the 698 genes in 5 phases that it should be: get it again.")
    names = YEAST if data.shape[1] == len(YEAST) else _numbered(data.shape[1])
    return data, _words([YEAST_PHASES[counts[code]] for code in codes]), tuple(names)


def _s1(files: Files) -> Parsed:
    data = read_matrix(files["s1.txt"], "s1.txt", width=2)
    labels = partition(gunzip(files["s1.labels0.gz"], "s1.labels0.gz"), "s1.labels0.gz")
    if len(labels) != len(data):
        raise CorruptDatasetError(f"s1.txt has {len(data)} rows and s1.labels0.gz {len(labels)}: get both again.")
    return data, _words(labels), ("x", "y")


def partition(content: bytes, file: str) -> list[str]:
    """One class a line; a header as in the benchmark's .pa files ends with a line of dashes."""
    lines = [line.strip() for line in decode(content, file).splitlines()]
    dashes = [i for i, line in enumerate(lines[:20]) if line.startswith("---")]
    labels = [line for line in lines[dashes[-1] + 1 if dashes else 0 :] if line]
    for label in labels:
        if not label.isdigit():
            raise CorruptDatasetError(f"{file}: {label[:40]!r} is not the number of a class; get the file again.")
    return labels


PARSERS: dict[str, Callable[[Files], Parsed]] = {
    "banknote": _banknote,
    "breast_cancer": _breast_cancer,
    "forest": _forest,
    "image_seg": _image_seg,
    "ionosphere": _ionosphere,
    "optidigits": _optidigits,
    "pendigits": _pendigits,
    "s1": _s1,
    "satellite": _satellite,
    "seeds": _seeds,
    "smartphone": _smartphone,
    "synth_control": _synth_control,
    "voting": _voting,
    "wine": _wine,
    "yeast": _yeast,
}
