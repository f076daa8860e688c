"""The page of a study: every value where it belongs, nothing but the file itself, the same bytes for the same results, and
what a browser makes of it. The studies are made up here: all tables of the paper, without any training."""
import csv
import html.parser
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import xml.etree.ElementTree
import zlib

from browser import CHROMIUM, Browser
from tap import CAIRO, FULL, SOURCE, SURETY, Skip, answer, error, main, run

HEADER = "task,norm,algorithm,defense,attack,voters,quantity,value,seed,published,difference"
KEYS = HEADER.split(",")[:7]
folder = tempfile.TemporaryDirectory()
with open(os.path.join(SOURCE, "data", "published.csv"), newline="") as file:
    PRINTED = list(csv.DictReader(file))


def path(*names):
    return os.path.join(folder.name, *names)


def read(*names):
    with open(path(*names), "rb") as file:
        return file.read()


def made_up(line, seed):
    """Near print, but nowhere equal; every tenth time far from it, half of these on both sides of it."""
    shift = zlib.crc32(",".join(line[k] for k in KEYS).encode()) % 1000 / 1000 - 0.5
    far = 0.3 if abs(shift) < 0.05 else 0
    return float(line["value"]) + 0.008 * shift + 0.004 * seed + (-far if seed and shift > 0 else far)


def agrees(quantity, numbers, printed):
    """Seed 0 within the tolerance."""
    return abs(numbers[0] - printed) <= (0.02 if quantity.startswith("bound") else 0.01) + 1e-9


def picture(seed):
    return "".join(f"{(i * 7 + seed * 31) % 256:02x}" for i in range(784))


def write(name, version=None, keep=lambda line: True, seeds=2):
    """A study folder; returns its lines, (key, values per seed, printed)."""
    os.makedirs(path(name))
    lines, rows = [], {}
    with open(path(name, "results.csv"), "w") as file:
        file.write(HEADER + "\n")
        for line in filter(keep, PRINTED):
            values = [made_up(line, seed) for seed in range(seeds)]
            lines.append((tuple(line[k] for k in KEYS), [float(f"{v:.6f}") for v in values], float(line["value"])))
            for seed, value in enumerate(values):
                printed = float(line["value"])
                file.write(",".join(line[k] for k in KEYS) + f",{value:.6f},{seed},{printed:.3f},{value - printed:.6f}\n")
                cell = (line["task"], line["norm"], line["voters"], line["defense"], seed)
                rows.setdefault(cell, {}).setdefault((line["algorithm"], line["attack"]), {})[line["quantity"]] = value
    cells = []
    for (task, norm, voters, defense, seed), found in rows.items():
        radius = 1 if norm == "l2" else 0.1
        cells.append({
            "cell": {"task": task, "norm": norm, "voters": voters, "defense": defense, "seed": seed},
            "rows": [{"algorithm": a, "attack": k, "tv": 0.25 * q.get("bound_tv", 0)} for (a, k), q in found.items()],
            "curve": {"attack": "pgd", "eps": [radius * i / 4 for i in range(9)], "risk": [0.05 * i for i in range(9)]},
            "gallery": {"attack": "pgd", "height": 28, "width": 28, "examples": [
                {"row": 5, "label": -1, "clean_vote": -0.5, "attacked_vote": 0.25, "distance": 0.9,
                 "original": picture(1), "attacked": picture(2)}]}})
    version = version or run("--version").stdout.split()[1]
    with open(path(name, "results.json"), "w") as file:
        json.dump({"surety": version, "settings": {"recipe": "print", "epochs": 20, "samples": 100, "steps": 20},
                   "cells": cells}, file)
    return lines


lines_of_whole = []


def whole():
    """The page of a study with all 2304 values."""
    if not lines_of_whole:
        lines_of_whole.extend(write("whole"))
        found = answer("report", path("whole"))
        assert (found["compared"], found["tables"], found["figures"]) == (2304, 36, 4), found
    return read("whole", "report.html").decode()


