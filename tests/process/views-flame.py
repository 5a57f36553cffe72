# SPDX-License-Identifier: MIT
# labels: analyze
# timeout: 180
# run-as: self
"""The flame graph answers: zoom, reset, search, keys. In Chromium where it is installed (at 400 MB it is not worth
being installed for this); in node, with a small fake of a browser's document, where that is."""
import urllib.parse
import xml.etree.ElementTree

from harness import *

SVG = "{http://www.w3.org/2000/svg}"
LEFT, WIDTH = 10, 1180


class Box:
    def __init__(self, group):
        self.start, self.weight, self.level = (int(group.get(f"data-{key}")) for key in "xwl")
        self.end = self.start + self.weight
        self.title = group.find(SVG + "title").text
        self.name = self.title.split("\n")[0]
        rect = group.find(SVG + "rect")
        self.x, self.width = float(rect.get("x")), float(rect.get("width"))

    def holds(self, other):
        return self.start <= other.start and other.end <= self.end


def visible(width):
    """A seam is left between neighbours, and of the narrowest box something to see."""
    return width - 0.5 if width > 2 else max(0.1, width)


def plain(element):
    """ELEMENT for browser/dom.js."""
    return {"tag": element.tag.split("}")[-1], "attributes": dict(element.attrib), "text": element.text or "",
            "children": [plain(child) for child in element]}


