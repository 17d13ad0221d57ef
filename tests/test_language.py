"""The words of the project: plain English, and one word for one thing."""

import re
from pathlib import Path

import pytest

from support.prose import paragraphs

ROOT = Path(__file__).parents[1]
SUFFIXES = {".py", ".pyi", ".md", ".hpp", ".cpp", ".js", ".html"}
FOLDERS = ("docs", "examples", "benchmarks", "fuzz", "src/_kernels", "src/ravine")
FILES = [
    path
    for path in [*sorted(ROOT.glob("*.md")), *(path for name in FOLDERS for path in sorted(ROOT.glob(f"{name}/**/*")))]
    if path.suffix in SUFFIXES and not set(path.parts) & {"_build", "gallery"}
]
MODULES = [path for path in FILES if path.suffix == ".py" and "src" in path.parts]

COMPARED = "(?:longer|more|less|fewer|better|worse|later|earlier|greater|larger|smaller|higher|lower|wider|deeper)"
THINGS = (
    "(?:rows?|hyperplanes?|trees?|samples?|search|estimators?|index|optimisers?|drivers?|splitters?|layers?|pages?)"
)
AVOID = {
    "starts with What": r"(?:^|(?<=[.!] ))What\b(?![^.!?]*\?)",
    "is no X": rf"(?i)(?<!there )\b(?:is|are|was|were) no (?!{COMPARED}\b)\w+",
    "so many": r"(?i)\bso many\b",
    "anew": r"(?i)\banew\b",
    "told": r"(?i)\btold\b",
    "found out": r"(?i)\bf(?:ou|i)nds? out\b",
    "dear": r"(?i)\bdear(?:er|est)?\b",
    "be had": r"(?i)\bbe had\b",
    "must not, for cannot": r"(?i)\bmust not be (?:read|written)\b",
    "nobody asked": r"(?i)\bnobody asked\b",
    "at hand": r"(?i)\bat hand\b",
    "says of": r"(?i)\bsa(?:ys?|id) of\b",
    "by turns": r"(?i)\bby turns\b",
    "as it is": r"(?i)(?<!soon )(?<!wide )\bas it is(?=[.,;:)\"]| (?:until|for|where|now)\b|$)",
    "is said": r"(?i)\b(?:is|are|was|were) said\b|\bsaid so\b",
    "made-up": r"(?i)\bmade-up\b",
    "what is random": r"(?i)\bwhat is random\b",
    "personification": rf"(?i)\b{THINGS} (?:knows?|(?:is|are) asked|asks?|believes?|wants?)\b|\bknows nothing\b",
}
OLD_CLASSES = r"class (?:Frame|Aim|Turn|Accept|Bin|Gather|Along|PullBack|Noise|Spread|Scatter|Voice)\b"
OLD_FUNCTIONS = r"def (?:inward|outward|narrowed|narrow|narrowing|beyond|counted|say|tell)\b"
OLD_NAMES = rf"{OLD_CLASSES}|{OLD_FUNCTIONS}|\btheir_weights\b"


def package_of(path):
    """Return the folder below src/ravine, or the first part of any other path."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[2:3] if parts[:2] == ("src", "ravine") and len(parts) > 3 else parts[:1])


def in_package(files):
    """Return parameters for a test: the files of each package."""
    packages = dict.fromkeys(map(package_of, files))
    return pytest.mark.parametrize(
        "files", [[path for path in files if package_of(path) == name] for name in packages], ids=list(packages)
    )


@in_package(FILES)
def test_prose_is_plain_english(files):
    found = [
        f"{path.relative_to(ROOT)}:{paragraph.line_of(match.start())}: {rule}: {match[0]}"
        for path in files
        for paragraph in paragraphs(path)
        for rule, pattern in AVOID.items()
        for match in re.finditer(pattern, paragraph.text)
    ]
    assert found == []


@in_package(MODULES)
def test_names_are_those_of_the_vocabulary(files):
    assert [
        (path.name, match[0]) for path in files for match in re.finditer(OLD_NAMES, path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("What a function says of rows.", {"starts with What", "says of"}),
        ("What happens at the end?", set()),
        ("It is no tree. There is no tree, and no more is no larger.", {"is no X"}),
        ("The rows know their side; a tree wants a splitter.", {"personification"}),
        ("Files stay as it is, as soon as it is read.", {"as it is"}),
    ],
)
def test_rules_find_what_they_are_for(text, rules):
    assert {rule for rule, pattern in AVOID.items() if re.search(pattern, text)} == rules
