"""Certificates derived again by a program that shares no code with the library (second_opinion.py): of two classes, of three
from a CSV file with text labels, of ten; sampled attacks, apgd and the worst case. And forged ones, which it must notice."""
import csv
import json
import os
import tempfile

import numpy as np
import second_opinion
from small import FASHION
from tap import FULL, Skip, main, run

FOLDER = tempfile.TemporaryDirectory()
NAMES = ["ant", "bee, wild", "\u00e9lan"]


def path(name):
    return os.path.join(FOLDER.name, name)


def write_bugs():
    """700 rows of three classes that overlap a little; labels are texts."""
    random = np.random.default_rng(7)
    with open(path("bugs.csv"), "w", encoding="utf-8", newline="") as f:
        for i in range(700):
            x = np.clip(i % 3 / 3 + 0.6 * random.random(5), 0, 1)
            csv.writer(f).writerow([f"{v:.4f}" for v in x] + [NAMES[i % 3]])
    return path("bugs.csv")


BUGS = write_bugs()


def certify(words, data=()):
    run("certify", path("m"), *data, *words.split(), "--out", path("c.json"), "--quiet", "--threads", "1")


def compare(training, certificates, where, data=()):
    """Trains once, and compares every certificate."""
    run("train", "--preset", "paper", *data, "--scale", "none", "--box", "0,1", *training, "--out", path("m"), "--quiet", "--threads", "1")
    for words in certificates:
        certify(words, data)
        shown, agrees = second_opinion.compare(path("c.json"), path("m"), where)
        print("# " + " ".join(map(str, training)) + " | " + words, *shown, sep="\n# ")
        assert agrees


def compare_task(task, training, certificates, folder=FASHION):
    if not os.path.exists(folder):
        raise Skip(f"{os.path.basename(folder)} is not installed")
    compare(["--task", task, "--data-dir", os.path.dirname(folder), *training], certificates, folder)


def compare_bugs(training, certificates):
    compare(["--learn-size", 250, "--test-size", 50, "--epochs", 6, "--trees", 7, "--lr", 0.1, "--steps", 3, *training],
            certificates, BUGS, ["--train", BUGS])


def write_tolerance():
    """Five features: one cannot change, two have ranges that cut some values off."""
    with open(path("tolerance.csv"), "w", encoding="utf-8") as f:
        f.write("feature,radius,lo,hi\n1,0.05,,\n2,0.1,0.2,0.9\n3,0,,\n4,0.02,,0.5\n5,0.2,0,1\n")
    return ["--tolerance", path("tolerance.csv")]


SMALL = ["--learn-size", "300", "--defense", "none", "--epochs", "1"]
SANDALS = "fashion-sandal-v-boot"


def test_signed_l2():
    compare_task(SANDALS, SMALL, ["--attack none --looks 1", "--attack ifgsmu --samples 4 --looks 1",
                                  "--attack pgdu --samples 4 --looks 3 --bound best", "--attack apgd --looks 1"])


def test_real_linf():
    compare_task(SANDALS, [*SMALL, "--norm", "linf", "--voters", "real"],
                 ["--attack pgdu --samples 4 --looks 1", "--attack worst-case --eps 0.02 --looks 1"])


def test_baseline():
    compare_task(SANDALS, [*SMALL, "--objective", "baseline"], ["--attack pgd --restarts 2 --looks 1"])


def test_tolerances_linf():
    compare_bugs([*write_tolerance(), "--box", "none", "--norm", "linf", "--defense", "none"],
                 ["--attack pgdu --samples 4 --looks 1", "--attack ifgsmu --samples 3 --eps 0.5 --looks 1",
                  "--attack apgd --looks 1", "--attack worst-case --looks 1"])


def test_tolerances_l2():
    compare_bugs([*write_tolerance(), "--kind", "linear", "--defense", "none"],
                 ["--attack pgdu --samples 4 --looks 1", "--attack worst-case --looks 1",
                  "--attack worst-case --norm l1 --eps 1.5 --looks 1", "--attack unif --looks 1"])


