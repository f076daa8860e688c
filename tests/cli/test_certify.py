"""The commands certify and verify, as a user meets them: words, exit codes, damaged files, the document."""
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import tempfile

import numpy as np
import small
from tap import FULL, SOURCE, SURETY, Skip, answer, error, main, run

QUICK = ["--quiet", "--threads", "1"]
TINY = ["--learn-size", "250", "--trees", "4", "--epochs", "3", "--lr", "0.1", "--steps", "3", "--eps", "0.2", "--voters",
        "real", *QUICK]


class World:
    """A folder with own data, a model and a certificate, made once."""

    def __init__(self):
        self.keep = tempfile.TemporaryDirectory()
        self.folder = self.keep.name
        self.data = small.write(self.folder, train=500, test=60, pool=4)
        run("train", "--preset", "paper", *self.data, *TINY, "--out", self.at("m.safetensors"))
        self.certificate = answer("certify", self.at("m.safetensors"), *self.data, "--attack", "pgdu", "--samples", "5",
                                  "--steps", "3", "--looks", "1", "--out", self.at("c.json"), *QUICK)

    def at(self, name):
        return os.path.join(self.folder, name)

    def verify(self, name="c.json", code=0):
        return json.loads(run("verify", self.at(name), *self.data, "--json", *QUICK, code=code).stdout)

    def must_fail(self, name, why):
        done = subprocess.run([SURETY, "verify", self.at(name), *self.data, "--json", *QUICK], capture_output=True,
                              text=True)
        assert done.returncode in (1, 3) and done.stderr.startswith("surety: "), (why, done.stdout)
        said = json.loads(done.stdout)
        assert said["error"]["what"] if done.returncode == 3 else said["agrees"] is False and said["reason"], why

    def write(self, name, certificate):
        with open(self.at(name), "w") as f:
            json.dump(certificate, f)


_world = []


def world():
    if not _world:
        _world.append(World())
    return _world[0]


def real(x):
    """A real number as the canonical form writes it: 17 digits, and a point or an exponent."""
    text = re.sub(r"e\+?(-?)0*(\d)", r"e\1\2", "%.17g" % x)
    return text if any(c in text for c in ".e") else text + ".0"


