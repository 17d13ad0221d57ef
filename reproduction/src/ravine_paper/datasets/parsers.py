"""Parsers of the archives' own formats.

Each parser takes the files of one data set by name and returns the features, the classes and the feature names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ravine_paper._typing import Array
from ravine_paper.datasets.dataset_errors import CorruptDatasetError
from ravine_paper.datasets.rdata import read_rdata
from ravine_paper.datasets.text import (
    Row,
    TextError,
    decode,
    gunzip,
    parse_numbers,
    read_matrix,
    read_rows,
    split_column,
)

__all__ = ["Parsed", "parse_files"]

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
# The classes of yeast differ in size, so the size of a class identifies its phase.
YEAST_PHASES = {255: "G1", 172: "G2/M", 92: "M/G1", 64: "S", 115: "S/G2"}
CONTROL = ("normal", "cyclic", "increasing_trend", "decreasing_trend", "upward_shift", "downward_shift")
IMAGES = {"1": "brickface", "2": "sky", "3": "foliage", "4": "cement", "5": "window", "6": "path", "7": "grass"}


def parse_files(name: str, files: Files) -> Parsed:
    """Parse the files of a data set.

    Parameters
    ----------
    name : str
        Name of the data set.
    files : mapping of str to bytes
        Contents by file name.
    """
    try:
        return PARSERS[name](files)
    except TextError as error:
        raise CorruptDatasetError(str(error)) from error


def _as_strings(labels: Sequence[str]) -> NDArray[np.str_]:
    return np.array(labels, dtype=np.str_)


def _number_features(d: int) -> tuple[str, ...]:
    return tuple(f"f{j}" for j in range(d))


def _name_classes(labels: Sequence[str], known: Mapping[str, str], rows: Sequence[Row], file: str) -> NDArray[np.str_]:
    """Replace the codes of classes by names."""
    for (line, _), label in zip(rows, labels, strict=True):
        if label not in known:
            raise CorruptDatasetError(
                f"{file}, line {line}: {label[:40]!r} is not one of the classes {', '.join(known)}. Get a new copy."
            )
    return _as_strings([known[label] for label in labels])


def _parse_train_and_test(files: Files, names: Sequence[str], columns: int, separator: str | None) -> Parsed:
    """Parse training rows, then test rows; the class is in the last column."""
    parts = [read_matrix(files[name], name, separator=separator, width=columns + 1) for name in names]
    table = np.concatenate(parts)
    return table[:, :-1], _as_strings([f"{code:g}" for code in table[:, -1]]), _number_features(columns)


def _parse_banknote(files: Files) -> Parsed:
    file = "data_banknote_authentication.txt"
    rows, labels = split_column(read_rows(files[file], file, separator=",", width=5), -1)
    names = ("variance", "skewness", "curtosis", "entropy")
    return parse_numbers(rows, file, names=names), _as_strings(labels), names


def _parse_breast_cancer(files: Files) -> Parsed:
    file, names = "breast-cancer-wisconsin.data", tuple(BREAST_CANCER.split())
    rows, codes = split_column(read_rows(files[file], file, separator=",", width=11), -1)
    rows, _ = split_column(rows, 0)  # the number of the sample is not a feature
    labels = _name_classes(codes, {"2": "benign", "4": "malignant"}, rows, file)
    return parse_numbers(rows, file, names=names, missing={"?"}), labels, names


def _parse_forest(files: Files) -> Parsed:
    names: tuple[str, ...] = ()
    parts, labels = [], []
    for file in ("training.csv", "testing.csv"):
        header, *rows = read_rows(files[file], file, separator=",", width=28)
        rows, classes = split_column(rows, 0)
        names = tuple(header[1][1:])
        parts.append(parse_numbers(rows, file, names=names))
        labels += classes
    return np.concatenate(parts), _as_strings(labels), names


def _parse_ionosphere(files: Files) -> Parsed:
    file = "ionosphere.data"
    rows, codes = split_column(read_rows(files[file], file, separator=",", width=35), -1)
    data = parse_numbers(rows, file)
    if data[:, 1].any():
        raise CorruptDatasetError(f"{file}: the second attribute is not 0 in every row. Get a new copy.")
    names = tuple(f"V{j}" for j in range(1, 35) if j != 2)
    return np.delete(data, 1, axis=1), _name_classes(codes, {"g": "good", "b": "bad"}, rows, file), names


def _parse_image_seg(files: Files) -> Parsed:
    file, names = "segment.dat", SEGMENT.split()
    rows, codes = split_column(read_rows(files[file], file, width=20), -1)
    data = parse_numbers(rows, file, names=names)
    pixels = names.index("region_pixel_count")
    labels = _name_classes(codes, IMAGES, rows, file)
    return np.delete(data, pixels, axis=1), labels, tuple(names[:pixels] + names[pixels + 1 :])


def _parse_optidigits(files: Files) -> Parsed:
    return _parse_train_and_test(files, ("optdigits.tra", "optdigits.tes"), 64, ",")


def _parse_pendigits(files: Files) -> Parsed:
    return _parse_train_and_test(files, ("pendigits.tra", "pendigits.tes"), 16, ",")


def _parse_satellite(files: Files) -> Parsed:
    return _parse_train_and_test(files, ("sat.trn", "sat.tst"), 36, None)


def _parse_seeds(files: Files) -> Parsed:
    file, names = "seeds_dataset.txt", tuple(SEEDS.split())
    rows, labels = split_column(read_rows(files[file], file, width=8), -1)
    return parse_numbers(rows, file, names=names), _as_strings(labels), names


def _parse_smartphone(files: Files) -> Parsed:
    file = "activity_labels.txt"
    activities = {cells[0]: cells[1] for _, cells in read_rows(files[file], file, width=2)}
    lines = decode(files["features.txt"], "features.txt").splitlines()
    seen: Counter[str] = Counter()
    names = []
    for name in filter(None, map(str.strip, lines)):
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    parts, labels = [], []
    for subset in ("train", "test"):
        file = f"y_{subset}.txt"
        codes = read_rows(files[file], file, width=1)
        parts.append(read_matrix(files[f"X_{subset}.txt"], f"X_{subset}.txt", width=len(names)))
        if len(parts[-1]) != len(codes):
            raise CorruptDatasetError(
                f"X_{subset}.txt has {len(parts[-1])} rows and {file} {len(codes)}: get a new copy of the archive."
            )
        labels.append(_name_classes([cells[0] for _, cells in codes], activities, codes, file))
    return np.concatenate(parts), np.concatenate(labels), tuple(names)


def _parse_synth_control(files: Files) -> Parsed:
    file = "synthetic_control.data"
    data = read_matrix(files[file], file, width=60)
    if len(data) % len(CONTROL):
        raise CorruptDatasetError(f"{file} has {len(data)} rows, which is not a multiple of 6 classes: get a new copy.")
    return data, np.repeat(_as_strings(CONTROL), len(data) // len(CONTROL)), _number_features(60)


def _parse_voting(files: Files) -> Parsed:
    file, names = "house-votes-84.data", tuple(VOTES.split())
    rows, labels = split_column(read_rows(files[file], file, separator=",", width=17), 0)
    votes = {"y": 1.0, "n": -1.0, "?": 0.0}
    return parse_numbers(rows, file, names=names, parse=votes.__getitem__), _as_strings(labels), names


def _parse_wine(files: Files) -> Parsed:
    file, names = "wine.data", tuple(WINE.split())
    rows, labels = split_column(read_rows(files[file], file, separator=",", width=14), 0)
    return parse_numbers(rows, file, names=names), _as_strings(labels), names


def _parse_yeast(files: Files) -> Parsed:
    file = "yeast.RData"
    objects = read_rdata(files[file], file)
    try:
        yeast = objects["yeast"]
        data = np.ascontiguousarray(yeast.get_element("x").as_matrix(), dtype=np.float64)
        codes = yeast.get_element("c").as_strings()
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise CorruptDatasetError(f"{file} does not contain a list with x and c: get a new copy.") from error
    counts = Counter(codes)
    if data.ndim != 2 or len(data) != len(codes) or set(counts.values()) != set(YEAST_PHASES):
        raise CorruptDatasetError(f"{file} does not contain 698 genes in 5 phases: get a new copy.")
    names = YEAST if data.shape[1] == len(YEAST) else _number_features(data.shape[1])
    return data, _as_strings([YEAST_PHASES[counts[code]] for code in codes]), tuple(names)


def _parse_s1(files: Files) -> Parsed:
    data = read_matrix(files["s1.txt"], "s1.txt", width=2)
    labels = parse_partition(gunzip(files["s1.labels0.gz"], "s1.labels0.gz"), "s1.labels0.gz")
    if len(labels) != len(data):
        raise CorruptDatasetError(f"s1.txt has {len(data)} rows and s1.labels0.gz {len(labels)}: get new copies.")
    return data, _as_strings(labels), ("x", "y")


def parse_partition(content: bytes, file: str) -> list[str]:
    """Parse one class per line; the header of the benchmark's .pa files ends with a line of dashes."""
    lines = [line.strip() for line in decode(content, file).splitlines()]
    dashes = [i for i, line in enumerate(lines[:20]) if line.startswith("---")]
    labels = [line for line in lines[dashes[-1] + 1 if dashes else 0 :] if line]
    for label in labels:
        if not label.isdigit():
            raise CorruptDatasetError(f"{file}: {label[:40]!r} is not the number of a class. Get a new copy.")
    return labels


PARSERS: dict[str, Callable[[Files], Parsed]] = {
    "banknote": _parse_banknote,
    "breast_cancer": _parse_breast_cancer,
    "forest": _parse_forest,
    "image_seg": _parse_image_seg,
    "ionosphere": _parse_ionosphere,
    "optidigits": _parse_optidigits,
    "pendigits": _parse_pendigits,
    "s1": _parse_s1,
    "satellite": _parse_satellite,
    "seeds": _parse_seeds,
    "smartphone": _parse_smartphone,
    "synth_control": _parse_synth_control,
    "voting": _parse_voting,
    "wine": _parse_wine,
    "yeast": _parse_yeast,
}