class Tables(html.parser.HTMLParser):
    """Tables behind their headings: (heading, caption, rows of cells); a cell is a list of (text, tags around it)."""

    def __init__(self):
        super().__init__()
        self.heading, self.tables, self.open = "", [], []

    def handle_starttag(self, tag, attributes):
        if tag in ("meta", "link", "img", "br", "line", "rect", "circle", "path"):
            return
        self.open.append(tag)
        if tag == "h3":
            self.heading = ""
        elif tag == "table":
            self.tables.append([self.heading, "", []])
        elif tag == "tr" and "table" in self.open:
            self.tables[-1][2].append([])
        elif tag in ("td", "th"):
            self.tables[-1][2][-1].append((tag, dict(attributes).get("class", "") or "", []))

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open[-1] == tag, (self.open, tag)
            self.open.pop()

    def handle_data(self, text):
        if "h3" in self.open:
            self.heading += text
        elif "caption" in self.open:
            self.tables[-1][1] += text
        elif "td" in self.open or "th" in self.open:
            self.tables[-1][2][-1][-1][2].append((text, "b" in self.open, "small" in self.open))


def test_every_value_is_in_its_cell():
    page = whole()
    parser = Tables()
    parser.feed(page)
    parser.close()
    values = {key: (numbers, printed) for key, numbers, printed in lines_of_whole}
    titles = {"Objective chromatic": ("chromatic", ["adversarial_risk", "averaged_risk", "bound_seeger"]),
              "Objective average-max": ("average-max", ["adversarial_risk", "averaged_max_risk", "bound_tv", "bound_max"]),
              "Baseline: step 1 alone": ("baseline", ["adversarial_risk"])}
    tasks = {f"{'MNIST' if t['dataset'] == 'mnist' else 'Fashion-MNIST'}: {t['class_names'][0]} vs {t['class_names'][1]}":
             t["name"] for t in answer("data", "list")["tasks"]}
    seen = 0

    def short(value):
        return f"{value:.3f}".removeprefix("0")

    for heading, caption, rows in parser.tables:
        if caption not in titles:
            continue
        algorithm, quantities = titles[caption]
        task, norm = tasks[heading.split(",")[0]], heading.split(",")[1].split()[0]
        for row in rows[2:]:
            (_, _, [(defense, _, _)]), (_, _, [(attack, _, _)]) = row[:2]
            assert len(row) == 2 + 2 * len(quantities)
            for i, quantity in enumerate(quantities):
                firsts, prints, cells = [], [], row[2 + 2 * i:4 + 2 * i]
                for voters in ("signed", "real"):
                    numbers, printed = values[(task, norm, algorithm, defense, attack, voters, quantity)]
                    firsts.append(numbers[0])
                    prints.append(printed)
                for k, voters in enumerate(("signed", "real")):
                    numbers, printed = values[(task, norm, algorithm, defense, attack, voters, quantity)]
                    _, classes, texts = cells[k]
                    seen += 1
                    ours = [(t, bold) for t, bold, small in texts if not small]
                    below = [(t, bold) for t, bold, small in texts if small]
                    off = not agrees(quantity, numbers, printed)
                    assert ("off" in classes) == off == ("\u2260" in "".join(t for t, _ in ours)), (heading, row[:2], ours)
                    text = "".join(t for t, _ in ours).replace("\u2260 ", "")
                    assert text == short(firsts[k]), (text, firsts)
                    bold = round(1000 * firsts[k]) < round(1000 * firsts[1 - k])
                    if abs(1000 * firsts[k] % 1 - 0.5) > 1e-6 and abs(1000 * firsts[1 - k] % 1 - 0.5) > 1e-6:
                        assert any(b for _, b in ours) == bold, (heading, row[:2], quantity, firsts)
                    assert below[0][0] == f"{min(numbers):.3f}\u2013{max(numbers):.3f}", below
                    assert "".join(t for t, _ in below[1:]) == "print " + short(printed)
                    assert below[-1][1] == (prints[k] < prints[1 - k])
    assert seen == 2304


def test_verdict_counts_what_agrees():
    page = whole()
    agree = near = either = 0
    for key, numbers, printed in lines_of_whole:
        fine, inside = agrees(key[6], numbers, printed), min(numbers) <= printed <= max(numbers)
        agree += fine
        near += abs(numbers[0] - printed) <= 0.0015 + 1e-9
        either += fine or inside
    assert f"<strong>{agree} of 2304 printed values agree with ours</strong>; {near} of them to within 0.0015" in page
    assert f"<strong>{either}</strong> agree or lie inside the band" in page
    assert 0 < near < agree < either < 2304 and f"do not agree: {2304 - either}<" in page
    assert page.index("printed values agree") < page.index("<svg") < page.index("Objective chromatic")


