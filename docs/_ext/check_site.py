"""Check the built site: links and anchors resolve, nothing is loaded from a network, and it stays small.

python docs/_ext/check_site.py docs/_build/html
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

MAX_BYTES = 30 * 10**6


class Page(HTMLParser):
    """The links, loaded files and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag refers to, and its anchor."""
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        target = values.get("href") or values.get("src")
        if target and not target.startswith("data:"):
            (self.links if tag == "a" else self.loaded).append(target)


@cache
def read_page(path: Path) -> Page:
    """Return a page, parsed once."""
    return Page(path)


def check_page(path: Path) -> list[str]:
    """Return the problems of a page."""
    page, problems = read_page(path), []
    for target in [*page.links, *page.loaded]:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            if target in page.loaded:
                problems.append(f"loads {target}")
            continue
        file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not file.is_file():
            problems.append(f"broken link {target}")
        elif parts.fragment and file.suffix == ".html" and unquote(parts.fragment) not in read_page(file).anchors:
            problems.append(f"no anchor {target}")
    return problems


def main() -> int:
    """Print all problems and the size of the site."""
    site = Path(sys.argv[1]).resolve()
    pages = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    problems = [f"{path.relative_to(site)}: {problem}" for path in pages for problem in check_page(path)]
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    if size > MAX_BYTES:
        problems.append(f"the site has {size / 1e6:.1f} MB, more than {MAX_BYTES / 1e6:.0f}")
    print("\n".join([*problems, f"{len(pages)} pages, {size / 1e6:.1f} MB, {len(problems)} problems"]))
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
