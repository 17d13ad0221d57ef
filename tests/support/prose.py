"""Prose of source files: docstrings, comments and texts of Python, paragraphs of Markdown, lines of other files."""

import io
import re
import tokenize
from dataclasses import dataclass

BREAKS = {"NL", "NEWLINE", "INDENT", "DEDENT"}


@dataclass(frozen=True)
class Paragraph:
    """Consecutive lines of prose, with the number of each in its file."""

    lines: tuple[tuple[int, str], ...]

    @property
    def text(self):
        return " ".join(line for _, line in self.lines)

    def line_of(self, position):
        """Return the number of the line that holds a position of the text."""
        end = 0
        for number, line in self.lines:
            end += len(line) + 1
            if position < end:
                return number
        raise IndexError(position)


def paragraphs(path):
    """Yield the paragraphs of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for line, block in python_texts(text):
            yield from split_at_blank_lines(line, block)
    elif path.suffix == ".md":
        yield from markdown_paragraphs(text)
    else:
        for number, line in enumerate(text.split("\n"), 1):
            yield Paragraph(((number, line.strip().lstrip("/*# ")),))


def python_texts(source):
    """Yield the first line and the text of every string and comment; adjacent ones are joined."""
    first, text, kind, last = 0, "", "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        if name == "COMMENT":
            new = token.string.lstrip("# ")
        elif name in ("STRING", "FSTRING_MIDDLE"):
            new, name = re.sub(r"^\w*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$", "", token.string), "STRING"
        elif name in BREAKS and not (name == "NEWLINE" and kind == "STRING"):
            continue
        else:
            new, name = "", ""
        if name and name == kind and token.start[0] <= last + 1:
            text += "\n" * (token.start[0] - last) + new
        else:
            if text:
                yield first, text
            first, text, kind = token.start[0], new, name
        last = token.end[0]
    if text:
        yield first, text


def split_at_blank_lines(first, text):
    lines = []
    for number, line in enumerate(text.split("\n"), first):
        if line.strip():
            lines.append((number, line.strip()))
        elif lines:
            yield Paragraph(tuple(lines))
            lines = []
    if lines:
        yield Paragraph(tuple(lines))


def markdown_paragraphs(text):
    """Yield paragraphs, items of lists, rows of tables and lines of code; headings are marked by a section sign."""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        starts_new = re.match(r"\s*(?:[-*] |\||#|```|    |\d+\. )", line) or not line.strip()
        if starts_new and lines:
            yield Paragraph(tuple(lines))
            lines = []
        if line.startswith("#"):
            yield Paragraph(((number, "§ " + line.lstrip("# ")),))
        elif line.strip():
            lines.append((number, re.sub(r"^(?:[-*] |\d+\. )", "", line.strip())))
    if lines:
        yield Paragraph(tuple(lines))
