"""More than two classes as a user meets them: text labels from a CSV file through every command, what is said of each class, and
predict's answers counted again in Python."""
import csv
import json
import os
import tempfile

import numpy as np

from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
NAMES = ["ant", "bee, wild", "\u00e9lan"]
SIZES = ["--learn-size", 150, "--test-size", 120]
QUICK = ["--steps", 3, "--samples", 3, "--quiet"]


def path(name):
    return os.path.join(FOLDER.name, name)


def write(name, labels, spread=0.6, d=4):
    """A CSV file of features that tell the label's number, more or less; spread None: they tell nothing."""
    random, kinds = np.random.default_rng(7), sorted(set(labels))
    with open(path(name), "w", encoding="utf-8", newline="") as f:
        lines = csv.writer(f)
        for label in labels:
            x = np.clip(kinds.index(label) / len(kinds) + spread * random.random(d), 0, 1) if spread else np.full(d, 0.5)
            lines.writerow([f"{v:.4f}" for v in x] + [label])
    return path(name)


def train(name, file, *options):
    """What train answers."""
    return answer("train", "--preset", "paper", "--train", file, *SIZES, "--trees", 5, "--epochs", 6, "--eps", 0.1, "--steps", 2, "--lr", 0.1, "--voters", "real",
                  "--quiet", "--out", path(name), *options)


