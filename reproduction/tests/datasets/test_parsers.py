"""Small and messy files in the formats of the archives are parsed; damaged ones are rejected."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from ravine_paper.datasets import CorruptDatasetError
from ravine_paper.datasets.parsers import CONTROL, YEAST, YEAST_PHASES, parse_files, parse_partition
from ravine_paper.datasets.rdata import read_rdata
from support.archive_files import r_list, r_matrix, r_save, r_vector

# Small files in the formats of the archives.
BANKNOTE = {"data_banknote_authentication.txt": b"3.6216,8.6661,-2.8073,-0.44699,0\r\n4.5,-1e-3,2,.5,1"}
BREAST = {
    "breast-cancer-wisconsin.data": b"1000025,5,1,1,1,2,1,3,1,1,2\n1057013,8,4,5,1,2,?,7,3,1,4\n\n1"
    + b",1" * 9
    + b",2\n"
}
IONOSPHERE = {
    "ionosphere.data": (",".join(["1", "0", *["0.5"] * 32, "g"]) + "\n").encode()
    + (",".join(["0", "0", *["-.25"] * 32, "b"]) + "\n \n").encode()
}
SEGMENT = {
    "segment.dat": (" ".join(["218", "178", "9", *["0.11111111"] * 16, "6"]) + " \n").encode()
    + (" ".join(["1", "2", "9", *["-1.5894573E-8"] * 16, "7"]) + " \n").encode()
}
SEEDS = {
    "seeds_dataset.txt": b"15.26\t14.84\t0.871\t5.763\t3.312\t2.221\t5.22\t1\n14.9\t14\t0.88\t\t5.5\t3.3\t1\t\t5\t3\n"
}
VOTING = {
    "house-votes-84.data": b"republican" + b",n,y" * 8 + b"\r\n" + b"democrat" + b",?" * 15 + b", y \r\n",
}
WINE = {"wine.data": b"1,14.23,1.71,2.43,15.6,127,2.8,3.06,.28,2.29,5.64,1.04,3.92,1065\n3" + b",1" * 13 + b"\n\n\n"}
SYNTH = {"synthetic_control.data": b"".join((f"{i + 0.5:.4f}  " * 60 + "\n").encode() for i in range(12))}
S1 = {"s1.txt": b"    664159    550946\n    665845    557965\n", "s1.labels0.gz": gzip.compress(b"1\n15\n")}


def test_banknote_has_its_class_last():
    data, target, names = parse_files("banknote", BANKNOTE)
    assert data.tolist() == [[3.6216, 8.6661, -2.8073, -0.44699], [4.5, -0.001, 2, 0.5]]
    assert target.tolist() == ["0", "1"]
    assert names == ("variance", "skewness", "curtosis", "entropy")


def test_breast_cancer_drops_the_id_and_keeps_missing_cells():
    data, target, names = parse_files("breast_cancer", BREAST)
    assert data.shape == (3, 9)
    assert data[0].tolist() == [5, 1, 1, 1, 2, 1, 3, 1, 1]
    assert np.argwhere(np.isnan(data)).tolist() == [[1, names.index("bare_nuclei")]]
    assert target.tolist() == ["benign", "malignant", "benign"]


def test_forest_has_a_header_and_blanks_after_its_classes():
    header = '"class",' + ",".join(f'"b{j}"' for j in range(1, 28))
    training = (header + "\r\nd ," + ",".join(map(str, range(27))) + "\r\n").encode("utf-8-sig")
    testing = (header.replace('"', "") + "\ns ," + ",".join(["-1.5"] * 27) + "\n\n").encode()
    data, target, names = parse_files("forest", {"training.csv": training, "testing.csv": testing})
    assert data[0].tolist() == list(range(27))
    assert (data[1] == -1.5).all()
    assert target.tolist() == ["d", "s"]
    assert names == tuple(f"b{j}" for j in range(1, 28))


def test_ionosphere_drops_its_second_attribute():
    data, target, names = parse_files("ionosphere", IONOSPHERE)
    assert data.shape == (2, 33)
    assert data[:, 0].tolist() == [1, 0]
    assert (data[1, 1:] == -0.25).all()
    assert target.tolist() == ["good", "bad"]
    assert names[:3] == ("V1", "V3", "V4")
    with pytest.raises(CorruptDatasetError, match="second attribute"):
        parse_files("ionosphere", {"ionosphere.data": IONOSPHERE["ionosphere.data"].replace(b"1,0,", b"1,2,", 1)})


def test_image_segments_drop_the_constant_pixel_count():
    data, target, names = parse_files("image_seg", SEGMENT)
    assert data.shape == (2, 18)
    assert data[0, :3].tolist() == [218, 178, 0.11111111]
    assert data[1, -1] == -1.5894573e-8
    assert target.tolist() == ["path", "grass"]
    assert "region_pixel_count" not in names
    assert len(names) == 18


@pytest.mark.parametrize(
    ("name", "train", "test", "columns", "separator"),
    [
        ("optidigits", "optdigits.tra", "optdigits.tes", 64, ","),
        ("pendigits", "pendigits.tra", "pendigits.tes", 16, ", "),
        ("satellite", "sat.trn", "sat.tst", 36, " "),
    ],
)
def test_training_rows_come_before_test_rows(name, train, test, columns, separator):
    line = separator.join(f"{j:2d}" if "," in separator else str(j) for j in range(columns))
    files = {train: f"{line}{separator}7\r\n{line}{separator}1 \r\n".encode(), test: f"{line}{separator}0\n".encode()}
    data, target, names = parse_files(name, files)
    assert data.tolist() == [list(range(columns))] * 3
    assert target.tolist() == ["7", "1", "0"]
    assert names == tuple(f"f{j}" for j in range(columns))


def test_seeds_may_have_two_tabs_between_cells():
    data, target, _ = parse_files("seeds", SEEDS)
    assert data[1].tolist() == [14.9, 14, 0.88, 5.5, 3.3, 1, 5]
    assert target.tolist() == ["1", "3"]


def smartphone_files(width=4):
    row = " ".join(f"{v:.7e}" for v in np.linspace(-1, 1, width))
    return {
        "X_train.txt": f" {row}\n {row}\n".encode(),
        "y_train.txt": b"5\n12\n",
        "X_test.txt": f"{row}\r\n".encode(),
        "y_test.txt": b"1\r\n",
        "activity_labels.txt": b"1 WALKING\n5 STANDING\n12 LIE_TO_STAND \n",
        "features.txt": b"tBodyAcc-Mean-1 \nropy-1\nropy-1\nropy-1\n",
    }


def test_smartphone_joins_features_activities_and_names():
    data, target, names = parse_files("smartphone", smartphone_files())
    assert np.allclose(data, [np.linspace(-1, 1, 4)] * 3, atol=1e-7)
    assert target.tolist() == ["STANDING", "LIE_TO_STAND", "WALKING"]
    assert names == ("tBodyAcc-Mean-1", "ropy-1", "ropy-1_2", "ropy-1_3")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("y_train.txt", b"5\n", "X_train.txt .*2 .*y_train.txt 1"),
        ("y_test.txt", b"9\n", "y_test.txt, line 1: '9'"),
        ("features.txt", b"a\nb\nc\n", "X_train.txt, line 1: .*3 .*4"),
        ("X_test.txt", b"1 2 3 x\n", "X_test.txt, line 1, column 4: 'x'"),
    ],
)
def test_smartphone_files_must_be_consistent(file, content, message):
    with pytest.raises(CorruptDatasetError, match=message):
        parse_files("smartphone", {**smartphone_files(), file: content})


def test_control_charts_get_their_classes_from_their_order():
    data, target, _ = parse_files("synth_control", SYNTH)
    assert data.shape == (12, 60)
    assert data[:, 0].tolist() == [i + 0.5 for i in range(12)]
    assert target.tolist() == [name for name in CONTROL for _ in range(2)]
    with pytest.raises(CorruptDatasetError, match="13 rows"):
        parse_files("synth_control", {"synthetic_control.data": SYNTH["synthetic_control.data"] + b"1 " * 60})


def test_votes_are_coded_1_0_and_minus_1():
    data, target, names = parse_files("voting", VOTING)
    assert data[0].tolist() == [-1, 1] * 8
    assert data[1].tolist() == [0] * 15 + [1]
    assert target.tolist() == ["republican", "democrat"]
    assert len(names) == 16
    with pytest.raises(CorruptDatasetError, match="line 1, column 'handicapped_infants': 'maybe'"):
        parse_files("voting", {"house-votes-84.data": VOTING["house-votes-84.data"].replace(b",n", b",maybe", 1)})


def test_wine_has_its_class_first_and_omits_leading_zeros():
    data, target, names = parse_files("wine", WINE)
    assert data[0, names.index("nonflavanoid_phenols")] == 0.28
    assert data.shape == (2, 13)
    assert target.tolist() == ["1", "3"]


def test_s1_takes_points_and_partition_from_two_files():
    data, target, names = parse_files("s1", S1)
    assert data.tolist() == [[664159, 550946], [665845, 557965]]
    assert (target.tolist(), names) == (["1", "15"], ("x", "y"))
    with pytest.raises(CorruptDatasetError, match=r"s1.txt.*2.*s1.labels0.gz.*1"):
        parse_files("s1", {**S1, "s1.labels0.gz": gzip.compress(b"1\n")})


def test_partition_may_have_a_header():
    header = b"VQ PARTITIONING 2.0\r\n15\r\n3\r\n" + b"-" * 37 + b"\r\n"
    assert parse_partition(header + b"1\r\n2\r\n\r\n15\r\n", "s1-label.pa") == ["1", "2", "15"]
    assert parse_partition(b"4\n4\n", "s1-label.pa") == ["4", "4"]
    with pytest.raises(CorruptDatasetError, match=r"'1\.5'"):
        parse_partition(b"1\n1.5\n", "s1-label.pa")


# ----------------------------------------------------------------------------------------------- R's save files


def yeast_codes():
    return np.repeat([4, 1, 5, 3, 2], list(YEAST_PHASES)).astype(float)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, bytes])
@pytest.mark.parametrize("version", [2, 3])
def test_yeast_is_read_from_an_r_file(rng, compress, version):
    X, codes = rng.standard_normal((698, 72)), yeast_codes()
    content = r_save(version, compress, yeast=r_list(x=r_matrix(X), c=r_vector(codes)))
    data, target, names = parse_files("yeast", {"yeast.RData": content})
    assert np.array_equal(data, X)
    assert target[[0, 255, 427, 519, 583]].tolist() == list(YEAST_PHASES.values())
    assert names == YEAST
    assert len(names) == 72


def test_yeast_codes_may_be_a_factor(rng):
    phases = list(YEAST_PHASES.values())
    codes = np.repeat(np.arange(1, 6), list(YEAST_PHASES))
    factor = r_vector(codes, levels=r_vector(phases), **{"class": r_vector(["factor"])})
    frame = r_vector([r_vector(column) for column in rng.standard_normal((72, 698))], names=r_vector(list(YEAST)))
    data, target, _ = parse_files("yeast", {"yeast.RData": r_save(yeast=r_list(c=factor, x=frame))})
    assert data.shape == (698, 72)
    assert target.tolist() == [phase for phase, n in zip(phases, YEAST_PHASES, strict=True) for _ in range(n)]


def test_r_objects_share_symbols_and_may_be_missing():
    twice = r_save(a=r_vector([1.5, 2.5]), b=r_vector(["x", None, "ü"]))
    read = read_rdata(twice, "f.RData")
    assert read["a"].content.tolist() == [1.5, 2.5]
    assert read["b"].content == ["x", None, "ü"]
    assert read["b"].as_strings() == ["x", "None", "ü"]


@pytest.mark.parametrize("keep", [3, 20, 60, 300])
def test_truncated_r_file_is_rejected(rng, keep):
    whole = r_save(compress=bytes, yeast=r_list(x=r_matrix(rng.standard_normal((10, 5))), c=r_vector(np.arange(10))))
    for content in (whole[:keep], gzip.compress(whole)[:keep], gzip.compress(whole[:keep])):
        with pytest.raises(CorruptDatasetError, match=r"yeast.RData"):
            parse_files("yeast", {"yeast.RData": content})


def test_any_damage_to_an_r_file_is_detected(rng):
    whole = bytearray(r_save(compress=bytes, yeast=r_list(x=r_matrix(rng.standard_normal((6, 3))), c=r_vector([1, 2]))))
    for position in range(len(whole)):
        for value in (0, 255, int(rng.integers(256))):
            damaged = bytes(whole[:position]) + bytes([value]) + bytes(whole[position + 1 :])
            with pytest.raises(CorruptDatasetError):  # never 698 genes
                parse_files("yeast", {"yeast.RData": damaged})


# ----------------------------------------------------------------------------------------------- every text format


TEXTS = {
    "banknote": BANKNOTE,
    "breast_cancer": BREAST,
    "ionosphere": IONOSPHERE,
    "image_seg": SEGMENT,
    "seeds": SEEDS,
    "voting": VOTING,
    "wine": WINE,
    "synth_control": SYNTH,
}


@pytest.mark.parametrize("name", TEXTS)
def test_line_ends_blank_lines_and_marks_do_not_matter(name):
    ((file, content),) = TEXTS[name].items()
    plain = content.replace(b"\r\n", b"\n")
    data, target, names = parse_files(name, {file: plain})
    for messy in (
        plain.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + plain,
        b"\n\n" + plain.replace(b"\n", b"  \n\n"),
        plain.rstrip(b"\n"),
    ):
        again = parse_files(name, {file: messy})
        assert np.array_equal(again[0], data, equal_nan=True)
        assert again[1].tolist() == target.tolist()
        assert again[2] == names


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("content", [b"", b"\n \n", b"\x00\x01\x02", b"\xff\xfe\xfa", b"<html>404</html>\n"])
def test_other_files_are_rejected(name, content):
    (file,) = TEXTS[name]
    with pytest.raises(CorruptDatasetError, match=file):
        parse_files(name, {file: content})


@pytest.mark.parametrize("name", TEXTS)
def test_file_that_ends_within_a_line_is_rejected(name):
    ((file, content),) = TEXTS[name].items()
    cut = content.rstrip()[: -len(content.rstrip().splitlines()[-1]) // 2]
    with pytest.raises(CorruptDatasetError, match=file):
        parse_files(name, {file: cut})