def test_worst_case_of_two_classes():
    compare_task(SANDALS, [*SMALL[:2], "--defense", "certified", "--epochs", "2", "--trees", "3"],
                 ["--attack worst-case --looks 1", "--attack worst-case --looks 2 --bound best"])


def test_statements():
    """A radius for a promised risk, a curve, ordered promises, limits per class."""
    with open(path("promises.csv"), "w", encoding="utf-8") as f:
        f.write("0,0.4\n0.02,0.6\n0.05,0.01\n0.01,0.9\n")
    compare_bugs(["--norm", "linf", "--eps", 0.02, "--defense", "certified", "--objective", "baseline"],
                 ["--attack worst-case --looks 2 --promise-risk 0.5", "--attack worst-case --looks 1 --curve 0:0.06:0.02",
                  f"--attack worst-case --looks 1 --promises {path('promises.csv')}", "--attack worst-case --looks 1 --per-class"])


def test_three_classes_real():
    compare_bugs(["--voters", "real", "--eps", 0.1],
                 ["--attack pgdu --samples 4 --looks 1", "--attack pgdu --samples 4 --looks 1 --bound best",
                  "--attack ifgsmu --samples 3 --looks 1 --bound seeger", "--attack ifgsmu --samples 3 --looks 2 --bound tandem",
                  "--attack apgd --restarts 2 --looks 1", "--attack worst-case --looks 1",
                  "--attack worst-case --norm l1 --eps 0.2 --looks 1 --bound worst_case_union"])


def test_three_classes_signed():
    compare_bugs(["--voters", "signed", "--norm", "linf", "--eps", 0.05],
                 ["--attack pgdu --samples 4 --looks 1", "--attack pgdu --samples 4 --looks 1 --bound vote_anchored_max",
                  "--attack ifgsm --looks 1 --bound voters_union", "--attack apgd --looks 1 --bound average_max_tv",
                  "--attack worst-case --looks 1", "--attack worst-case --looks 1 --bound worst_case_anchored"])


def test_three_classes_of_linear_voters():
    for voters in ("real", "signed"):
        compare_bugs(["--kind", "linear", "--voters", voters, "--eps", 0.1],
                     ["--attack pgdu --samples 3 --looks 1", "--attack apgd --looks 1 --bound best",
                      "--attack worst-case --norm linf --eps 0.04 --looks 1"])


NETWORKS = ["--kind", "lipschitz", "--lr", 0.003, "--trees", 1]


def test_networks_of_two_classes():
    training = ["--learn-size", "300", *NETWORKS, "--epochs", "1", "--layers", "31,16"]
    compare_task(SANDALS, training, ["--attack worst-case --looks 1", "--attack worst-case --eps 0.3 --looks 1 --per-class",
                                     "--attack worst-case --norm l1 --eps 3 --looks 1",
                                     "--attack worst-case --norm linf --eps 0.02 --looks 1",
                                     "--attack pgdu --samples 4 --looks 1", "--attack apgd --looks 1"])
    compare_task(SANDALS, [*training, "--trees", 3], ["--attack worst-case --looks 1 --bound best", "--attack apgd --looks 1"])


def test_networks_of_three_classes():
    for more in ([], ["--trees", 3], ["--trees", 3, "--voters", "signed"], [*write_tolerance(), "--box", "none"]):
        eps = [] if "--tolerance" in more else ["--eps", 0.1]
        compare_bugs([*NETWORKS, "--layers", "24,7", *eps, *more],
                     ["--attack worst-case --looks 1", "--attack worst-case --norm l1 --eps 0.2 --looks 1",
                      "--attack worst-case --norm linf --eps 0.04 --looks 1", "--attack pgdu --samples 3 --looks 1"])


def test_three_classes_baseline():
    compare_bugs(["--objective", "baseline", "--defense", "certified", "--eps", 0.1, "--voters", "signed"],
                 ["--attack worst-case --looks 1", "--attack unif --looks 1", "--attack fgsm --looks 1"])


