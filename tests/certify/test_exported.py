"""surety verify --export: the C file is what surety writes, or nothing of it is compiled; compiled, it has the model's bits; compilers
that get them wrong are seen."""
import json
import os
import shutil
import stat
import tempfile

import numpy as np

from tap import SOURCE, Skip, answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
RNG = np.random.default_rng(4)


def path(name):
    return os.path.join(FOLDER.name, name)


def table(name, rows=500):
    x = RNG.normal(size=(rows, 4)).round(3)
    y = (x[:, 0] + 0.5 * x[:, 1] > 0).astype(int)
    with open(path(name), "w", encoding="utf-8") as f:
        f.write("a,b,c,d,y\n" + "".join(",".join(map(str, [*r, "no yes".split()[k]])) + "\n" for r, k in zip(x, y)))
    return path(name)


TABLE = table("t.csv")
DATA = ("--train", TABLE)


def make(kind, *options):
    """A model, its certificate and its export."""
    if not os.path.exists(path(f"{kind}.c")):
        run("train", *DATA, "--kind", kind, "--norm", "l2" if kind == "lipschitz" else "linf", "--eps", 0.05, "--epochs", 2, "--threads", 1, "--seed", 2, "--quiet", "--out", path(kind), *options)
        run("certify", path(kind), *DATA, "--looks", 1, "--threads", 1, "--quiet", "--out", path(f"{kind}.json"))
        run("export", path(kind), "--certificate", path(f"{kind}.json"), "--out", path(f"{kind}.c"))
    return path(f"{kind}.json"), path(f"{kind}.c")


