"""Data with labels of any kind as a user has them: what `data show` prints, and text labels from training to certificate."""
import json
import os
import tempfile

import numpy as np

from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
SIZES = ["--learn-size", 100, "--test-size", 60]


def path(name):
    return os.path.join(FOLDER.name, name)


def write(name, labels, header=None, label_first=False):
    """A CSV file of four features that tell the label's number."""
    random, kinds = np.random.default_rng(5), sorted(set(labels))
    with open(path(name), "w", encoding="utf-8") as f:
        if header:
            f.write(header + "\n")
        for label in labels:
            x = np.clip(kinds.index(label) / len(kinds) + random.random(4) / 4, 0, 1)
            fields = [f"{v:.4f}" for v in x]
            text = '"' + label + '"'
            f.write(",".join([text, *fields] if label_first else [*fields, text]) + "\n")
    return path(name)


def test_show_lists_the_classes():
    file = write("three.csv", [("ant", "bee, wild", "\u00e9lan")[i % 3] for i in range(300)])
    shown = answer("data", "show", "--train", file, *SIZES)
    assert shown["classes"] == ["ant", "bee, wild", "\u00e9lan"] and shown["class_names"] is None
    assert [sum(c[k] for c in shown["class_counts"].values()) for k in range(3)] == [100] * 3
    assert len(shown["sha256"]["classes"]) == 3 and shown["label_column"] is None and shown["header"] == "auto"
    text = run("data", "show", "--train", file, *SIZES).stdout
    lines = [line for line in text.splitlines() if line.startswith("    ")]
    assert "3 classes" in text and len({len(line) for line in lines}) == 1, text  # columns of characters, not of bytes
    two = answer("data", "show", "--train", file, "--learn-size", 50, "--test-size", 20, "--classes", '\u00e9lan,"bee, wild"')
    assert two["classes"] == ["\u00e9lan", "bee, wild"] and two["train"] + two["test"] == 200
    assert answer("data", "show", "--train", file, *SIZES, "--classes", "all")["classes"] == shown["classes"]


def test_many_classes_are_cut():
    file = write("many.csv", [str(i % 40) for i in range(800)])
    text = run("data", "show", "--train", file, *SIZES).stdout
    assert ".. and 29 more" in text and max(map(len, text.split("split:")[0].splitlines())) <= 80
    assert answer("data", "show", "--train", file, *SIZES)["classes"] == list(range(40))
    e = error("data", "show", "--train", write("values.csv", [str(i) for i in range(400)]), *SIZES, code=3)
    assert "400 different labels" in e["what"] and "regression" in e["expected"]


def test_wrong_classes():
    file = write("three.csv", [("ant", "bee, wild", "\u00e9lan")[i % 3] for i in range(300)])
    for text, code, says in (("ant,bee", 3, "'bee' does not occur"), ("ant,amt", 3, "did you mean 'ant'"),
                             ("ant,ant", 2, "named twice"), ("ant", 2, "too few"), ('"ant', 2, "labels A,B"),
                             ('"ant"x,bee', 2, "labels A,B")):
        e = error("data", "show", "--train", file, *SIZES, "--classes", text, code=code)
        assert says in e["what"] + e["expected"], e
    e = error("data", "show", "--task", "mnist-1v7", "--classes", "all", code=2)
    assert "its own classes" in e["what"]
    e = error("reproduce", "--tasks", "mnist", "--dry-run", "--out", path("study"), code=2)
    assert "not a task of the paper" in e["what"]


def test_text_labels_from_training_to_certificate():
    """Label column, header and labels are the model's: later commands need the file only."""
    labels = [("wet, cold", "dry")[i % 2] for i in range(400)]
    file = write("weather.csv", labels, "weather,a,b,c,d", label_first=True)
    run("train", "--preset", "paper", "--train", file, *SIZES, "--label-column", "weather", "--header", "yes", "--classes", '"wet, cold",dry', "--trees", 3,
        "--epochs", 2, "--steps", 2, "--quiet", "--out", path("m"))
    texts = answer("inspect", path("m"))["texts"]
    assert json.loads(texts["data.classes"]) == ["wet, cold", "dry"]
    assert texts["data.label_column"] == "weather" and texts["data.header"] == "yes"
    assert answer("attack", path("m"), "--train", file, "--attack", "none")["m"] == 60
    quick = ["--train", file, "--threads", 1, "--quiet"]
    run("certify", path("m"), *quick, "--samples", 4, "--steps", 2, "--looks", 1, "--out", path("c.json"))
    with open(path("c.json"), encoding="utf-8") as f:
        certificate = json.load(f)
    assert certificate["data"]["classes"] == ["wet, cold", "dry"] and "of its two classes" in certificate["claim"]
    assert answer("verify", path("c.json"), *quick)["agrees"] is True
    for wrong in (["wet, cold"], ["wet, cold", 3], "dry", ["dry", "wet, cold"]):
        certificate["data"]["classes"] = wrong
        with open(path("wrong.json"), "w", encoding="utf-8") as f:
            json.dump(certificate, f)
        code = 1 if wrong == ["dry", "wet, cold"] else 3
        run("verify", path("wrong.json"), "--model", path("m"), *quick, code=code)


if __name__ == "__main__":
    main()
