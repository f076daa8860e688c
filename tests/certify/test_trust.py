"""What verify does not take on trust: metadata that contradict the settings, weights that no training made, values that do not
follow from the counts."""
import json
import os
import tempfile

import numpy as np
import small
from seal import sealed
from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
DATA = small.write(FOLDER.name, train=400, test=60, pool=4)
QUICK = ["--quiet", "--threads", "1"]
NO_FMA = {"SURETY_CPU": "generic"}


def path(name):
    return os.path.join(FOLDER.name, name)


def model():
    if not os.path.exists(path("m")):
        run("train", "--preset", "paper", *DATA, "--learn-size", 200, "--trees", 4, "--epochs", 3, "--lr", 0.1, "--defense", "none", "--voters", "real",
            "--out", path("m"), *QUICK)
    return path("m")


def certify(name, *words, **options):
    return answer("certify", path(name), *DATA, "--attack", "none", "--looks", 1, "--out", path("c.json"), *words, *QUICK,
                  **options)


def verify(*words, code=0, name="m", **options):
    return json.loads(run("verify", path("c.json"), "--model", path(name), *words, "--json", *QUICK, code=code, **options).stdout)


def changed(name, change):
    """The model with other metadata: change(metadata), then the header as the library writes it."""
    with open(model(), "rb") as f:
        raw = f.read()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    change(header["__metadata__"])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    with open(path(name), "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + raw[8 + size:])


def write(certificate):
    with open(path("c.json"), "w", encoding="utf-8") as f:
        json.dump(certificate, f)


def test_the_change_itself_is_seen_as_a_model():
    changed("same", lambda m: None)
    with open(model(), "rb") as a, open(path("same"), "rb") as b:
        assert a.read() == b.read()


def test_metadata_that_contradict_the_settings():
    other = {"priors_compared": "1", "seed": "1", "delta": "0.25", "norm": "linf", "eps": "0.5", "box": "none", "defense": "pgd",
             "objective": "seeger", "voters": "signed", "data.learn_size": "201", "data.test_size": "1", "data.split": "1",
             "data.learn": "0" * 64, "data.prior": "0" * 64, "data.classes": "5,8"}
    for key, value in other.items():
        changed("t", lambda m: m.update({key: value}))
        e = error("certify", path("t"), *DATA, "--attack", "none", "--looks", 1, "--out", path("no.json"), *QUICK, code=1)
        assert "contradicts itself" in e["what"], (key, e)
        error("evaluate", path("t"), *DATA, "--attacks", "none", *QUICK, code=1)
    for old, new in (('"step1_epochs":3', '"step1_epochs":1'), ('"keep_last":false', '"keep_last":true'), ('"trees":4', '"trees":5'),
                     ('"batch":64', '"batch":64.5'), ('"lr":', '"xx":')):
        changed("t", lambda m: m.update(settings=m["settings"].replace(old, new)))
        e = error("certify", path("t"), *DATA, "--attack", "none", "--looks", 1, "--out", path("no.json"), *QUICK, code=1)
        assert "contradicts itself" in e["what"], (old, e)
    assert not os.path.exists(path("no.json"))


def test_too_many_candidates_are_refused_everywhere():
    for many in (2**64 - 1, 10**9 + 1):
        changed("t", lambda m: m.update(priors_compared=str(many)))
        for command in (["inspect", path("t")], ["certify", path("t"), *DATA, "--looks", 1, "--out", path("no.json")]):
            assert "priors_compared" in error(*command, *QUICK, code=3)["place"]
        c = certify("m")
        c["inputs"]["priors_compared"] = c["ledger"][0]["priors_compared"] = many
        write(c)
        error("verify", path("c.json"), "--model", path("m"), *DATA, code=3)
    np.save(path("v.npy"), np.ones((9, 2), np.float32))
    np.save(path("y.npy"), np.ones(9, np.int8))
    bound = ["bound", "--votes", path("v.npy"), "--labels", path("y.npy"), "--priors-compared"]
    error(*bound, 2**64 - 1, code=3)
    error(*bound, 10**9 + 1, code=3)
    run(*bound, 10**9)


def test_retrain():
    certify("m")
    v = verify(*DATA, "--retrain")
    assert v["agrees"] and v["retrained"] and v["level"] == "bits"
    said = run("verify", path("c.json"), "--model", path("m"), *DATA, "--retrain", "--threads", 1)
    assert "training again takes about" in said.stderr and "same bytes" in said.stdout
    with open(model(), "rb") as f:
        raw = bytearray(f.read())
    raw[-1 - 4 * 4] ^= 1  # a weight that no training gave; nothing else knows
    with open(path("w"), "wb") as f:
        f.write(raw)
    certify("w")
    assert verify(*DATA, name="w")["agrees"] and not verify(*DATA, name="w")["retrained"]
    v = verify(*DATA, "--retrain", name="w", code=1)
    assert not v["agrees"] and "another model" in v["reason"]
    error("verify", path("c.json"), "--model", path("w"), "--numbers", "--retrain", code=2)


def test_numbers_without_data():
    c = certify("m")
    v = verify("--numbers", code=5)
    assert v["agrees"] and v["level"] == "numbers" and v["counted"] is False and v["tolerance"] == 0 and v["found"] == c["value"]
    assert "believed" in run("verify", path("c.json"), "--model", path("m"), "--numbers", *QUICK, code=5).stdout
    assert "--numbers" in error("verify", path("c.json"), "--model", path("m"), code=2)["what"]
    for key, value in (("value", c["value"] * 0.99), ("value", c["value"] * 1.01), ("claim", c["claim"] + "x"), ("delta", 0.04)):
        write(sealed({**c, key: value}))
        assert not verify("--numbers", code=1)["agrees"], key
    for group, key, value in (("inputs", "m", 400), ("inputs", "kl", 0.0), ("inputs", "looks", 2), ("inputs", "n", 2),
                              ("counts", "abar_sum", 1), ("risks", "gmax", 0.01), ("data", "learn_size", 400),
                              ("data", "sha256_learn", "0" * 64), ("test", "failed", 59), ("data", "label_column", "y")):
        write(sealed({**c, group: {**c[group], key: value}}))
        assert not verify("--numbers", code=1)["agrees"], (group, key)


def test_no_fma_forgives_counts_only():
    """The lie: a value that was made smaller by less than a tolerance for values."""
    c = certify("m")
    if c["software"]["cpu_level"] != "fma":
        return
    v = verify(*DATA, code=5, env=NO_FMA)
    assert v["agrees"] and v["level"] == "numbers" and v["counted"] is True and v["tolerance"] == 1 / 200
    for less in (1e-9, 0.001, 0.005):
        write(sealed({**c, "value": c["value"] - less}))
        v = verify(*DATA, code=1, env=NO_FMA)
        assert not v["agrees"] and "value" in v["reason"], (less, v)
    for few in (1, 2):  # one of 200 examples may be off; but then all must follow from that
        write(sealed({**c, "counts": {**c["counts"], "wrong": c["counts"]["wrong"] - few}}))
        v = verify(*DATA, code=1, env=NO_FMA)
        assert v["differences"][0]["field"] == ("risks.averaged" if few == 1 else "counts.wrong"), v


def test_columns_are_recorded():
    c = certify("m")
    assert c["data"]["label_column"] is None and c["data"]["header"] == "auto" and c["data"]["classes"] == ["5", "9"]
    with open(path("x.csv"), "w", encoding="utf-8") as f:
        f.write("kind,a,b\n" + "".join(f"{'yes' if i % 3 else 'no'},{i % 7 / 7},{i % 3 / 3}\n" for i in range(90)))
    csv = ["--train", path("x.csv"), "--test-size", 20, "--label-column", "kind", "--header", "yes"]
    run("train", "--preset", "paper", *csv, "--copies", "keep", "--learn-size", 30, "--trees", 2, "--epochs", 1, "--defense", "none", "--mask", 0, "--out", path("k"),
        *QUICK)
    c = answer("certify", path("k"), "--train", path("x.csv"), "--looks", 1, "--attack", "none", "--out", path("c.json"), *QUICK)
    assert c["data"]["label_column"] == "kind" and c["data"]["header"] == "yes" and c["data"]["classes"] == ["no", "yes"]
    assert verify("--train", path("x.csv"), name="k")["agrees"]


if __name__ == "__main__":
    main()