def in_chromium(path, window):
    """The document after its scripts have run; None where Chromium does not start here."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
               "--disable-background-networking", "--hide-scrollbars", f"--window-size={window},900",
               f"--user-data-dir={os.path.abspath('browser')}", "--dump-dom"]
    result = run(["chromium", *options, pathlib.Path(path).absolute().as_uri()])
    return result.out if "<svg" in result.out else None


def use(picture, window=LEFT + WIDTH + LEFT, **settings):
    """What flame-test.js saw in the picture (text) in a window of so many pixels."""
    driver = (SOURCE / "tests/process/browser/flame-test.js").read_text()
    root = xml.etree.ElementTree.fromstring(picture)
    root.set("data-test", json.dumps(settings))
    root.set("data-window", str(window))
    xml.etree.ElementTree.SubElement(root, SVG + "script").text = driver
    xml.etree.ElementTree.register_namespace("", SVG[1:-1])
    pathlib.Path("used.svg").write_bytes(xml.etree.ElementTree.tostring(root))
    found = {}
    if shutil.which("chromium", path=PATH):
        document = in_chromium("used.svg", window)
        if document:
            found["chromium"] = check_match(r'data-result="([^"]*)"', document)[1]
        else:
            print("chromium does not start here", flush=True)
    if shutil.which("node", path=PATH):
        pathlib.Path("used.json").write_text(json.dumps(plain(root)))
        found["node"] = run(["node", SOURCE / "tests/process/browser/dom.js", "used.json"]).ok().out
    if not found:
        skip("neither chromium nor node is installed")
    return {program: json.loads(urllib.parse.unquote(text)) for program, text in found.items()}


def check_zoom(seen, boxes, chosen):
    for box, now in zip(boxes, seen["zoomed"]["boxes"]):
        above = box.level < chosen.level and box.holds(chosen)
        inside = box.level >= chosen.level and chosen.holds(box)
        check_equal((now["shown"], now["dim"]), (above or inside, above), box.name)
        if above:
            check_equal((now["x"], now["width"]), (LEFT, visible(WIDTH)), box.name)
        elif inside:
            check_near(now["x"], LEFT + (box.start - chosen.start) * WIDTH / chosen.weight, points=0.02, what=box.name)
            check_near(now["width"], visible(box.weight * WIDTH / chosen.weight), points=0.02, what=box.name)
            if now["width"] > 6 + 7 * len(box.name):
                check_equal(now["text"], box.name)
    check(not seen["zoomed"]["idle"] and seen["start"]["idle"], "the reset button")
    for name in ("escaped", "reset"):
        for box, now in zip(boxes, seen[name]["boxes"]):
            check(now["shown"] and not now["dim"], box.name)
            check_near(now["x"], box.x, points=0.02, what=box.name)
            check_near(now["width"], box.width, points=0.02, what=box.name)
        check(seen[name]["idle"], name)


def check_search(seen, boxes, words):
    hits = [box for box in boxes[1:] if re.search(words, box.name, re.IGNORECASE)]
    outer = [box for box in hits if not any(other.level < box.level and other.holds(box) for other in hits)]
    share = 100 * sum(box.weight for box in outer) / boxes[0].weight
    match = check_match(r"^Matched: ([\d.]+) % in (\d+) box", seen["searched"]["matched"])
    check_near(float(match[1]), share, points=0.01, what="share of the search")
    check_equal(int(match[2]), len(hits), "boxes of the search")
    check_equal([now["hit"] for now in seen["searched"]["boxes"]], [box in hits for box in boxes])
    check_match(r"^Matched: [\d.]+ % in \d+ box", seen["literal"]["matched"])
    check_equal(seen["cleared"]["matched"], "")
    check(not any(now["hit"] for now in seen["cleared"]["boxes"]), "hits after the search")


def check_keys(seen, boxes):
    first = next(index for index, box in enumerate(boxes) if box.level == 1)
    check_equal(seen["inwards"]["active"], first)
    check_equal(seen["inwards"]["details"], "   ".join(boxes[first].title.split("\n")))
    check_equal(seen["entered"]["boxes"][first]["width"], visible(WIDTH))
    check_equal(seen["outwards"]["active"], 0)


def check_picture(*options, inwards, outwards):
    picture = panalyze("flame", "--min=0", "-o", "-", "--event=page-faults", *options, DATA / "fp.data").ok().out
    root = xml.etree.ElementTree.fromstring(picture)
    boxes = [Box(group) for group in root.iter(SVG + "g") if group.get("class") == "b"]
    # A box that is neither everything nor alone, with something on it.
    index = next(index for index, box in enumerate(boxes) if box.level > 1 and box.weight < boxes[0].weight
                 and index + 1 < len(boxes) and boxes[index + 1].level > box.level)
    words = "^." + re.escape(boxes[index].name[1:4])
    for program, seen in use(picture, box=index, words=words, inwards=inwards, outwards=outwards).items():
        print(f"in {program}: {len(boxes)} boxes", flush=True)
        check_equal([now["width"] for now in seen["start"]["boxes"]], [box.width for box in boxes], "at the start")
        check_zoom(seen, boxes, boxes[index])
        check_search(seen, boxes, words)
        check_keys(seen, boxes)
        # What is written in a box is the same, whether panalyze or the script chose it.
        check_equal([now["text"] for now in seen["escaped"]["boxes"]], [now["text"] for now in seen["start"]["boxes"]])
        check_equal(seen["pointed"]["details"], "   ".join(boxes[index].title.split("\n")))


def test_flame():
    check_picture(inwards="ArrowDown", outwards="ArrowUp")


def test_upright():
    check_picture("--upright", inwards="ArrowUp", outwards="ArrowDown")


def test_reverse():
    check_picture("--reverse", inwards="ArrowDown", outwards="ArrowUp")


def test_windows():
    """As wide as the window; a narrow one shows the picture as it was drawn."""
    picture = panalyze("flame", "-o", "-", "--event=page-faults", DATA / "fp.data").ok().out
    for window in 1600, 700:
        for seen in use(picture, window=window, box=1, words="x", inwards="ArrowDown", outwards="ArrowUp").values():
            width = max(window - 2 * LEFT, WIDTH)
            for name in "start", "escaped":
                check_equal(seen[name]["boxes"][0]["width"], visible(width), (window, name))
            check_equal((seen["zoomed"]["boxes"][1]["x"], seen["zoomed"]["boxes"][1]["width"]), (LEFT, visible(width)))


if __name__ == "__main__":
    main()
