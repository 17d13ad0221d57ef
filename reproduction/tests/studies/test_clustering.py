"""Clustering study: the statements of the paper hold in its own table, and reports show it beside ours."""

import csv
import io

import numpy as np
import pytest

from ravine_paper.studies import StudyError
from ravine_paper.studies.clustering.figures import draw_boxplots
from ravine_paper.studies.clustering.methods import METHODS, choose_methods
from ravine_paper.studies.clustering.paper import CLUSTERING_METHODS, IMPROVEMENT, SETS, TABLE_2
from ravine_paper.studies.clustering.report import format_scores_csv, format_scores_markdown, format_summary
from ravine_paper.studies.clustering.tasks import Cell, choose_sets, read_cells
from ravine_paper.studies.clustering.verdicts import check_claims, find_differences, make_score_matrix
from ravine_paper.studies.engine.store import ResultStore

TITLES = {name: method.title for name, method in METHODS.items()}
PAPERS = tuple(METHODS[name] for name in CLUSTERING_METHODS)
RUN = {"environment": {"python": "3", "numpy": "2"}}


def make_cell(pairs, seconds=1.0, problem="", depths=(1.0, 0.0)):
    success, v = np.array(pairs, dtype=float).reshape(-1, 2).T
    records = tuple({"depths": list(depths)} for _ in success)
    return Cell(success, v, np.full(len(success), seconds), 100.0, problem, records)


def make_paper_cells():
    return {key: make_cell([pair]) for key, pair in TABLE_2.items()}


def test_every_set_has_every_method():
    assert len(SETS) == 14
    assert TABLE_2.keys() == {(s, m) for s in SETS for m in CLUSTERING_METHODS}
    assert set(CLUSTERING_METHODS) <= METHODS.keys()


@pytest.mark.parametrize("method", IMPROVEMENT)
def test_average_improvements_follow_from_the_table(method):
    """Guards the transcription: the paper prints the mean differences to two digits."""
    gains = np.mean([np.subtract(TABLE_2[s, "mdp2"], TABLE_2[s, method]) for s in SETS], axis=0)
    assert gains == pytest.approx(IMPROVEMENT[method], abs=0.01)


def test_means_of_mdp2_in_the_paper_table():
    assert make_score_matrix(make_paper_cells(), SETS, ["mdp2"], 0).mean() == pytest.approx(0.832, abs=5e-4)
    assert make_score_matrix(make_paper_cells(), SETS, ["mdp2"], 1).mean() == pytest.approx(0.664, abs=5e-4)


def test_all_statements_but_one_hold_in_the_paper_table():
    """In its table LDA-2m, not PDDP, has the second highest mean SR, and 2-means++ the second highest mean V."""
    claims = check_claims(make_paper_cells(), TITLES)
    assert len(claims) == 15
    assert [c.text for c in claims if not c.holds] == [
        "After MDP², PDDP has the second highest mean SR, and an iSVR the second highest mean V."
    ]
    assert [c.holds for c in claims] == [c.holds_in_paper for c in claims]


def test_statements_can_fail():
    cells = make_paper_cells()
    for dataset in SETS:
        cells[dataset, "pddp"] = make_cell([(1.0, 1.0)])
        cells[dataset, "mdp2"] = make_cell([TABLE_2[dataset, "mdp2"]], depths=(0.0, 0.0))
    assert {c.text: c.holds for c in check_claims(cells, TITLES)}.pop(
        "SCn scores higher than MDP² on more sets (six) than any other method."
    ) is False
    assert any(c.holds_in_paper for c in check_claims(cells, TITLES))
    assert not any(c.holds for c in check_claims(cells, TITLES) if c.text.startswith(("The two", "MDP²")))


def test_statements_need_the_whole_table():
    cells = make_paper_cells()
    cells["wine", "scn"] = make_cell([], problem="out of memory")
    assert check_claims(cells, TITLES) == []


def test_differences_from_the_paper_are_found_and_sorted():
    assert find_differences(make_paper_cells()) == []
    nothing = {key: make_cell([(0.0, 0.0)]) for key in TABLE_2}
    found = find_differences(nothing)
    assert {(d.dataset, d.method) for d in found} == {key for key, pair in TABLE_2.items() if max(pair) > 0.035}
    assert all(d.reason for d in found)
    sizes = [max(d.paper) for d in found]
    assert sizes == sorted(sizes, reverse=True)


def test_rounding_is_not_a_difference():
    cells = make_paper_cells()
    cells["wine", "mdp2"] = make_cell([(0.77 + 0.0345, 0.61)])
    assert find_differences(cells) == []


def test_csv_is_read_back():
    cells = make_paper_cells()
    cells["wine", "scn"] = make_cell([(0.1, 0.2), (0.3, 0.4), (0.9, 0.5)], problem="")
    cells["seeds", "scn"] = make_cell([], problem='ValueError: "bad", very')
    rows = list(csv.DictReader(io.StringIO(format_scores_csv(cells, SETS, PAPERS))))
    assert len(rows) == 14 * 8
    by_cell = {(r["set"], r["method"]): r for r in rows}
    wine = by_cell["wine", "scn"]
    assert [wine[k] for k in ("sr", "sr_min", "sr_max", "v", "v_min", "v_max", "seeds")] == [
        "0.3000", "0.1000", "0.9000", "0.4000", "0.2000", "0.5000", "3"
    ]  # fmt: skip
    assert (wine["paper_sr"], wine["paper_v"]) == ("0.67", "0.48")
    assert by_cell["seeds", "scn"]["sr"] == ""
    assert by_cell["seeds", "scn"]["problem"] == 'ValueError: "bad", very'


