"""The page of a model and its certificates: numbers that other commands give too, nothing but the file itself, and the
schema of the certificate."""
import base64
import copy
import csv
import html.parser
import json
import os
import re
import shutil
import tempfile

import numpy as np
from browser import CHROMIUM, Browser
from schema import problems
from small import write
from tap import CAIRO, FULL, SOURCE, Skip, answer, error, main, run

folder = tempfile.TemporaryDirectory()
made = {}
FORMS = {"limit": [], "shifted": ["--shift", "tv=0.02"], "classes": ["--per-class"], "curve": ["--curve", "0:0.1:0.05"], "radius": ["--promise-risk", "0.3"]}


def path(*names):
    return os.path.join(folder.name, *names)


def read(*names):
    with open(path(*names), encoding="utf-8") as file:
        return file.read()


def images():
    """Options of image data, a model, a worst-case certificate of each form and one of a sampled attack."""
    if "images" not in made:
        options = write(folder.name)
        for name in ("train", "test"):
            x = np.load(path(f"X_{name}.npy"))
            np.save(path(f"X_{name}.npy"), x.reshape(len(x), 14, 14))
        options += ["--box", "0,1"]
        run("train", *options, "--learn-size", 250, "--defense", "certified", "--norm", "linf", "--eps", 0.05, "--epochs", 3,
            "--out", path("images.model"))
        for form, more in FORMS.items():
            run("certify", path("images.model"), *options, "--attack", "worst-case", *more, "--looks", 5, "--out",
                path(f"{form}.json"))
        run("certify", path("images.model"), *options, "--attack", "pgdu", "--samples", 3, "--steps", 3, "--looks", 5,
            "--out", path("sampled.json"))
        made["images"] = options
    return made["images"]


LABELS = ["<b>\"good\"</b>", "b&d's"]


def table():
    """Options of a table with names that need escaping and a tolerance, a model and a certificate."""
    if "table" not in made:
        rng = np.random.RandomState(1)
        with open(path("table.csv"), "w") as file:
            file.write("a<i>x,b,c,kind\n")
            for i in range(400):
                y = i % 2
                x = rng.normal(size=3) + 2 * y
                quoted = LABELS[y].replace('"', '""')
                file.write(",".join(f"{v:.4f}" for v in x) + f',"{quoted}"\n')
        with open(path("tolerance.csv"), "w") as file:
            file.write("feature,radius,lo,hi\na<i>x,0.2,,\nb,0.1,-9,9\nc,0,,\n")
        options = ["--train", path("table.csv"), "--label-column", "kind"]
        run("train", *options, "--tolerance", path("tolerance.csv"), "--eps", 1, "--norm", "linf", "--defense", "certified",
            "--epochs", 5, "--out", path("table.model"))
        run("certify", path("table.model"), *options, "--attack", "worst-case", "--looks", 1, "--out", path("table.json"))
        run("certify", path("table.model"), *options, "--attack", "worst-case", "--groups", "kind", "--looks", 1, "--out", path("grouped.json"))
        made["table"] = options
    return made["table"]