def script(name, text):
    with open(path(name), "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path(name), stat.S_IRWXU)
    return path(name)


def refused(certificate, export, *options, code=1):
    """The answer of a verification that says no, and its reason."""
    got = json.loads(run("verify", certificate, *DATA, "--export", export, "--json", *options, code=code).stdout)
    assert not got["agrees"]
    return got


def test_every_kind_agrees():
    for kind in ("soft-forest", "linear", "lipschitz", "trees"):
        certificate, export = make(kind)
        got = answer("verify", certificate, *DATA, "--export", export)
        assert got["agrees"] and got["export"]["same_bytes"] and got["export"]["names_certificate"], got
        assert got["export"]["rows"] == 200 and got["export"]["vectors"] >= 8, got["export"]
    assert "has the model's bits on 200 rows of S" in run("verify", certificate, *DATA, "--export", export).stdout
    assert answer("verify", certificate, *DATA)["export"] is None


def test_without_data_or_certificate():
    """--numbers: no rows of S. An export that was made before the certificate does not name it."""
    certificate, export = make("linear")
    got = json.loads(run("verify", certificate, "--numbers", "--export", export, "--json", code=5).stdout)
    assert got["agrees"] and got["export"]["rows"] == 0, got
    run("export", path("linear"), "--prefix", "valve_2", "--out", path("early.c"))
    done = run("verify", certificate, *DATA, "--export", path("early.c"))
    assert "does not name this certificate" in done.stdout


def test_imported_trees():
    """Fresh rows are S."""
    try:
        import sklearn.ensemble
    except ImportError:
        raise Skip("python3-sklearn is not installed")
    import sys
    sys.path.insert(0, os.path.join(SOURCE, "python"))
    import surety_sklearn
    x = RNG.normal(size=(600, 4)).astype(np.float32)
    y = (x[:, 0] + 0.5 * x[:, 1] > 0).astype(int)
    surety_sklearn.save(sklearn.ensemble.HistGradientBoostingClassifier(max_iter=5).fit(x, y), path("h.st"))
    run("import", path("h.st"), "--out", path("hist"), "--quiet")
    fresh = RNG.normal(size=(300, 4)).astype(np.float32)
    label = (fresh[:, 0] + 0.5 * fresh[:, 1] > 0).astype(int)
    with open(path("fresh.csv"), "w", encoding="utf-8") as f:
        f.write("a,b,c,d,y\n" + "".join(",".join(map(repr, map(float, r))) + f",{k}\n" for r, k in zip(fresh, label)))
    rows = ("--fresh", path("fresh.csv"))
    run("certify", path("hist"), *rows, "--eps", 0.01, "--looks", 1, "--quiet", "--out", path("hist.json"))
    run("export", path("hist"), "--certificate", path("hist.json"), "--out", path("hist.c"))
    got = answer("verify", path("hist.json"), *rows, "--export", path("hist.c"))
    assert got["agrees"] and got["export"]["rows"] == 300, got


def test_changed_files_are_not_compiled():
    certificate, export = make("trees")
    text = open(export, encoding="ascii").read()
    cc = script("never", f"touch {path('called')}\nexit 1\n")
    threshold = text.index("tree_threshold[")
    digit = next(i for i in range(text.index("0x1.", threshold) + 4, len(text)) if text[i] in "123456789")
    changes = {"a threshold": text[:digit] + chr(ord(text[digit]) ^ 1 or 49) + text[digit + 1:],
               "a comment": text.replace("Demanded", "Desired"), "an end": text[:-1], "more": text + "\n",
               "a sentence": text.replace("With confidence 95 %", "With confidence 99 %")}
    for what, changed in changes.items():
        assert changed != text, what
        with open(path("changed.c"), "w", encoding="ascii") as f:
            f.write(changed)
        got = refused(certificate, path("changed.c"), "--cc", cc)
        line = next((i for i, (a, b) in enumerate(zip(text.split("\n"), changed.split("\n")), 1) if a != b), len(text.split("\n")))
        assert f"line {line} " in got["reason"] or what in ("an end", "more"), (what, line, got["reason"])
        assert "Nothing of it was compiled" in got["reason"] and not got["export"]["same_bytes"], (what, got)
    assert not os.path.exists(path("called"))
    got = refused(certificate, make("linear")[1], "--cc", cc)
    assert "another certificate" in got["reason"] and not os.path.exists(path("called"))
    run("export", path("linear"), "--out", path("other.c"))
    assert "not what surety writes" in refused(certificate, path("other.c"), "--cc", cc)["reason"]


def test_compilers_that_are_wrong():
    """Constants that a compiler gets wrong fail in the self-check, votes on S in the comparison."""
    certificate, export = make("linear")
    cc = shutil.which("cc")
    folder = 'for w; do case $w in */main.c) d=${w%/main.c};; esac; done\n'
    wrong = {"test vector": "sed -i '/static const float bias/,/;/s/0x1[.]/0x1.8/' $d/model.c\n",
             "another vote": "sed -i 's/v\\[0\\] = model_vote(x, v + 1);/v[0] = model_vote(x, v + 1); v[1] += 1e-16;/' $d/main.c\n",
             "another answer": "sed -i 's/v\\[0\\] = model_vote(x, v + 1);/v[0] = 1 - model_vote(x, v + 1);/' $d/main.c\n",
             "every row": "sed -i 's/== 1) {/== 1 \\&\\& !fread(x, sizeof x, 1, stdin)) {/' $d/main.c\n"}
    for word, text in wrong.items():
        got = refused(certificate, export, "--cc", script("wrong", folder + text + f'exec {cc} "$@"\n'))
        assert word in got["reason"], (word, got["reason"])
    got = refused(certificate, export, "--cc", f"{cc} -ffast-math")
    assert "#error" in got["reason"] or "fast-math" in got["reason"], got["reason"]
    assert "ended with code 3" in refused(certificate, export, "--emulator", script("broken", "exit 3\n"))["reason"]
    assert answer("verify", certificate, *DATA, "--export", export, "--cc", f"{cc} -O0 -g", "--emulator", "env A=B")["agrees"]


def test_wrong_usage():
    certificate, export = make("linear")
    words = ("verify", certificate, *DATA)
    assert "cannot run it" in error(*words, "--export", export, "--cc", path("nothing"), code=4)["what"]
    assert "no C file that surety export wrote" in error(*words, "--export", TABLE, code=3)["what"]
    text = open(export, encoding="ascii").read()
    for other in ("\n" + text, "//" + text[2:], "/* " + 99 * "x" + text[3:], text.replace(" --prefix ", " ", 1)):
        with open(path("head.c"), "w", encoding="ascii") as f:
            f.write(other)
        assert "no C file that surety export wrote" in error(*words, "--export", path("head.c"), code=3)["what"], other[:150]
    with open(path("empty.c"), "w", encoding="ascii"):
        pass
    error(*words, "--export", path("empty.c"), code=3)
    error(*words, "--export", path("absent.c"), code=3)
    assert "--export" in error(*words, "--cc", "cc", code=2)["what"]
    assert "words" in error(*words, "--export", export, "--cc", "cc " * 70, code=2)["what"]


def test_certificates_of_others():
    """An export names no certificate that is not about its model."""
    make("linear")
    certificate, _ = make("trees")
    got = error("export", path("linear"), "--certificate", certificate, "--out", path("none.c"), code=1)
    assert "about another model" in got["what"] and not os.path.exists(path("none.c"))
    error("export", path("linear"), "--certificate", TABLE, "--out", path("none.c"), code=3)
    error("export", path("linear"), "--certificate", certificate, "--out", certificate, code=2)


def test_nothing_is_left_behind():
    certificate, export = make("linear")
    os.makedirs(path("tmp"))
    env = {"TMPDIR": path("tmp")}
    run("verify", certificate, *DATA, "--export", export, env=env)
    run("verify", certificate, *DATA, "--export", export, "--cc", "cc -ffast-math", env=env, code=1)
    assert os.listdir(path("tmp")) == []
    assert "temporary folder" in error("verify", certificate, *DATA, "--export", export, env={"TMPDIR": path("none")}, code=4)["what"]


main()