def test_markdown_shows_the_paper_and_marks_the_best():
    cells = make_paper_cells()
    cells["seeds", "scn"] = make_cell([], problem="needs more memory")
    cells |= {(s, "mdp2-defaults"): make_cell([(1.0, 1.0)]) for s in SETS}
    text = format_scores_markdown(cells, SETS, (*PAPERS, METHODS["mdp2-defaults"]))
    lines = {line.split(" | ")[0].strip("| "): line for line in reversed(text.splitlines()) if line.startswith("| ")}
    assert "**0.79** (0.79)" in lines["banknote"]
    assert "failed" in lines["seeds"]
    assert lines["banknote"].endswith("1.00 |")  # methods outside the paper are never bold
    assert "0.833 (0.832)" not in lines["**mean**"]
    assert "0.832 (0.832)" in lines["**mean**"]
    assert "0.40 (0.40)" in lines["improvement of MDP²"]
    width = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert width == {11}


def test_summary_contains_failures_differences_and_environments():
    cells = make_paper_cells()
    cells["pendigits", "scn"] = make_cell([], problem="MemoryError: 900 MB needed")
    cells["wine", "depddp"] = make_cell([(0.0, 0.0)])
    text = format_summary(cells, SETS, PAPERS, [RUN, {"environment": {"python": "4"}}], 10)
    assert "MemoryError: 900 MB needed" in text
    assert "| wine, dePDDP | 0.68 / 0.49 | 0.00 / 0.00 |" in text
    assert "tuned" in text
    assert "more than one environment" in text
    assert "more than one environment" not in format_summary(cells, SETS, PAPERS, [RUN, RUN], 10)
    assert "## Statements of the paper" not in text  # a cell is missing
    assert "| The two starts of MDP² never both end at relative depth 0. | – | holds |" in format_summary(
        make_paper_cells(), SETS, PAPERS, [RUN], 10
    )


def test_figures_omit_methods_with_missing_results(tmp_path):
    cells = make_paper_cells()
    cells["seeds", "scn"] = make_cell([], problem="x")
    paths = draw_boxplots(cells, SETS, PAPERS, tmp_path)
    assert [p.name for p in paths] == ["performance.png", "regret.png"]
    assert all(p.read_bytes()[:4] == b"\x89PNG" for p in paths)
    assert draw_boxplots({("seeds", "scn"): make_cell([], problem="x")}, ["seeds"], [METHODS["scn"]], tmp_path) == []


@pytest.mark.parametrize("names", ["wine,nothing", "", " , "])
def test_unknown_sets(names):
    with pytest.raises(StudyError, match="banknote"):
        choose_sets(names)


@pytest.mark.parametrize("names", ["pddp,nothing", "", ","])
def test_unknown_methods(names):
    with pytest.raises(StudyError, match="mdp2, isvr-l"):
        choose_methods(names)


def test_names_are_chosen_once_and_in_order():
    assert choose_sets("wine, seeds,wine") == ("wine", "seeds")
    assert [m.name for m in choose_methods("PDDP, mdp2")] == ["pddp", "mdp2"]
    assert set(CLUSTERING_METHODS) <= {m.name for m in choose_methods(None)}


def test_methods_of_missing_packages_are_omitted(monkeypatch):
    monkeypatch.setattr("ravine_paper.studies.clustering.methods.find_spec", lambda name: None)
    assert not any(m.name.startswith("hipart") for m in choose_methods(None))
    with pytest.raises(StudyError, match="HiPart"):
        choose_methods("hipart-mdh")


def test_improvements_on_some_sets_use_the_same_sets_of_the_paper():
    cells = {key: make_cell([pair]) for key, pair in TABLE_2.items() if key[0] in ("wine", "seeds")}
    text = format_scores_markdown(cells, ("wine", "seeds"), PAPERS)
    row = next(line for line in text.splitlines() if line.startswith("| improvement of MDP²"))
    gain = np.mean([TABLE_2[s, "mdp2"][0] - TABLE_2[s, "scn"][0] for s in ("wine", "seeds")])
    assert f"| {gain:.2f} ({gain:.2f}) |" in row


def test_best_sets_are_counted_at_two_decimals():
    cells = make_paper_cells()
    cells["smartphone", "lda-2m"] = make_cell([(0.9944, 0.974)])
    cells["smartphone", "mdp2"] = make_cell([(0.9929, 0.969)])
    claims = [c for c in check_claims(cells, TITLES) if "seven sets" in c.text]
    assert all(c.holds for c in claims)
    assert "with all decimals MDP² 6" in claims[0].evidence


def test_reasons_compare_the_paper_with_the_range_of_our_seeds():
    cells = {("wine", "2-means++"): make_cell([(0.74, 0.6), (0.74, 0.6), (0.67, 0.49)])}
    assert find_differences(cells)[0].reason.endswith("the paper's SR is in the range of our seeds")
    cells = {("wine", "2-means++"): make_cell([(0.74, 0.6), (0.73, 0.6)])}
    assert find_differences(cells)[0].reason.endswith("not in the range of our seeds")


def test_a_damaged_result_is_reported_in_its_cell(tmp_path):
    store = ResultStore(tmp_path, "table2", {})
    store.put("wine.pddp", {"status": "ok"})
    found = read_cells(store, ["wine"], [METHODS["pddp"]], 1)["wine", "pddp"]
    assert found.problem == "damaged result"
    assert not len(found.success)
