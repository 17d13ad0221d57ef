"""Scenarios in a browser, run by tests/report/test_browser.py with a Python that has Playwright; results are JSON."""

import json
import sys

from playwright.sync_api import sync_playwright


def click(page, _):
    """Click an inner node below the root, point at its picture and at its neighbour in the tree."""
    node = page.locator("[role=treeitem] [role=treeitem][aria-expanded=true]").first
    number = int(node.get_attribute("id").removeprefix("split-"))
    node.locator(":scope > .item").click()
    out = {
        "node": number,
        "selected": page.locator("[aria-selected=true]").evaluate_all("nodes => nodes.map(node => node.id)"),
        "curve": page.locator("#detail .plot path.curve").count() == 1,
        "sides": [text.strip("◀▶ ") for text in page.locator("#detail .sides strong").all_inner_texts()],
        "weights": page.locator("#detail .bars.wide svg").count(),
        "rows": page.locator("#detail .rows tbody tr").count(),
    }
    page.locator("#detail .plot").hover(position={"x": 200, "y": 215})
    out["hovered"] = page.locator("#detail h4").last.inner_text()
    out["marked"] = page.locator("#detail .plot .near").count()
    page.locator("#split-0 > .item").hover()
    out["tip"] = page.locator("#tip").inner_text()
    return out


def slide(page, _):
    """Move the slider to every number of clusters."""
    cards, items, marks = {}, {}, {}
    for k in (4, 3, 2, 1, 4):
        page.locator("#slider").fill(str(k))
        marks[str(k)] = read_marks(page)
        cards[str(k)] = page.locator("#cards .card h3 small").all_inner_texts()
        items[str(k)] = page.locator("[role=treeitem]").count()
        assert page.locator("#chosen").inner_text() == str(k)
    return {"cards": cards, "items": items, "marks": marks}


def read_marks(page):
    """Return the number of marks on the map, and their classes, by cluster."""
    groups = page.locator("#picture g.marks")
    groups.first.wait_for()
    return groups.evaluate_all(
        "all => Object.fromEntries(all.map(g => [g.dataset.cluster, [g.childElementCount, g.getAttribute('class')]]))"
    )


def overview(page, job):
    """Point at a row of the map and at an entry of the list, and choose a cluster by the keyboard."""
    faded = "parts => parts.filter(part => part.classList.contains('faded')).map(part => part.dataset.cluster)"
    marks = page.locator("#picture g.marks")
    box, mark = page.locator("#picture").bounding_box(), marks.first.locator("path").first.bounding_box()
    page.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    out = {"tip": page.locator("#tip").inner_text(), "faded by a row": marks.evaluate_all(faded)}
    page.mouse.move(1, 1)
    out["left"] = [page.locator("#tip").is_visible(), marks.evaluate_all(faded)]
    page.locator("#legend button").first.focus()
    page.keyboard.press("Enter")
    out["pressed"] = page.locator("#legend [aria-pressed=true]").evaluate_all(
        "all => all.map(one => one.dataset.cluster)"
    )
    out["faded by the list"] = marks.evaluate_all(faded)
    page.locator("#picture").focus()
    page.keyboard.press("Home")
    out["key"] = page.locator("#tip").inner_text()
    page.locator("body").press("Escape")
    out["marks"] = read_marks(page)
    out["names"] = page.locator("#picture .name").all_text_contents()
    out["legend"] = page.locator("#legend button").all_inner_texts()
    out["means"] = page.locator("#cards .bars").evaluate_all(MEANS)
    out["paragraphs"] = page.locator("#map > p:visible").count()
    out["folded"] = not page.locator("#method").is_visible()
    out["top"], out["height"] = box["y"], box["height"]
    out["scroll"] = page.evaluate("document.documentElement.scrollWidth")
    out["broken"] = page.evaluate(BROKEN_WORDS)
    page.locator("a[href='#method']").click()
    out["opened"] = page.locator("#method").is_visible()
    return out


# Features of the cards with their means inside and outside.
MEANS = """lists => lists.flatMap(list => [...list.querySelectorAll('.name')].map((name, i) =>
  [name.textContent, list.querySelectorAll('.value')[i].textContent]))"""
# Words of the heads of tables that continue on another line.
BROKEN_WORDS = """() => [...document.querySelectorAll("thead th")].flatMap((head) => {
  const walker = document.createTreeWalker(head, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const match of node.data.matchAll(/[^\\s_/.-]+/g)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) broken.push(match[0]);
    }
  }
  return broken;
})"""


def keys(page, _):
    """Go through the page with the keyboard alone."""
    focused = "document.activeElement.id"
    page.locator("#split-0").focus()
    page.keyboard.press("ArrowRight")
    out = {"right": page.evaluate(focused)}
    out["outline"] = page.evaluate("getComputedStyle(document.activeElement.firstElementChild).outlineStyle")
    page.keyboard.press("ArrowLeft")
    out["left"] = page.evaluate(focused)
    page.keyboard.press("End")
    out["end"] = page.evaluate(focused)
    page.keyboard.press("Home")
    page.locator("#detail .plot").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    out["picture"] = page.locator("#detail h4").last.inner_text()
    page.locator("#slider").focus()
    page.keyboard.press("ArrowLeft")
    out["slider"] = page.locator("#chosen").inner_text()
    return out