def test_needs_nothing_but_itself():
    page = whole()
    assert "<script" not in page and "javascript:" not in page and "http:" not in page and "https:" not in page
    assert not re.search(r"\bid\s*=", page) and "@import" not in page and "url(" not in page
    for address in re.findall(r"(?:src|href)=\"([^\"]*)", page):
        assert address.startswith("data:"), address[:80]
    assert "default-src 'none'" in page and "prefers-color-scheme" in page and "@media print" in page
    assert page.count("<svg") == page.count("role=\"img\"") == page.count("</title>\n<line") + page.count("</title>\n<text") + \
        page.count("</title>\n<rect")
    assert re.search(r"\.f0\{fill:currentColor\}", page) and not re.search(r"<svg[^>]*>[^#]*fill=\"#", page)
    assert page.count("<img") == page.count("alt=\"original, perturbation, fooled: ") == (6 * 2 * 2 if CAIRO else 0)


def check_png(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, names = 8, []
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(data[at + 4:at + 8 + length])
        names.append(name)
        at += 12 + length
    assert names[-1] == b"IEND" and b"tIME" not in names and b"tEXt" not in names, names


def check_pdf(data):
    assert data.startswith(b"%PDF-") and b"CreationDate" not in data and b"ModDate" not in data
    start = int(re.search(rb"startxref\s+(\d+)\s+%%EOF\s*$", data).group(1))
    table = data[start:]
    assert table.startswith(b"xref")
    count = int(re.match(rb"xref\s+0 (\d+)", table).group(1))
    for number, (offset, kind) in enumerate(re.findall(rb"(\d{10}) \d{5} ([nf])", table)):
        assert kind == b"f" or data[int(offset):].startswith(b"%d 0 obj" % number), number
    assert number + 1 == count


def test_figures_are_sound_files():
    whole()
    names = sorted(os.listdir(path("whole", "figures")))
    assert names == sorted(f"{figure}.{kind}" for figure in ("tv-share", "scatter", "radius-l2", "radius-linf")
                           for kind in ("svg", "png", "pdf") if CAIRO or kind == "svg")
    for name in names:
        data = read("whole", "figures", name)
        if name.endswith("png"):
            check_png(data)
        elif name.endswith("pdf"):
            check_pdf(data)
        else:
            root = xml.etree.ElementTree.fromstring(data)
            assert root.tag == "{http://www.w3.org/2000/svg}svg" and not any("id" in e.attrib for e in root.iter())
            width, height = float(root.attrib["width"]), float(root.attrib["height"])
            for e in root.iter():
                for key, most in (("x", width), ("y", height), ("cx", width), ("cy", height), ("x2", width)):
                    if key in e.attrib:
                        assert -1 <= float(e.attrib[key]) <= most + 1, (name, e.attrib)


def test_what_is_left_out_is_said():
    said = run("report", path("whole")).stderr
    for text in (whole(), said):
        assert ("Built without cairo" in text) == (not CAIRO), said


def test_scatter_and_bars_stand_where_the_numbers_say():
    whole()
    svg = "{http://www.w3.org/2000/svg}"
    root = xml.etree.ElementTree.fromstring(read("whole", "figures", "scatter.svg"))
    marks = [e for e in root.iter() if e.tag in (svg + "circle", svg + "path")]
    assert len(marks) == 4 * 6 * 2 * 2 + 3  # panels, tasks, attacks, ours and print; legend
    bars = [e for e in xml.etree.ElementTree.fromstring(read("whole", "figures", "tv-share.svg")).iter(svg + "rect")]
    bars = [b for b in bars if b.attrib["fill"] != "#ffffff"][:-2]
    assert len(bars) == 2 * 8 * 2
    totals = {key: v[0] for key, v, _ in lines_of_whole if key[:3] == ("mnist-1v7", "l2", "average-max") and
              key[6] == "bound_tv" and key[4] != "none"}
    order = [(d, a) for d in ("none", "unif", "pgdu", "ifgsmu") for a in ("pgdu", "ifgsmu")]
    for panel, voters in enumerate(("signed", "real")):
        heights = []
        for i, (defense, attack) in enumerate(order):
            rest, tv = bars[16 * panel + 2 * i:16 * panel + 2 * i + 2]
            heights.append((float(rest.attrib["height"]), float(tv.attrib["height"]),
                            totals[("mnist-1v7", "l2", "average-max", defense, attack, voters, "bound_tv")]))
        unit = (heights[0][0] + heights[0][1]) / heights[0][2]
        for rest, tv, total in heights:
            assert abs(rest + tv - unit * total) < 0.1 and abs(tv - unit * 0.5 * total) < 0.1


def test_same_results_same_bytes():
    whole()
    shutil.copytree(path("whole"), path("again"), ignore=shutil.ignore_patterns("figures", "report.html"))
    run("report", path("again"), env={"TZ": "Asia/Tokyo", "SOURCE_DATE_EPOCH": "1"}, cwd="/")
    for name in ["report.html"] + [os.path.join("figures", n) for n in os.listdir(path("whole", "figures"))]:
        assert read("again", name) == read("whole", name), name


def test_a_link_is_not_written_through():
    whole()
    for name in ("report.html", os.path.join("figures", os.listdir(path("whole", "figures"))[0])):
        shutil.rmtree(path("linked"), ignore_errors=True)
        shutil.copytree(path("whole"), path("linked"))
        os.remove(path("linked", name))
        os.symlink(path("linked", "results.csv"), path("linked", name))
        e = error("report", path("linked"), code=2)
        assert "link" in e["what"] and e["file"].endswith(name), e
        assert read("linked", "results.csv") == read("whole", "results.csv")


def test_a_part_of_the_grid():
    write("part", keep=lambda l: l["task"] == "fashion-coat-v-shirt" and l["norm"] == "linf" and l["voters"] == "real",
          seeds=1)
    found = answer("report", path("part"))
    page = read("part", "report.html").decode()
    assert found["compared"] == 96 and found["tables"] == 3 and "holds a part of its grid" in page
    write("one", keep=lambda l: l["algorithm"] == "baseline" and l["task"] == "mnist-5v6" and l["defense"] == "pgd", seeds=1)
    assert answer("report", path("one"))["compared"] == 12
    os.makedirs(path("empty"))
    for name in ("results.csv", "results.json"):
        shutil.copy(path("part", name), path("empty", name))
    with open(path("empty", "results.csv"), "w") as file:
        file.write(HEADER + "\n")
    assert answer("report", path("empty"))["compared"] == 0


def test_against_every_attack_is_a_table_of_means():
    assert "Against every attack" not in whole()
    write("worst", keep=lambda l: l["task"] == "mnist-4v9" and l["norm"] == "linf" and l["defense"] == "pgdu", seeds=1)
    results = json.loads(read("worst", "results.json"))
    for seed, shift in ((0, 0.0), (7, 0.001)):
        results["cells"].append({
            "cell": {"task": "mnist-4v9", "norm": "linf", "voters": "signed", "defense": "certified", "seed": seed},
            "rows": [{"attack": "none", "adversarial_risk": 0.0501 + shift}, {"attack": "pgd", "adversarial_risk": 0.1},
                     {"attack": "worst-case", "not_proved": 0.1104 + shift,
                      "bounds": {"worst_case_frozen": 0.1201 + shift, "worst_case_anchored": 1.2001}}],
            "curve": None, "gallery": None})
    with open(path("worst", "results.json"), "w") as file:
        json.dump(results, file)
    with_section = answer("report", path("worst"))
    page = read("worst", "report.html").decode()
    parser = Tables()
    parser.feed(page)
    parser.close()
    [rows] = [rows for _, _, rows in parser.tables if ("th", "", [("not proved", False, False)]) in rows[0]]
    assert ["".join(t for t, _, _ in texts) for _, _, texts in rows[1]] == [
        "mnist-4v9", "linf", "soft-forest", "signed", "2", ".051", ".100", ".111", ".121", "1.201", ".200", ".337"], rows[1]
    assert len(rows) == 2 and page.count("Against every attack") == 1 and page.index("rounded up") < page.index("<svg")
    write("without", keep=lambda l: l["task"] == "mnist-4v9" and l["norm"] == "linf" and l["defense"] == "pgdu", seeds=1)
    without = answer("report", path("without"))
    assert {**with_section, "bytes": 0, "page": 0} == {**without, "bytes": 0, "page": 0}


def test_kinds_stand_below_each_other_and_need_no_printed_value():
    write("kinds", keep=lambda l: False, seeds=1)
    results = json.loads(read("kinds", "results.json"))
    for kind, voters, attack, limit in ((None, "real", "pgd", 0.09), ("trees", "real", "search", 0.0301),
                                        ("lipschitz", "signed", "pgd", 0.34)):
        cell = {"task": "mnist-4v9", "norm": "linf", "voters": voters, "defense": "certified", "seed": 0}
        results["cells"].append({
            "cell": cell if kind is None else {**cell, "kind": kind},
            "rows": [{"attack": "none", "adversarial_risk": 0.01}, {"attack": attack, "adversarial_risk": 0.02},
                     {"attack": "worst-case", "not_proved": 0.025, "bounds": {"worst_case_frozen": limit}}],
            "curve": None, "gallery": None})
    with open(path("kinds", "results.json"), "w") as file:
        json.dump(results, file)
    found = answer("report", path("kinds"))
    assert (found["compared"], found["tables"], found["figures"]) == (0, 0, 0), found
    page = read("kinds", "report.html").decode()
    assert "printed values agree" not in page and "Fooled" not in page and "looked at S" in page
    parser = Tables()
    parser.feed(page)
    parser.close()
    [(_, _, rows)] = parser.tables
    shown = [["".join(t for t, _, _ in texts) for _, _, texts in row] for row in rows[1:]]
    assert [row[2:5] + row[5:9] for row in shown] == [
        ["soft-forest", "real", "1", ".010", ".020", ".025", ".090"], ["trees", "real", "1", ".010", ".020", ".025", ".031"],
        ["lipschitz", "signed", "1", ".010", ".020", ".025", ".340"]], shown
    assert page.count("<b>") == 1 and "<b>.031</b>" in page


def test_a_damaged_line_is_named():
    write("bad", keep=lambda l: l["task"] == "mnist-1v7", seeds=1)
    good = read("bad", "results.csv").decode().splitlines()
    fields = good[7].split(",")
    cases = [("", 8), (good[7] + ",1", 8), (good[7].replace(fields[7], "x"), 8), (good[7].replace(fields[7], "nan"), 8),
             (good[7].replace("mnist-1v7", "mnist-1v8"), 8), (",".join(fields[:8] + ["-1"] + fields[9:]), 8),
             (",".join(fields[:8] + ["5000"] + fields[9:]), 8), (good[7].replace("l2", "l1"), 8), ("x" * 1000, 8),
             (good[7][:20], 8), ("\0", 8), (",".join(fields[:10]), 8)]
    for text, number in cases:
        with open(path("bad", "results.csv"), "w") as file:
            file.write("\n".join(good[:7] + [text] + good[8:]) + "\n")
        e = error("report", path("bad"), code=3)
        assert e["place"] == f"line {number}" and e["file"].endswith("results.csv"), (text, e)
    for content, place in (("", ""), ("task,norm\n", "line 1"), ("\n".join(good), f"line {len(good)}")):
        with open(path("bad", "results.csv"), "w") as file:
            file.write(content)
        e = error("report", path("bad"), code=3)
        assert e["place"] == place and e["file"].endswith("results.csv"), e
    assert not os.path.exists(path("bad", "report.html"))


def test_other_bad_input():
    assert error("report", path("nothing"), code=3)["file"] == path("nothing")
    os.mkdir(path("no study"))
    assert "results.csv" in error("report", path("no study"), code=3)["file"]
    write("json", keep=lambda l: l["task"] == "mnist-1v7", seeds=1)
    good = read("json", "results.json").decode()
    for bad, what in ((good[:500], "line 1"), ("[]", ""), ("{}", ""), ("", "")):
        with open(path("json", "results.json"), "w") as file:
            file.write(bad)
        e = error("report", path("json"), code=3)
        assert e["file"].endswith("results.json") and what in e["place"], e
    with open(path("json", "results.json"), "w") as file:
        file.write(good.replace(picture(1), picture(1)[:-2] + "zz"))
    if CAIRO:  # else no picture is looked at
        assert "picture" in error("report", path("json"), code=3)["what"]
    os.remove(path("json", "results.json"))
    assert "results.json" in error("report", path("json"), code=3)["file"]
    write("version", version="0.0.9", keep=lambda l: l["task"] == "mnist-1v7", seeds=1)
    assert "another version: 0.0.9" in error("report", path("version"), code=3)["what"]
    run("report", code=2)


def change(name, alter):
    """results.json of a study, altered."""
    with open(path(name, "results.json")) as file:
        found = json.load(file)
    alter(found["cells"])
    with open(path(name, "results.json"), "w") as file:
        json.dump(found, file)


def test_huge_numbers_end():
    """Whatever a file says, axes have few ticks and drawings are finite."""
    write("huge", keep=lambda l: l["task"] == "mnist-1v7", seeds=1)
    lines = read("huge", "results.csv").decode().splitlines()
    fields = lines[1].split(",")
    for value in ("1.79e308", "-1e300", "1e7"):
        with open(path("huge", "results.csv"), "w") as file:
            file.write("\n".join([lines[0], ",".join(fields[:7] + [value] + fields[8:]), *lines[2:]]) + "\n")
        e = error("report", path("huge"), code=3, timeout=60)
        assert e["place"] == "line 2", e
    with open(path("huge", "results.csv"), "w") as file:
        file.write("\n".join(lines) + "\n")

    def alter(cells):
        for i, cell in enumerate(cells):
            huge = (1.79e308, -1.79e308, 5e-324, 1e300)[i % 4]
            cell["curve"]["eps"] = [huge] * 9
            cell["curve"]["risk"] = [huge] * 9
            for row in cell["rows"]:
                row["tv"] = huge
            for example in cell["gallery"]["examples"]:
                example.update(row=2 ** 62, label=-2 ** 31, clean_vote=huge, attacked_vote=huge, distance=huge)
    change("huge", alter)
    run("report", path("huge"), timeout=60)
    page = read("huge", "report.html").decode()
    assert not re.search(r'="-?(nan|inf)', page) and len(page) < 2e6
    change("huge", lambda cells: cells[0]["curve"].update(eps=[0.5] * 200000, risk=[0.5] * 200000))
    run("report", path("huge"), timeout=60)
    assert len(read("huge", "report.html")) < 2e6


def test_a_full_disk_leaves_the_old_page():
    write("limit", keep=lambda l: l["task"] == "mnist-1v7", seeds=1)
    run("report", path("limit"))
    before = read("limit", "report.html")
    done = subprocess.run([SURETY, "report", path("limit")], capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
    assert done.returncode == 4 and "cannot write" in done.stderr, done.stderr
    assert read("limit", "report.html") == before


def contrast(a, b):
    """Of two CSS colours, as WCAG counts it."""
    def light(colour):
        parts = [int(v) / 255 for v in re.findall(r"\d+", colour)[:3]]
        parts = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_in_a_browser():
    if not FULL:
        raise Skip("only in the full run")
    if not CHROMIUM:
        raise Skip("chromium is not installed: script/setup browser")
    whole()
    browser = Browser()
    try:
        for width, height, mobile in ((360, 740, True), (1280, 900, False)):
            browser.size(width, height, mobile)
            for scheme in ("light", "dark"):
                browser.scheme(scheme)
                browser.open(path("whole", "report.html"))
                asked = [p["request"]["url"] for name, p in browser.events if name == "Network.requestWillBeSent"]
                assert all(url.startswith(("data:", "file://" + path("whole", "report.html"))) for url in asked), asked
                wrong = [e for e in browser.events if e[0] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled",
                                                               "Log.entryAdded", "Network.loadingFailed")]
                assert not wrong, wrong[:3]
                assert browser.ask("document.documentElement.scrollWidth") <= width
                assert browser.ask("[...document.images].every(i => i.complete && i.naturalWidth == 88)")
                assert browser.ask("document.querySelectorAll('[id]').length") == 0
                paper = browser.ask("getComputedStyle(document.body).backgroundColor")
                for kind, least in (("body", 7), ("svg text", 7), ("td.off", 4.5), ("a, .f2", 3), (".f3", 3)):
                    style = "fill" if kind != "body" and kind != "td.off" else "color"
                    colour = browser.ask(f"getComputedStyle(document.querySelector('{kind}')).{style}")
                    back = browser.ask("getComputedStyle(document.querySelector('td.off')).backgroundColor") \
                        if kind == "td.off" else paper
                    assert contrast(colour, back) >= least, (scheme, kind, colour, back)
                assert (contrast(paper, "rgb(255,255,255)") < 1.2) == (scheme == "light"), paper
                letters = browser.ask("Math.min(...[...document.querySelectorAll('svg text')].map(t => "
                                      "t.getBoundingClientRect().height / (t.hasAttribute('transform') ? 99 : 1)).filter("
                                      "h => h > 2))")
                assert letters >= 9, letters
        browser.scheme("light", "print")
        assert browser.ask("getComputedStyle(document.querySelector('.wide')).overflowX") == "visible"
    finally:
        browser.close()


if __name__ == "__main__":
    main()