def canonical(value):
    if isinstance(value, dict):
        return "{" + ",".join(canonical(k) + ":" + canonical(value[k]) for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return real(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def digest(certificate):
    rest = {k: v for k, v in certificate.items() if k != "digest"}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def test_certificate_and_its_keys():
    w = world()
    c = w.certificate
    with open(w.at("c.json")) as f:
        assert json.load(f) == c
    for key in ("claim", "bound", "value", "delta", "ledger", "inputs", "risks", "attack", "counts", "digest"):
        assert key in c
    assert c["bound"] == "average_max_seeger" and c["delta"] == 0.05 and c["inputs"]["priors_compared"] == 3
    assert c["value"] == 2 * c["surrogate"] or 0 < c["value"] - 2 * c["surrogate"] < 1e-13
    assert w.folder not in json.dumps(c)
    assert c["model"]["sha256"] == hashlib.sha256(open(w.at("m.safetensors"), "rb").read()).hexdigest()
    for entry, name in zip(c["data"]["files"], ("X_train", "y_train", "X_test", "y_test")):
        assert entry["sha256"] == hashlib.sha256(open(w.at(name + ".npy"), "rb").read()).hexdigest()
    assert c["counts_sha256"] == hashlib.sha256(canonical(c["counts"]).encode()).hexdigest()
    assert c["digest"] == digest(c)


def test_verify_agrees():
    w = world()
    v = w.verify()
    assert v["agrees"] is True and v["level"] == "bits" and v["differences"] == [] and v["found"] == v["value"]
    shutil.copy(w.at("m.safetensors"), w.at("moved.safetensors"))
    run("verify", w.at("c.json"), "--model", w.at("moved.safetensors"), *w.data, *QUICK)
    text = run("verify", w.at("c.json"), *w.data, *QUICK).stdout
    assert text.startswith("agrees (bits)") and "confidence 95 %" in " ".join(text.split())


def test_text_fits_the_terminal():
    w = world()
    text = run("certify", w.at("m.safetensors"), *w.data, "--looks", "1", "--samples", "3", "--bound", "best", "--out",
               w.at("text.json"), *QUICK, cwd=w.folder).stdout
    paragraph, table, commands = text.split("\n\n")
    assert all(len(line) <= 80 for line in (paragraph + "\n" + table).splitlines())
    assert " ".join(paragraph.split()) == json.load(open(w.at("text.json")))["claim"]
    assert "vote_anchored_max" in table and "0.0166667" in table
    command = re.search(r"surety (verify .*)", commands).group(1)  # it runs as printed
    run(*command.split(), *QUICK)


def test_same_bytes_for_any_threads():
    w = world()
    texts = set()
    for threads in ("1", "2", "3"):
        run("certify", w.at("m.safetensors"), *w.data, "--attack", "pgdu", "--samples", "5", "--steps", "3", "--looks", "1",
            "--out", w.at("t.json"), "--quiet", "--threads", threads)
        texts.add(open(w.at("t.json"), "rb").read())
    assert len(texts) == 1 and texts == {open(w.at("c.json"), "rb").read()}


def leaves(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path
    for key, inner in items or ():
        yield from leaves(inner, path + (key,))


def other(value, path):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1 if isinstance(value, int) else value * 1.25 + 0.003
    if isinstance(value, str):
        return "0" * 64 if len(value) == 64 else value + "x"
    return 1


def test_tampering():
    """Every leaf (a dozen of them in the quick run: test_certify.c does all), with the digest made to fit again."""
    w = world()
    paths = [p for p in leaves(w.certificate) if p != ("digest",)]
    assert len(paths) > 90
    for path in paths if FULL else random.Random(1).sample(paths, 12):
        c = json.loads(json.dumps(w.certificate))
        at = c
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = other(at[path[-1]], path)
        w.write("t.json", c)
        w.must_fail("t.json", path)
        c["digest"] = digest(c)
        w.write("t.json", c)
        w.must_fail("t.json", path)


def test_value_made_smaller():
    w = world()
    c = {**w.certificate, "value": w.certificate["value"] * 0.9}
    w.write("t.json", c)
    v = w.verify("t.json", code=1)
    assert v["agrees"] is False and v["differences"][0]["field"] == "digest"
    c["digest"] = digest(c)
    w.write("t.json", c)
    v = w.verify("t.json", code=1)
    assert v["differences"][0]["field"] == "value" and "value" in v["reason"], v
    text = run("verify", w.at("t.json"), *w.data, *QUICK, code=1)
    assert text.stdout.startswith("does not agree") and "value differs" in text.stderr


def test_one_bit_of_the_model():
    w = world()
    good = open(w.at("m.safetensors"), "rb").read()
    for bit in random.Random(2).sample(range(8 * len(good)), 200 if FULL else 5):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        open(w.at("bad.safetensors"), "wb").write(bad)
        v = json.loads(run("verify", w.at("c.json"), "--model", w.at("bad.safetensors"), *w.data, "--json", *QUICK,
                           code=1).stdout)
        assert v["agrees"] is False and "model.sha256" in v["reason"]


def test_one_label_of_own_data():
    w = world()
    y = np.load(w.at("y_train.npy"))
    changed = y.copy()
    changed[17] = 14 - changed[17]  # 5 and 9 change places
    np.save(w.at("y_train.npy"), changed)
    try:
        v = w.verify(code=1)
        assert v["agrees"] is False and "data.files[1].sha256" in v["reason"]
    finally:
        np.save(w.at("y_train.npy"), y)
    assert w.verify()["agrees"]


def test_one_label_of_a_task():
    if not os.path.exists(small.FASHION):
        raise Skip("Fashion-MNIST is not installed")
    with tempfile.TemporaryDirectory() as folder:
        model, certificate, copy = (os.path.join(folder, n) for n in ("m.safetensors", "c.json", "fashion-mnist"))
        run("train", "--task", "fashion-sandal-v-boot", "--learn-size", "100", "--defense", "none", "--trees", "3",
            "--epochs", "1", "--out", model, *QUICK)
        run("certify", model, "--attack", "ifgsmu", "--samples", "3", "--looks", "1", "--out", certificate, *QUICK)
        assert answer("verify", certificate, *QUICK)["agrees"]
        shutil.copytree(small.FASHION, copy)
        run("verify", certificate, "--data-dir", folder, *QUICK)
        labels = os.path.join(copy, "train-labels-idx1-ubyte.gz")
        raw = bytearray(gzip.open(labels).read())
        raw[8 + 5] = (raw[8 + 5] + 1) % 10
        with gzip.open(labels, "wb") as f:
            f.write(raw)
        v = json.loads(run("verify", certificate, "--data-dir", folder, "--json", *QUICK, code=1).stdout)
        assert v["agrees"] is False and "data.files[1].sha256" in v["reason"]
        error("verify", certificate, "--data-dir", os.path.join(folder, "nowhere"), code=3)


def test_refused():
    w = world()
    model = w.at("m.safetensors")
    certify = ["certify", model, *w.data, "--samples", "3", "--out", w.at("no.json")]
    assert "--looks 1: model, attack" in error(*certify, code=2)["what"]
    assert "not paid for" in error(*certify, "--looks", "0", code=1)["what"]
    assert "--out" in error("certify", model, *w.data, "--looks", "1", code=2)["what"]
    assert "delta" in error(*certify, "--looks", "1", "--delta", "1.5", code=2)["what"]
    assert "seed" in error(*certify, "--looks", "1", "--seed", "4", code=2)["what"]
    assert "candidate prior" in error(*certify, "--looks", "1", "--bound", "vote_frozen_max", code=1)["what"]
    assert "half of S" in error(*certify, "--looks", "1", "--bound", "vote-holdout", code=1)["what"]
    wrong = error(*certify, "--looks", "1", "--bound", "sieger", code=2)
    assert "did you mean 'seeger'?" in wrong["what"] and wrong["expected"].endswith("worst_case_dictator"), wrong
    assert "pgd" in error(*certify, "--looks", "1", "--attack", "pgdx", code=2)["what"]
    assert "own data" in error("certify", model, "--looks", "1", "--out", w.at("no.json"), code=2)["what"]
    swapped = ["--train", w.at("X_test.npy"), "--test", w.at("X_train.npy")]
    e = error("certify", model, *swapped, "--samples", "3", "--looks", "1", "--out", w.at("no.json"), code=3)
    assert not os.path.exists(w.at("no.json")), e
    error("verify", w.at("m.safetensors"), code=3)
    error("verify", w.at("absent.json"), code=3)


def test_other_data():
    w = world()
    with tempfile.TemporaryDirectory() as folder:
        data = small.write(folder, train=499, test=60, pool=4)
        assert "not the data" in error("certify", w.at("m.safetensors"), *data, "--samples", "3", "--looks", "1", "--out",
                              w.at("no.json"), code=1)["what"]
    assert not os.path.exists(w.at("no.json"))


def test_promises_nothing():
    w = world()
    c = run("certify", w.at("m.safetensors"), *w.data, "--samples", "3", "--looks", str(10**18), "--delta", "1e-300",
            "--bound", "average-max", "--out", w.at("v.json"), "--threads", "1")
    assert "promises nothing" in c.stderr
    said = json.load(open(w.at("v.json")))
    if said["vacuous"]:
        assert said["value"] >= 1 and said["claim"].startswith("This certificate promises nothing")
    assert w.verify("v.json")["agrees"]


def test_no_fma_compares_numbers():
    w = world()
    v = json.loads(run("verify", w.at("c.json"), *w.data, "--json", *QUICK, env={"SURETY_CPU": "generic"}, code=5).stdout)
    if w.certificate["software"]["cpu_level"] != "fma":
        raise Skip("this CPU has no FMA")
    assert v["agrees"] and v["level"] == "numbers" and 0 < v["tolerance"] <= 1 / 250 + 0.001
    run("certify", w.at("m.safetensors"), *w.data, "--samples", "3", "--looks", "1", "--out", w.at("g.json"), *QUICK,
        env={"SURETY_CPU": "generic"})
    assert "SURETY_CPU=generic" in w.verify("g.json", code=1)["reason"]
    v = json.loads(run("verify", w.at("g.json"), *w.data, "--json", *QUICK, env={"SURETY_CPU": "generic"}).stdout)
    assert v["agrees"] and v["level"] == "bits"
    c = {**w.certificate, "value": w.certificate["value"] * 0.5}
    c["digest"] = digest(c)
    w.write("t.json", c)
    v = json.loads(run("verify", w.at("t.json"), *w.data, "--json", *QUICK, env={"SURETY_CPU": "generic"}, code=1).stdout)
    assert v["level"] == "numbers" and not v["agrees"]


def test_full_disk_leaves_nothing():
    w = world()
    e = error("certify", w.at("m.safetensors"), *w.data, "--samples", "3", "--looks", "1", "--out", "/dev/full", code=2)
    assert e["what"]


def test_clauses_have_code_and_tests():
    """The table of clauses in docs/certificates.md names files, functions and tests that exist."""
    page = open(os.path.join(SOURCE, "docs", "certificates.md"), encoding="utf-8").read()
    table = page.split("| words | meaning |")[1].split("\n\n")[0]
    files = subprocess.run(["find", os.path.join(SOURCE, "src"), os.path.join(SOURCE, "tests"), "-type", "f"],
                           capture_output=True, text=True).stdout.splitlines()
    seen, last = 0, None
    for name in re.findall(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+\.(?:c|py)(?::[a-z_0-9]+)?|test_[a-z_0-9]+)`", table):
        path, _, function = name.partition(":")
        if "." not in path:  # another function of the file before it
            path, function = last, path
        found = [f for f in files if f.endswith("/" + path)]
        assert found, name
        assert not function or any(re.search(rf"\b{function}\(", open(f, encoding="utf-8").read()) for f in found), name
        last, seen = path, seen + 1
    assert seen > 30


if __name__ == "__main__":
    main()