def read(name):
    with open(path(name), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


FILE = write("bugs.csv", [NAMES[i % 3] for i in range(570)])
TRAINED = train("m", FILE)
DATA = ["--train", FILE]
run("attack", path("m"), *DATA, "--attack", "none", "--quiet", "--out", path("T.npy"), "--labels", path("y.npy"))  # T in its order
Y = np.load(path("y.npy"))


def confusion(y, answers, names):
    """Counts (K, K + 1)."""
    table = np.zeros((len(names), len(names) + 1), int)
    for k, name in zip(y, answers):
        table[k, [*names, "tied"].index(name)] += 1
    return table


def check_rows(found, names, y):
    """What evaluate says of classes, against the labels of T."""
    assert found["classes"] == names
    for row in found["attacks"]:
        each = row["class_risks"]
        assert [c["class"] for c in each] == names and [c["examples"] for c in each] == [(y == k).sum() for k in range(len(names))]
        risk = row["not_proved"] if row["attack"] == "worst-case" else row["adversarial_risk"]
        assert sum(c["failed"] for c in each) / len(y) == risk
        assert all(c["risk"] == (c["failed"] / c["examples"] if c["examples"] else None) for c in each)
        if row["attack"] == "none":
            assert found["clean_error"] == risk
            assert [c["failed"] for c in each] == [sum(line) - line[k] for k, line in enumerate(found["confusion"])]


def test_evaluate_by_class():
    words = ["evaluate", path("m"), *DATA, *QUICK, "--attacks", "none,pgd,pgdu,worst-case"]
    found = answer(*words)
    check_rows(found, NAMES, Y)
    assert all(answer(*words, "--threads", n) == found for n in (1, 3))
    run("predict", path("m"), "--input", path("T.npy"), "--classes", path("c.csv"))
    answers = [line["class"] for line in read("c.csv")]
    assert found["confusion"] == confusion(Y, answers, NAMES).tolist()
    counts = answer("data", "show", *DATA, *SIZES)["class_counts"]
    largest = int(np.argmax(counts["prior"]))
    assert found["majority_error"] == (Y != largest).mean() > found["clean_error"] > 0
    text = run(*words).stdout
    assert all(len(line) <= 80 for line in text.splitlines()) and "no better" not in text
    assert f"clean error on T: {found['clean_error']:.4f} (always answering '{NAMES[largest]}'" in text
    for k, name in enumerate(NAMES):
        table = [line[18:].split() for line in text.splitlines() if line.startswith("  " + name)]
        risks = [f"{row['class_risks'][k]['risk']:.4f}" for row in found["attacks"]]
        assert table == [[str((Y == k).sum()), *risks], [str(n) for n in found["confusion"][k]]], table


def test_predict():
    words = ["predict", path("m"), "--input", path("T.npy")]
    result = answer(*words, "--out", path("V.npy"), "--votes", path("H.npy"), "--classes", path("c.csv"))
    V, H, lines = np.load(path("V.npy")), np.load(path("H.npy")), read("c.csv")
    assert V.dtype == np.float64 and V.shape == (120, 3) and np.abs(V.sum(1) - 1).max() < 1e-5
    assert H.dtype == np.float32 and H.shape == (120, 5, 3) and np.abs(H.sum(2) - 1).max() < 1e-5
    assert [line["row"] for line in lines] == [str(i) for i in range(120)]
    best, second = np.argmax(V, 1), np.sort(V, 1)[:, -2]
    clear = V.max(1) - second > 1e-12
    answers = np.array([line["class"] for line in lines])
    assert (answers == np.array(NAMES)[best])[clear].all() and set(answers[~clear]) <= {"tied"}
    assert result["classes"] == [{"class": n, "points": (answers == n).sum()} for n in NAMES] and result["positive"] is None
    assert result["tied"] == (answers == "tied").sum() and (result["vote_min"], result["vote_max"]) == (V.min(), V.max())
    text = run(*words, "--out", path("W.npy")).stdout
    assert np.array_equal(V, np.load(path("W.npy"))) and "120 points, 3 classes" in text
    for name in NAMES:
        assert [line.split()[-1] for line in text.splitlines() if line.startswith("  " + name)] == [str((answers == name).sum())]
    # three axes
    np.save(path("T3.npy"), np.load(path("T.npy")).reshape(40, 3, -1))
    run("predict", path("m"), "--input", path("T3.npy"), "--out", path("V3.npy"), "--votes", path("H3.npy"), "--classes", path("c3.csv"))
    assert np.array_equal(np.load(path("V3.npy")), V.reshape(40, 3, 3)) and np.array_equal(np.load(path("H3.npy")), H.reshape(40, 3, 5, 3))
    assert [(int(line["row"]) * 3 + int(line["point"]), line["class"]) for line in read("c3.csv")] == list(enumerate(answers))
    e = error("predict", path("m"), "--input", path("T.npy"), code=2)
    assert "--classes" in e["what"]
    error("predict", path("m"), "--input", path("T.npy"), "--out", path("z"), "--classes", path("z"), code=2)
    error("predict", path("m"), "--input", path("T.npy"), "--classes", path("absent/c.csv"), code=4)
    assert not os.path.exists(path("z")) and not [name for name in os.listdir(FOLDER.name) if ".part" in name]


def test_signed_votes_tie():
    """An even number of equal voters: answers may be tied, and evaluate counts them in their own column."""
    train("even", FILE, "--voters", "signed", "--trees", 2, "--objective", "baseline")
    found = answer("evaluate", path("even"), *DATA, *QUICK, "--attacks", "none")
    check_rows(found, NAMES, Y)
    run("predict", path("even"), "--input", path("T.npy"), "--classes", path("c.csv"))
    assert found["confusion"] == confusion(Y, [line["class"] for line in read("c.csv")], NAMES).tolist()


def test_train_says_what_the_prior_does():
    assert TRAINED["kind"] == "soft-forest" and TRAINED["classes"] == NAMES and TRAINED["clean_rows"] == "test"
    for options in (["--holdout", 0.25, "--test-size", 0, "--copies", "keep"], []):
        found = train("h", FILE, *options)
        attack = ["attack", path("h"), *DATA, "--attack", "none", "--quiet", "--out", path("P.npy"), "--labels", path("p.npy"), "--split"]
        run(*attack, "prior")
        largest = np.bincount(np.load(path("p.npy"))).argmax()
        if not options:
            run(*attack, "test")
        run("predict", path("h"), "--input", path("P.npy"), *(["--prior"] if options else []), "--classes", path("p.csv"))
        y = np.load(path("p.npy"))
        rows = slice(len(y) - len(y) // 4 if options else 0, None)
        y = y[rows]
        wrong = np.array([line["class"] for line in read("p.csv")])[rows] != np.array(NAMES)[y]
        assert found["clean_error"] == wrong.mean() and found["majority_error"] == (y != largest).mean()
        assert found["clean_rows"] == ("held_out" if options else "test")
        assert found["class_errors"] == [{"class": n, "examples": (y == k).sum(), "failed": wrong[y == k].sum(),
                                          "risk": wrong[y == k].mean()} for k, n in enumerate(NAMES)]
        shown = answer("inspect", path("h"))
        assert found["largest_weight"] == shown["largest_weight"] == max(shown["posterior"])


def test_inspect():
    shown = answer("inspect", path("m"))
    assert shown["classes"] == NAMES and shown["class_count"] == 3 and shown["largest_weight"] == TRAINED["largest_weight"]
    text = run("inspect", path("m")).stdout
    assert "classes         3: ant, bee, wild, \u00e9lan\n" in text and "kind            soft-forest\n" in text and max(map(len, text.splitlines())) <= 80
    assert ("the vote is that voter" in text) == (shown["largest_weight"] > 0.9)


def test_one_voter_has_all_the_weight():
    """The same model, its Q changed in the file."""
    with open(path("m"), "rb") as f:
        raw = bytearray(f.read())
    begin = 8 + int.from_bytes(raw[:8], "little")
    at = begin + json.loads(raw[8:begin])["posterior"]["data_offsets"][0]
    raw[at:at + 40] = np.array([0.005, 0.005, 0.98, 0.005, 0.005]).tobytes()
    with open(path("dictator"), "wb") as f:
        f.write(raw)
    assert answer("inspect", path("dictator"))["largest_weight"] == 0.98
    text = run("inspect", path("dictator")).stdout
    assert "0.98, of voter 2\n" in text and "one voter has 0.98 of the weight: the vote is that voter" in text


def test_examples_one_by_one():
    run("evaluate", path("m"), *DATA, *QUICK, "--attacks", "pgdu", "--per-example", path("e.csv"))
    run("predict", path("m"), "--input", path("T.npy"), "--classes", path("c.csv"))
    lines = read("e.csv")
    assert list(lines[0]) == ["index", "row", "label", "answer", "clean_margin", "attacked_margin", "norm", "fooled_share",
                              "certified_radius", "verdict"]
    assert [line["label"] for line in lines] == [NAMES[k] for k in Y]
    assert [line["answer"] for line in lines] == [line["class"] for line in read("c.csv")]
    assert all((line["answer"] == line["label"]) == (float(line["clean_margin"]) > 0) for line in lines)


def test_the_other_commands():
    run("curve", path("m"), *DATA, *QUICK, "--attacks", "none,pgd,worst-case", "--eps-grid", "0:0.1:0.05",
        "--out", path("curve.csv"))
    curve = [[float(v) for v in line.values()] for line in read("curve.csv")]
    found = answer("evaluate", path("m"), *DATA, *QUICK, "--attacks", "none,pgd,worst-case")["attacks"]
    assert np.allclose(curve[2], [0.1, found[0]["adversarial_risk"], found[1]["adversarial_risk"], found[2]["not_proved"]], 0, 1e-9)
    attacked = answer("attack", path("m"), *DATA, "--steps", 3, "--attack", "pgd", "--quiet", "--out", path("A.npy"), "--labels", path("B.npy"))
    assert attacked["m"] == 120 and np.load(path("B.npy")).dtype == np.uint8 and np.array_equal(np.load(path("B.npy")), Y)
    run("predict", path("m"), "--input", path("A.npy"), "--classes", path("c.csv"))
    assert attacked["fooled"] == sum(line["class"] != NAMES[k] for line, k in zip(read("c.csv"), Y))
    for attack in ("pgdu", "worst-case"):
        words = ["certify", path("m"), *DATA, *QUICK, "--attack", attack, "--looks", 1, "--threads", 1, "--out", path("c.json")]
        certificate = answer(*words)
        assert certificate["data"]["classes"] == NAMES and "of its 3 classes" in certificate["claim"]
        assert answer("verify", path("c.json"), "--model", path("m"), *DATA, "--threads", 1, "--quiet")["agrees"] is True
        assert "of its 3 classes" in " ".join(run(*words).stdout.split())
    run("report", path("m"), path("c.json"), *DATA, *QUICK, "--threads", 1, "--quiet", "--out", path("page.html"))
    with open(path("page.html"), encoding="utf-8") as f:
        page = f.read()
    assert "of its 3 classes" in page and all(name in page for name in NAMES)
    assert error("report", FOLDER.name, code=3)["what"]  # neither a study nor a file: a sentence


def test_no_better_than_the_largest_class():
    file = write("blind.csv", [NAMES[0 if i % 10 < 2 else 1 if i % 10 < 3 else 2] for i in range(570)], spread=None)
    words = ["--defense", "none", "--objective", "baseline"]
    found = train("blind", file, "--scale", "none", "--copies", "keep", *words)
    assert found["clean_error"] >= found["majority_error"] > 0
    text = run("train", "--preset", "paper", *["--train", file], *SIZES, "--scale", "none", "--copies", "keep", "--epochs", 1, *words, "--quiet", "--out", path("blind")).stdout
    note = f"note: this vote is no better than always answering '{NAMES[2]}'"
    assert note in text
    found = answer("evaluate", path("blind"), "--train", file, *QUICK, "--attacks", "none")
    assert found["clean_error"] == found["majority_error"] and sum(line[2] for line in found["confusion"]) == 120
    assert note in run("evaluate", path("blind"), "--train", file, *QUICK, "--attacks", "none").stdout


def test_rows_of_other_labels_are_told():
    """A vote has no answer to labels that its training did not have: test and fresh rows that have one are not counted, and that is said."""
    labels = [NAMES[i % 3] if i % 5 else "wasp" for i in range(100)]
    other = write("other.csv", labels, spread=0.31)
    words = ["evaluate", path("m"), *DATA, *QUICK, "--attacks", "none"]
    assert "--fresh" in error(*words, "--test", other, code=2)["what"]  # T are rows of --train
    test = write("test.csv", [NAMES[i % 3] for i in range(90)], spread=0.43)
    run("train", *DATA, "--test", test, "--epochs", 2, "--eps", 0.1, "--scale", "none", "--quiet", "--out", path("apart"))
    words = ["evaluate", path("apart"), *DATA, *QUICK, "--attacks", "none"]
    done = run(*words, "--test", other)
    assert "20 test rows are left out: their labels, such as 'wasp', are none of the classes" in done.stderr, done.stderr
    assert "left out" not in run(*words, "--test", test).stderr
    done = run("certify", path("m"), "--fresh", other, *QUICK, "--attack", "none", "--looks", 1, "--copies", "keep", "--out", path("f.json"))
    assert "20 fresh rows are left out" in done.stderr, done.stderr
    done = run("train", "--train", other, "--classes", ",".join(['"bee, wild"' if "," in n else n for n in NAMES[::2]]), "--epochs", 1, "--out", path("part"))
    assert "note: " in done.stderr and " training rows are left out" in done.stderr
    assert answer("data", "show", "--train", other, "--classes", "ant,wasp")["left_out"] == {"train": 53, "test": 0}


def test_two_classes():
    file = write("two.csv", [NAMES[i % 2] for i in range(570)])
    train("two", file)
    data = ["--train", file]
    run("attack", path("two"), *data, "--attack", "none", "--quiet", "--out", path("T2.npy"), "--labels", path("y2.npy"))
    y = (np.load(path("y2.npy")) + 1) // 2
    found = answer("evaluate", path("two"), *data, *QUICK, "--attacks", "none,pgd,worst-case", "--per-example", path("e2.csv"))
    check_rows(found, NAMES[:2], y)
    assert [float(line["label"]) for line in read("e2.csv")] == list(2 * y - 1) and "answer" not in read("e2.csv")[0]
    result = answer("predict", path("two"), "--input", path("T2.npy"), "--out", path("V2.npy"), "--classes", path("c2.csv"))
    V, answers = np.load(path("V2.npy")), [line["class"] for line in read("c2.csv")]
    assert V.shape == (120,) and answers == ["tied" if v == 0 else NAMES[int(v > 0)] for v in V]
    assert result["positive"] == (V > 0).sum() == result["classes"][1]["points"]
    assert found["confusion"] == confusion(y, answers, NAMES[:2]).tolist()
    text = run("predict", path("two"), "--input", path("T2.npy"), "--out", path("V2.npy")).stdout
    assert f"{(V > 0).sum()} for +1 (bee, wild)" in text
    text = run("evaluate", path("two"), *data, *QUICK, "--attacks", "none").stdout
    assert "R_att by class of T\n" in text and "answers across" not in text


def test_many_classes():
    """More than fit on a screen: the worst of them, and the most frequent confusions."""
    names = [f"k{i:02d}" for i in range(20)]
    file = write("many.csv", [names[i % 20] for i in range(670)])
    train("many", file, "--copies", "keep", "--defense", "none", "--objective", "baseline")
    words = ["evaluate", path("many"), "--train", file, *QUICK, "--attacks", "none"]
    found, text = answer(*words), run(*words).stdout
    assert len(found["confusion"]) == 20 and all(len(line) == 21 for line in found["confusion"])
    shown = [line.split()[0] for line in text.split("R_att by class")[1].split(".. and")[0].splitlines()[2:] if line.startswith("  k")]
    risk = {c["class"]: c["risk"] or 0 for c in found["attacks"][0]["class_risks"]}
    assert shown == sorted(risk, key=lambda n: -risk[n])[:10] and ".. and 10 more" in text
    pairs = sorted(((n, y, k) for y, line in enumerate(found["confusion"]) for k, n in enumerate(line) if k != y and n),
                   key=lambda p: -p[0])[:10]
    lines = text.split("most frequent confusions\n")[1].splitlines()[:len(pairs)]
    assert lines == [f"  {names[y]} answered as {names[k]}: {n}" if k < 20 else f"  {names[y]} tied: {n}" for n, y, k in pairs]
    shown = run("inspect", path("many")).stdout
    assert "classes         20: k00, k01" in shown and ", ..\n" in shown


def test_names_of_a_task():
    """A task names its classes: evaluate, inspect and predict use these names."""
    run("train", "--task", "fashion-sandal-v-boot", "--epochs", 1, "--defense", "none", "--objective", "baseline", "--trees", 2, "--quiet",
        "--out", path("task"))
    assert answer("inspect", path("task"))["classes"] == ["sandal", "ankle boot"]
    found = answer("evaluate", path("task"), "--attacks", "none", "--quiet")
    assert found["classes"] == ["sandal", "ankle boot"] and found["majority_error"] == 0.5
    np.save(path("X.npy"), np.zeros((1, 784)))
    run("predict", path("task"), "--input", path("X.npy"), "--classes", path("c.csv"))
    assert read("c.csv")[0]["class"] in ("sandal", "ankle boot", "tied")


if __name__ == "__main__":
    main()
