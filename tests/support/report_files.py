"""Contents of a report, parsed from its HTML."""

import json
import re
from html.parser import HTMLParser

from ravine.report import write_report

VOID = {"meta", "input", "br", "link", "img", "hr"}


class Page(HTMLParser):
    """Parser of a page that must be well formed; it lists elements, scripts and text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.elements, self.scripts, self.words = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), f"an attribute twice in {tag}"
        self.elements.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("script", "style"):
            self.scripts.append((tag, attributes, ""))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, tag

    def handle_data(self, text):
        if self.open and self.open[-1] in ("script", "style"):
            tag, attributes, before = self.scripts[-1]
            self.scripts[-1] = (tag, attributes, before + text)
        else:
            self.words.append(text)

    @property
    def data(self):
        (text,) = (text for _, attributes, text in self.scripts if attributes.get("id") == "data")
        return json.loads(text, parse_constant=refuse)

    @property
    def text(self):
        return re.sub(r"[ \n]+", " ", " ".join(self.words))


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def report(folder, estimator, X, **options):
    """Write a report; return its text and the parsed page."""
    path = folder / "report.html"
    write_report(path, estimator, X, **options)
    text = path.read_text(encoding="utf-8")
    return text, Page(text)