def test_ten_classes():
    for folder, task in ((FASHION, "fashion-mnist"), (FASHION.replace("fashion-mnist", "mnist"), "mnist")):
        if task == "mnist" and not os.path.exists(folder):
            print("# mnist is not installed")
            continue
        compare_task(task, [*SMALL, "--norm", "linf", "--eps", "0.02", "--voters", "real"],
                     ["--attack pgdu --samples 4 --looks 1", "--attack worst-case --eps 0.01 --looks 1"], folder)
        compare_task(task, [*SMALL, "--voters", "signed", "--eps", "0.3"], ["--attack apgd --looks 1 --bound best"], folder)


def test_all_of_s():
    if not FULL:
        raise Skip("only with SURETY_TEST_FULL=1")
    compare_task(SANDALS, ["--epochs", "3"],
                 ["--attack pgdu --samples 20 --looks 1", "--attack ifgsmu --looks 1 --samples 20 --bound best",
                  "--attack pgdu --samples 5 --bound average_max_voters_union --looks 1",
                  "--attack ifgsmu --samples 5 --bound seeger --looks 1"])
    compare_task("fashion-mnist", ["--epochs", "2", "--norm", "linf", "--eps", "0.03"],
                 ["--attack pgdu --samples 5 --looks 1", "--attack apgd --looks 1 --bound best", "--attack worst-case --looks 1"])


# ---- it is no yes-man ----

def seal(c):
    """The checksums that belong to the content."""
    c["counts_sha256"] = second_opinion.sha256(c["counts"])
    c["digest"] = second_opinion.sha256({k: v for k, v in c.items() if k != "digest"})


def noticed(change, sealed=True):
    """What it finds in a certificate that was changed."""
    with open(path("c.json"), encoding="utf-8") as f:
        c = json.load(f)
    change(c)
    if sealed:
        seal(c)
    with open(path("forged.json"), "w", encoding="utf-8") as f:
        json.dump(c, f)
    shown, agrees = second_opinion.compare(path("forged.json"), path("m"), BUGS)
    differing = [line.split("  ")[0].split(" in the")[0] for line in shown if line.endswith("DIFFERS")]
    assert agrees == (not differing)
    return differing


def forge(words):
    """Each forgery by itself; those of the last kind have all numbers in tune with each other."""
    certify(words, ["--train", BUGS])
    assert noticed(lambda c: None) == []

    def add(key, amount):
        def change(c):
            if isinstance(c["counts"][key], list):
                c["counts"][key][0] += amount
            else:
                c["counts"][key] += amount
        return change

    def fewer(c):
        c["counts"]["max_wrong"] -= 5
        c["counts"]["prior_max_wrong"] -= 5
        c["risks"]["averaged_max"] -= 5 / c["inputs"]["m"]

    def swap(c):
        names = c["data"]["classes"]
        names[0], names[1] = names[1], names[0]

    def set_value(c):
        c["value"] *= 0.8

    for key in ("wrong", "max_wrong", "errors", "anchored_max", "loss"):
        assert {"digest", "counts_sha256"} <= set(noticed(add(key, 1), sealed=False)), key
    assert "averaged_max of its counts" in noticed(add("max_wrong", -1))  # one example, checksums made anew
    assert "rbar of its counts" in noticed(add("loss", -2**30))
    assert "count errors" in noticed(add("errors", -20))
    assert "count max_wrong" in noticed(fewer)
    assert {"classes", "S"} <= set(noticed(swap))
    assert {"value of its counts", "value"} <= set(noticed(set_value))
    for key, name in (("priors_compared", "T_p"), ("delta_share", "shares of delta")):
        assert name in noticed(lambda c: c["inputs"].update({key: 2 * c["inputs"][key]})), key


def test_forgeries_are_noticed():
    for voters in ("real", "signed"):
        compare_bugs(["--voters", voters, "--eps", 0.1], [])
        forge("--attack pgdu --samples 3 --looks 1")
        forge("--attack worst-case --looks 1")


def test_no_opinion():
    compare_bugs(["--norm", "l1", "--eps", 0.2], [])
    certify("--attack pgd --looks 1", ["--train", BUGS])
    try:
        second_opinion.compare(path("c.json"), path("m"), BUGS)
        raise AssertionError("an opinion on l1")
    except second_opinion.NoOpinion as why:
        assert "l1" in str(why)


if __name__ == "__main__":
    main()
