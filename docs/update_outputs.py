"""Write into the pages what their code prints, after a change of results: tests compare the two.

python docs/update_outputs.py [PAGE ...]

A block of code followed by a block `text` shows its output. Look at the differences: text around them may need a
change, too. The pages with the paper's data sets need RAVINE_DATA.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(```python\n(.*?)```)(\n\n```text\n.*?```)?", re.DOTALL)


def update_page(text: str) -> str:
    """Return a page with the present output of its code."""
    names: dict[str, Any] = {}

    def run(block: re.Match[str]) -> str:
        with redirect_stdout(io.StringIO()) as output:
            exec(block[2], names)
        shown = f"\n\n```text\n{output.getvalue()}```" if output.getvalue() else ""
        return block[1] + shown

    return BLOCK.sub(run, text)


def main() -> None:
    """Update the pages that are named, or all with code."""
    pages = [Path(name).resolve() for name in sys.argv[1:]] or [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some pages write files
        for page in pages:
            before = page.read_text(encoding="utf-8")
            after = update_page(before)
            if after != before:
                page.write_text(after, encoding="utf-8")
                print(f"{page.name}: changed")


if __name__ == "__main__":
    main()