class Page(html.parser.HTMLParser):
    """Checks that tags close in order; keeps texts, tables (caption, rows of cells), and what tags ask for."""
    VOID = {"meta", "link", "img", "br", "line", "circle", "rect", "path"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tables, self.words, self.asked, self.links, self.ids = [], [], "", [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open
        assert {link[1:] for link in self.links} <= set(self.ids), self.links

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.asked += [v for k, v in attributes.items() if k in ("src", "href", "srcset", "action", "data", "style")]
        assert tag not in ("script", "iframe", "object", "form") and not any(k.startswith("on") for k in attributes), tag
        if tag == "a":
            self.links.append(attributes["href"])
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag == "table":
            self.tables.append(["", []])
        if tag == "tr":
            self.tables[-1][1].append([])
        if tag in ("td", "th"):
            self.tables[-1][1][-1].append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.words += data
        if "caption" in self.open:
            self.tables[-1][0] += data
        elif "td" in self.open or "th" in self.open:
            if "sup" not in self.open:
                self.tables[-1][1][-1][-1] += data

    def with_head(self, *head):
        [rows] = [rows for _, rows in self.tables if rows[0][:len(head)] == list(head)]
        return rows[1:]

    def fact(self, heading):
        return [row[1] for _, rows in self.tables for row in rows if row[0] == heading]


def page(name, *words):
    run("report", *words, "--out", path(name))
    text = read(name)
    found = Page(text)
    assert "Content-Security-Policy" in text and "http://" not in text and "https://" not in text
    assert all(a.startswith(("data:", "#")) for a in found.asked), found.asked
    return found


def share(text):
    """12.5 % (25) -> 25"""
    return int(re.fullmatch(r"[\d.]+ % \((\d+)\)", text).group(1))


def test_numbers_are_those_of_the_other_commands():
    options = images()
    found = page("all.html", path("images.model"), path("limit.json"), *options)
    run("evaluate", path("images.model"), *options, "--attacks", "none,pgd", "--per-example", path("each.csv"))
    with open(path("each.csv"), newline="") as file:
        each = list(csv.DictReader(file))
    rows = found.with_head("class", "examples", "wrong")
    assert [row[0] for row in rows] == ["5", "9", "all"] and int(rows[2][1]) == len(each) == 200
    for row, labels in zip(rows, (("-1",), ("1",), ("-1", "1"))):
        mine = [e for e in each if e["label"] in labels]
        assert int(row[1]) == len(mine)
        assert share(row[2]) == sum(float(e["clean_vote"]) * float(e["label"]) <= 0 for e in mine)
        assert share(row[4]) == sum(e["verdict"] != "robust" for e in mine)
        assert sum(e["verdict"] == "vulnerable" for e in mine) <= share(row[3]) <= share(row[4])  # truth lies between
    certificate = json.loads(read("limit.json"))
    assert certificate["claim"] in found.words and "At most" in found.words
    assert f"({certificate['value']:.10g})" in found.fact("limit for new ones")[0]
    images_shown = read("all.html").count("data:image/png")
    assert images_shown == (8 if CAIRO else 0), images_shown


def test_every_form_of_statement_has_its_place():
    images()
    for form in [*FORMS, "sampled"]:
        certificate = json.loads(read(f"{form}.json"))
        found = page(f"{form}.html", path(f"{form}.json"))  # from the JSON alone
        assert certificate["claim"] in found.words and "What it does not promise" in found.words
        assert "surety verify " + form + ".json" in found.words and "Not measured" in found.words
        if form == "classes":
            assert [row[0] for row in found.with_head("class", "examples of S", "failed")] == ["5", "9"]
        if form == "curve":
            rows = found.with_head("radius", "not proved on S")
            assert [float(row[0]) for row in rows] == [0, 0.05, 0.1]
            assert "between two radii the limit of the larger one holds" in found.words.lower() and read("curve.html").count("<svg") >= 2
            for row, point in zip(rows, certificate["curve"]):
                assert share(row[1]) == point["failed"] and float(row[2].split()[0]) >= 100 * point["value"]
        if form == "shifted":
            assert "if shift tv = 0.02: assumed, not measured" in found.fact("limit under a condition")[0]
        if form == "radius":
            assert found.fact("radius for this risk")[0].startswith(f"{certificate['radius']:.6g}")


def test_several_certificates_and_other_models():
    options = images()
    table()
    found = page("several.html", path("images.model"), path("limit.json"), path("curve.json"), *options)
    assert "Promise 1 of 2" in found.words and "Promise 2 of 2" in found.words
    assert "another model" in error("report", path("images.model"), path("table.json"), "--out", path("no.html"), *options,
                                    code=1)["what"]
    error("report", path("images.model"), path("table.model"), "--out", path("no.html"), code=2)
    error("report", path("images.model"), code=2)  # where to?
    error("report", path("none.json"), "--out", path("no.html"), code=3)
    changed = json.loads(read("limit.json"))
    changed["value"] /= 2
    with open(path("changed.json"), "w") as file:
        json.dump(changed, file)
    assert "digest" in error("report", path("changed.json"), "--out", path("no.html"), code=1)["what"]
    assert not os.path.exists(path("no.html"))


def test_what_is_missing_is_said():
    images()
    found = page("bare.html", path("images.model"))
    assert "The data are not at hand" in found.words and "--train" in found.words and "No promise on this page" in found.words
    error("report", path("images.model"), "--train", path("nothing.npy"), "--test", path("X_test.npy"), "--out", path("bare.html"), code=3)


def test_rows_of_a_table_and_texts_from_outside():
    options = table()
    found = page("table.html", path("table.model"), path("table.json"), *options)
    for text in ("a<i>x", *LABELS):
        assert text in found.words, text  # as text: Page refuses tags that do not close
    radius = {"a<i>x": 0.2, "b": 0.1}
    moves = [rows for caption, rows in found.tables if rows[0] == ["feature", "is", "moved to"]]
    assert len(moves) >= 4
    for rows in moves:
        for name, old, new in rows[1:]:  # at most twice the tolerance: the figure reaches so far
            assert abs(float(new) - float(old)) <= 2 * radius[name] * 1.001, (name, old, new)
    groups = page("grouped.html", path("grouped.json")).with_head("kind", "examples of S")
    assert sorted(row[0] for row in groups) == sorted(LABELS)
    limits = found.with_head("feature", "radius", "from")
    assert limits[2][:2] == ["c", "cannot change"] and limits[1] == ["b", "0.1", "-9", "9"]


def test_the_dossier_points_at_evidence_and_judges_nothing():
    options = images()
    found = page("dossier.html", path("images.model"), path("limit.json"), "--dossier", *options)
    certificate = json.loads(read("limit.json"))
    for sum_ in (certificate["digest"], certificate["counts_sha256"], certificate["data"]["sha256_learn"],
                 certificate["model"]["sha256"]):
        assert sum_ in found.words
    assert found.fact("agrees") == ["yes"] and found.fact("level") == ["bits"]
    rows = found.with_head("objective", "about")
    assert [row[0] for row in rows] == ["LM-04", "LM-07", "LM-12", "LM-13", "LM-14", "DM-06", "IMP-06 to IMP-10"]
    assert rows[-1][2].startswith("not covered") and all(row[2] for row in rows)
    assert not re.search(r"compl(y|ies|iant|iance)", found.words, re.IGNORECASE)
    found = page("numbers.html", path("images.model"), path("limit.json"), "--dossier")
    assert found.fact("agrees") == ["yes"] and found.fact("level") == ["numbers"] and "believed" in found.fact("counts")[0]
    found = page("alone.html", path("limit.json"), "--dossier")
    assert "Not run for this page" in found.words


def test_same_bytes_and_no_look_at_s():
    options = images()
    before = answer("looks", path("limit.json"))
    for threads in (1, 2):
        run("report", path("images.model"), path("limit.json"), *options, "--threads", threads, "--out", path(f"{threads}.html"))
    assert read("1.html") == read("2.html")
    assert answer("looks", path("limit.json")) == before
    shutil.copy(path("X_test.npy"), path("X_fresh.npy"))
    shutil.copy(path("y_test.npy"), path("y_fresh.npy"))
    fresh = ["--fresh", path("X_fresh.npy"), "--box", "0,1"]
    done = run("report", path("images.model"), *fresh, "--out", path("fresh.html"))
    assert "look at the fresh rows" in done.stderr and "the fresh set" in read("fresh.html")


def test_schema_of_the_certificate():
    images()
    table()
    with open(os.path.join(SOURCE, "docs", "certificate.schema.json")) as file:
        schema = json.load(file)
    for name in [*FORMS, "sampled", "table", "grouped"]:
        good = json.loads(read(f"{name}.json"))
        assert not problems(good, schema), (name, problems(good, schema))

    def alter(change, of="limit"):
        bad = copy.deepcopy(json.loads(read(f"{of}.json")))
        change(bad)
        return problems(bad, schema)
    for change in (lambda c: c.pop("value"), lambda c: c.update(extra=1), lambda c: c.update(delta=2), lambda c: c.update(risk="x"),
                   lambda c: c["inputs"].update(m=0), lambda c: c["inputs"].update(m=1.5), lambda c: c["model"].update(sha256="0"),
                   lambda c: c["ledger"].clear(), lambda c: c["ledger"][0].pop("share"), lambda c: c.update(vacuous=0),
                   lambda c: c["data"]["classes"].pop(), lambda c: c.update(format="surety-certificate-2")):
        assert len(alter(change)) == 1, change.__code__.co_firstlineno
    assert alter(lambda c: c["curve"][0].update(value=2), "curve")


def votes():
    """Two certificates of votes, one per class."""
    if "votes" not in made:
        rng = np.random.RandomState(0)
        labels = rng.randint(0, 2, 200)
        np.save(path("V.npy"), np.where(rng.rand(200, 2) < 0.05, 1 - labels[:, None], labels[:, None])[:, :, None])
        np.save(path("Y.npy"), labels)
        files = ["--votes", path("V.npy"), "--labels", path("Y.npy"), "--threat", "<i>noise</i> & more", "--looks", 2]
        run("certify", *files, "--of", "a \"forest\" <b>", "--out", path("votes.json"))
        run("certify", *files, "--per-class", "--rows", path("V.npy"), "--out", path("votes-classes.json"))
        made["votes"] = [path("votes.json"), path("votes-classes.json")]
    return made["votes"]


def test_page_of_votes():
    images()
    found = page("votes.html", *votes(), "--dossier")
    for name in votes():
        c = json.loads(read(os.path.basename(name)))
        assert all(part in found.words for part in (c["claim"], c["sha256"]["votes"], c["digest"], f"{c['value']:.10g}"))
    assert "<i>noise</i> & more" in found.words and 'a "forest" <b>' in found.words  # as text: Page refuses open tags
    assert "surety verify votes.json --votes" in found.words and "never the classifier" in found.words
    assert [row[0] for row in found.with_head("class", "examples of S", "failed")] == ["0", "1"]
    for other in (path("images.model"), path("limit.json")):
        assert "a page of their own" in error("report", votes()[0], other, "--out", path("no.html"), code=2)["what"]
    assert not os.path.exists(path("no.html"))


def test_schema_of_votes():
    with open(os.path.join(SOURCE, "docs", "votes.schema.json")) as file:
        schema = json.load(file)
    one, each = (json.loads(read(os.path.basename(name))) for name in votes())
    assert not problems(one, schema) and not problems(each, schema)
    for good, change in ((one, lambda c: c.pop("risk")), (one, lambda c: c.update(extra=1)), (one, lambda c: c.update(value=1.5)),
                         (one, lambda c: c["inputs"].update(looks=0)), (one, lambda c: c["sha256"].update(votes=None)),
                         (one, lambda c: c.update(format="surety-votes-2")), (one, lambda c: c.update(statement="classes")),
                         (each, lambda c: c["classes"][0].pop("m")), (each, lambda c: c.update(statement="limit")),
                         (each, lambda c: c["counts"].update(tied=-1))):
        bad = copy.deepcopy(good)
        change(bad)
        assert len(problems(bad, schema)) == 1, change.__code__.co_firstlineno


def test_in_a_browser():
    if not FULL:
        raise Skip("only in the full run")
    if not CHROMIUM:
        raise Skip("chromium is not installed: script/setup browser")
    page("browser.html", path("images.model"), path("classes.json"), path("curve.json"), "--dossier", *images())
    page("rows.html", path("table.model"), path("table.json"), "--dossier", *table())
    browser = Browser()
    try:
        for name in ("browser.html", "rows.html"):
            for width, mobile in ((360, True), (400, True), (1280, False)):
                browser.size(width, 800, mobile)
                for scheme in ("light", "dark"):
                    browser.scheme(scheme)
                    browser.open(path(name))
                    wrong = [e for e in browser.events if e[0] in ("Runtime.exceptionThrown", "Log.entryAdded",
                                                                   "Network.loadingFailed")]
                    assert not wrong and browser.ask("document.documentElement.scrollWidth") <= width, (name, width, wrong[:3])
                    assert browser.ask("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
            browser.scheme("light", "print")
            assert browser.ask("getComputedStyle(document.querySelector('.wide')).overflowX") == "visible"
            pdf = base64.b64decode(browser.call("Page.printToPDF")["data"])
            pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
            assert pdf.startswith(b"%PDF") and 3 <= pages <= 14, pages
    finally:
        browser.close()


if __name__ == "__main__":
    main()