def text(page, _):
    """Count elements that the text of the user could have created."""
    return {
        "images": page.locator("img").count(),
        "bold": page.locator("main b").count(),
        "nasty": page.evaluate("document.body.innerText.split('<img src=x onerror=alert(1)>').length - 1"),
        "title": page.title(),
        "heading": page.locator("h1").inner_text(),
    }


def look(page, _):
    """Width and colours; the button changes them."""
    ground = "getComputedStyle(document.body).backgroundColor"
    out = {"scroll": page.evaluate("document.documentElement.scrollWidth"), "ground": page.evaluate(ground)}
    page.locator("#theme").click()
    out["toggled"] = page.evaluate(ground)
    page.locator("#theme").click()
    out["toggled again"] = page.evaluate(ground)
    page.emulate_media(media="print")
    out["printed"] = page.evaluate(ground)
    return out


def pairs(page, _):
    """Click the last pair of classes."""
    page.locator("[role=treeitem] .item").last.click()
    return {
        "pairs": page.locator("[role=treeitem]").count(),
        "heading": page.locator("#detail h3").inner_text(),
        "cut": page.locator("#cut").is_visible(),
    }


def single(page, _):
    """Look at a page without a split."""
    return {"heading": page.locator("#detail h3").inner_text(), "cut": page.locator("#cut").is_visible()}


def suggest(page, _):
    """Move the slider over the shown and the suggested numbers of clusters, and select a suggested split."""
    out = {"start": page.locator("#chosen").inner_text(), "views": {}}
    for n in ("1", "2", "3"):
        page.locator("#slider").fill(n)
        out["views"][n] = {
            "items": page.locator(".suggested > .item").count(),
            "mark": page.locator("#cut-mark").is_visible(),
            "words": page.locator("#cut-words").inner_text(),
            "spoken": page.locator("#slider").get_attribute("aria-valuetext"),
        }
    item = page.locator(".suggested > .item").first
    out["border"] = item.evaluate("item => getComputedStyle(item).borderTopStyle")
    out["colour"] = item.locator(".mark").evaluate("mark => getComputedStyle(mark).color")
    out["item"] = item.inner_text()
    item.click()
    out["detail"] = page.locator("#detail").inner_text()
    page.locator("#slider").fill("2")
    out["next"] = page.locator("#detail").inner_text()
    out["scroll"] = page.evaluate("document.documentElement.scrollWidth")
    return out


def unmarked(page, _):
    """Look for marks of suggested splits."""
    return {
        "mark": page.locator("#cut-mark").is_visible(),
        "items": page.locator(".suggested").count(),
        "words": page.locator("body").inner_text(),
    }


def boundaries(page, _):
    """Open all boundaries, then move the slider to every number of clusters."""
    read_scores = page.locator("#boundary-list .z").all_inner_texts
    heads = page.locator("#boundary-list summary")
    out = {"open": page.locator("#boundary-list details[open]").count(), "scores": {"3": read_scores()}}
    for k in range(heads.count()):
        heads.nth(k).click()
    page.wait_for_timeout(200)
    out["curves"] = page.locator("#boundary-list .plot path.curve").count()
    out["line"] = page.locator("#boundary-list .plot text", has_text="lowest density").count()
    out["width"] = page.evaluate("document.documentElement.scrollWidth")
    out["scores"]["now"] = read_scores()
    for k in (2, 1):
        page.locator("#slider").fill(str(k))
        out["scores"][str(k)] = read_scores()
    out["shown"] = page.locator("#boundaries").is_visible()
    return out


SCENARIOS = {
    "click": click,
    "slide": slide,
    "overview": overview,
    "keys": keys,
    "text": text,
    "look": look,
    "pairs": pairs,
    "boundaries": boundaries,
    "single": single,
    "suggest": suggest,
    "unmarked": unmarked,
}


def main():
    """Open the page, run the scenario and print its results with the messages of the browser."""
    job = json.loads(sys.argv[1])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=job["chromium"], args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": job.get("width", 1280), "height": 800}, color_scheme=job.get("scheme", "light")
        )
        seen = {"console": [], "errors": [], "requests": [], "dialogs": []}
        page.on("console", lambda message: seen["console"].append(message.text))
        page.on("pageerror", lambda error: seen["errors"].append(str(error)))
        page.on("request", lambda request: seen["requests"].append(request.url))
        page.on("dialog", lambda dialog: (seen["dialogs"].append(dialog.message), dialog.dismiss()))
        page.goto(job["page"])
        page.wait_for_selector("#detail h3")
        page.wait_for_timeout(100)
        seen |= SCENARIOS[job["scenario"]](page, job)
        browser.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
