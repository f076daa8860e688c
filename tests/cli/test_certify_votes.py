"""surety certify --votes: certificates of any classifier from its answers, and every way to change one."""
import copy
import hashlib
import json
import os
import re
import subprocess
import tempfile

import numpy as np

from tap import SURETY, answer, error, main, run

HERE = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(HERE.name, name)


def canonical(value):
    """The form that digests are of: keys sorted, no spaces, reals with 17 digits and a point or an exponent."""
    if isinstance(value, dict):
        return "{" + ",".join(canonical(k) + ":" + canonical(value[k]) for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        text = re.sub(r"e\+?(-?)0*(\d)", r"e\1\2", "%.17g" % value)
        return text if "." in text or "e" in text else text + ".0"
    return json.dumps(value, ensure_ascii=False)


def seal(certificate):
    rest = {key: value for key, value in certificate.items() if key != "digest"}
    return {**rest, "digest": hashlib.sha256(canonical(rest).encode()).hexdigest()}


def files(m=300, n=3, wrong=0.05, K=3, seed=0):
    """Votes and labels; the options that name them."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, K, m)
    missed = random.random((m, n)) < wrong
    np.save(path("V.npy"), ((labels[:, np.newaxis] + missed) % K).astype(np.uint8)[:, :, np.newaxis])
    np.save(path("Y.npy"), labels.astype(np.uint8))
    np.save(path("X.npy"), random.normal(size=(m, 4)))
    return ["--votes", path("V.npy"), "--labels", path("Y.npy")], missed.any(axis=1)


def make(*words, **settings):
    options, failed = files(**settings)
    made = answer("certify", *options, "--rows", path("X.npy"), "--threat", "coins", "--looks", 2, "--out", path("c.json"), *words)
    return options, failed, made


def exact(k, m, delta):
    """The binomial limit by bisection of the sum itself."""
    from math import comb
    low, high = k / m, 1.0
    for _ in range(200):
        p = (low + high) / 2
        tail = sum(comb(m, i) * p ** i * (1 - p) ** (m - i) for i in range(k + 1))
        low, high = (p, high) if tail > delta else (low, p)
    return high


def test_the_numbers_are_those_of_the_votes():
    options, failed, made = make("--of", "a forest")
    assert made["counts"]["max_wrong"] == failed.sum() and made["risk"] == failed.mean()
    assert abs(made["value"] - exact(int(failed.sum()), 300, 0.025)) < 1e-9
    assert made == json.load(open(path("c.json"))) and made == seal(made)
    assert "'a forest'" in made["claim"] and "coins" in made["claim"] and "no example of S had a part" in made["claim"]
    for key, name in (("votes", "V.npy"), ("labels", "Y.npy"), ("rows", "X.npy")):
        with open(path(name), "rb") as file:
            assert made["sha256"][key] == hashlib.sha256(file.read()).hexdigest()
    said = answer("verify", path("c.json"), *options, "--rows", path("X.npy"))
    assert said["agrees"] and said["level"] == "bits"


def test_without_the_rows_their_repeats_are_believed():
    """Whoever takes the repeats out of the sentence and seals it is found out by the rows alone; without them that is said."""
    options, _, _ = make()
    rows = np.repeat(np.random.default_rng(5).random((60, 4)), 5, axis=0)
    np.save(path("R.npy"), rows)
    made = answer("certify", *options, "--threat", "coins", "--rows", path("R.npy"), "--looks", 1, "--out", path("r.json"))
    assert made["repeats"] == 240
    first, rest = made["claim"].split("; 240 of the 300 rows")
    forged = {**made, "repeats": 0, "claim": first + rest[rest.index("; this assumes"):]}
    with open(path("r2.json"), "w") as file:
        json.dump(seal(forged), file)
    assert answer("verify", path("r2.json"), *options, "--rows", path("R.npy"), code=1)["reason"]
    for name, repeats in (("r.json", 240), ("r2.json", 0)):
        said = answer("verify", path(name), *options, code=5)
        assert said["level"] == "numbers" and said["rows_believed"] and said["copies"]["learn_repeats"] == repeats
    assert "repeat is believed" in run("verify", path("r2.json"), *options, code=5).stdout
    assert not answer("verify", path("r.json"), *options, "--rows", path("R.npy"))["rows_believed"]


def test_voters_or_perturbations():
    """Of five voters the majority may be right where each of five perturbations fools one in ten: (m, 5) does not say which."""
    rng = np.random.default_rng(1)
    labels = rng.integers(2, size=1000)
    votes = np.where(rng.random((1000, 5)) < 0.1, 1 - labels[:, None], labels[:, None]).astype(np.uint8)
    np.save(path("L5.npy"), labels)

    def words(array):
        np.save(path("V5.npy"), array)
        return ["certify", "--votes", path("V5.npy"), "--labels", path("L5.npy"), "--threat", "noise", "--looks", 1, "--out", path("5.json")]

    e = error(*words(votes), code=2)
    assert "(1000, 5)" in e["what"] and "5 voters on one perturbation" in e["what"] and "(m, n, 1)" in e["expected"], e
    assert answer(*words(votes[:, :, None]))["value"] > 0.4 and answer(*words(votes[:, None]))["value"] < 0.03
    assert answer(*words(votes[:, :1]))["inputs"]["n"] == 1


def test_a_sentence_is_not_cut_off():
    """Its last words are whose word the votes are: with names that leave them no room there is no certificate."""
    options, failed, _ = make()
    labels = np.load(path("Y.npy"))
    with open(path("long.txt"), "w") as file:
        file.writelines(f"{'abc'[k] * 4000}\n" for k in labels)
    votes = np.full((300, 1), (np.bincount(labels).argmax() + 1) % 3, np.uint8)  # no better than a constant, whose name is said
    np.save(path("L.npy"), votes)
    e = error("certify", "--votes", path("L.npy"), "--labels", path("long.txt"), "--looks", 1, "--out", path("long.json"), code=1)
    assert "would be cut off" in e["what"] and not os.path.exists(path("long.json")), e


def test_classes_pay_for_each():
    options, failed, made = make("--per-class")
    labels = np.load(path("Y.npy"))
    for k, one in enumerate(made["classes"]):
        inside = labels == k
        assert one["m"] == inside.sum() and one["failed"] == failed[inside].sum()
        assert abs(one["value"] - exact(one["failed"], one["m"], 0.05 / 3 / 2)) < 1e-9
    assert made["value"] == max(one["value"] for one in made["classes"])
    assert answer("verify", path("c.json"), *options, "--rows", path("X.npy"))["agrees"]
    options, _, many = make("--per-class", K=40, m=200)
    assert "listed" in many["claim"] and many["value"] == 1 and answer("verify", path("c.json"), *options, "--rows", path("X.npy"))["agrees"]


def leaves(value, where=()):
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*where, key))
    else:
        yield where, value


def changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1 if isinstance(value, int) else value * 0.99
    if isinstance(value, str) and len(value) == 64:
        return ("1" if value[0] == "0" else "0") + value[1:]
    return "x" if value is None else value + "x"


def test_every_change_is_seen():
    """By a forger who seals what was changed. What is only the user's word (threat, of) changes the sentence."""
    options, _, made = make("--per-class", "--of", "a forest")
    ways = 0
    for where, value in leaves(made):
        if where in (("digest",), ("format",)):
            continue
        forged = copy.deepcopy(made)
        place = forged
        for key in where[:-1]:
            place = place[key]
        place[where[-1]] = changed(value)
        with open(path("forged.json"), "w") as file:
            json.dump(seal(forged), file)
        done = subprocess.run([SURETY, "verify", path("forged.json"), *options, "--rows", path("X.npy")], capture_output=True)
        assert done.returncode in (1, 3), (where, done.stdout)
        ways += 1
    assert ways > 30


def test_rows_that_repeat():
    """Copies make S dependent. They are counted where the file shows rows: arrays of any type, texts of a line for each."""
    options, _ = files(n=1)
    rows = np.tile(np.load(path("X.npy"))[:100], (3, 1))  # 200 of 300 equal an earlier one
    table = "\n".join(",".join(map(str, row)) for row in rows)
    np.save(path("R.npy"), rows)
    np.save(path("T.npy"), rows.astype(str))
    np.save(path("F.npy"), np.asfortranarray(rows))
    for name, text in (("R.csv", table + "\n"), ("H.csv", "a,b,c,d\r\n" + table), ("X.csv", table + "\n\n\n\n")):
        with open(path(name), "w", newline="") as file:
            file.write(text)
    for name, count in (("R.npy", 200), ("T.npy", 200), ("R.csv", 200), ("H.csv", 200), ("F.npy", None), ("X.csv", None),
                        ("X.npy", 0), ("V.npy", 297)):
        words = [*options, "--rows", path(name)]
        done = run("certify", *words, "--looks", 1, "--out", path("c.json"), "--json")
        made = json.loads(done.stdout)
        assert made["repeats"] == count, (name, made["repeats"])
        many = bool(count)
        assert ("repeat an earlier one, so these are not independent draws" in made["claim"]) == many, (name, made["claim"])
        assert ("repeat an earlier one" in done.stderr) == many, (name, done.stderr)
        for again, code in ((words, 0), (options, 5)):  # with the rows, or without them
            assert answer("verify", path("c.json"), *again, code=code)["agrees"], (name, again)


def test_mistakes_get_a_sentence():
    options, _, made = make()
    out = ["--out", path("d.json")]
    assert "--votes" in error("verify", path("c.json"), code=2)["what"]
    assert "MODEL" in error("certify", "--looks", 1, *out, code=2)["what"]
    assert "--norm" in error("certify", *options, "--norm", "l2", "--looks", 1, *out, code=2)["what"]
    assert "looked at" in error("certify", *options, *out, code=2)["what"]
    assert "nothing says why" in error("certify", *options, "--looks", 1, *out, code=2)["what"]
    assert "paid" in error("certify", *options, "--threat", "coins", "--looks", 0, *out, code=1)["what"]
    with open(path("c.json")) as file:
        text = file.read()
    with open(path("lie.json"), "w") as file:
        file.write(text.replace('"value": 0.', '"value": 0.0', 1))
    assert "changed" in error("verify", path("lie.json"), *options, code=1)["what"]
    np.save(path("W.npy"), np.array([0.5, 0.5]))
    assert error("certify", *options, "--weights", path("W.npy"), "--threat", "coins", "--looks", 1, *out, code=3)["file"]
    assert not os.path.exists(path("d.json"))


def test_a_look_is_logged_by_the_rows():
    """The second certificate from the same rows is named, whatever its votes; without rows the labels tell S."""
    log = {"XDG_STATE_HOME": path("state")}
    options, _ = files()
    rows = ["--rows", path("X.npy"), "--threat", "coins", "--looks", 1]
    assert run("certify", *options, *rows, "--out", path("1.json"), env=log).stderr == ""
    assert run("certify", *options, *rows, "--out", path("1.json"), env=log).stderr == ""  # made again
    votes = np.load(path("V.npy"))
    votes[:9] = 0
    np.save(path("V2.npy"), votes)
    said = run("certify", "--votes", path("V2.npy"), *options[2:], *rows, "--out", path("2.json"), env=log).stderr
    assert "2 certificates from this S" in said and "--looks says 1" in said
    assert run("certify", *options, "--threat", "coins", "--looks", 1, "--out", path("3.json"), env=log).stderr == ""
    first, third = (json.load(open(path(name))) for name in ("1.json", "3.json"))
    shown = answer("looks", path("2.json"), env=log)["sets"]
    assert [s["certificates"] for s in shown] == [2] and shown[0]["sha256_learn"] == first["sha256"]["rows"]
    event = shown[0]["events"][0]
    assert event["model"] == first["sha256"]["votes"] and event["what"].startswith(first["digest"][:16])
    assert answer("looks", path("3.json"), env=log)["sets"][0]["sha256_learn"] == third["sha256"]["labels"]
    assert answer("verify", path("1.json"), *options, "--rows", path("X.npy"), env=log)["agrees"]
    assert len(answer("looks", env=log)["sets"]) == 2  # to verify is no look


def test_a_monitor_watches_it():
    make()
    with open(path("outcomes"), "w") as file:
        file.write("0\n0\n1\n")
    seen = answer("monitor", path("c.json"), "--labels", path("outcomes"))
    assert (seen["state"], seen["seen"], seen["failed"]) == ("holds", 3, 1)
    assert seen["promise"] == json.load(open(path("c.json")))["value"]
    with open(path("outcomes"), "w") as file:
        file.write("1\n" * 40)
    assert answer("monitor", path("c.json"), "--labels", path("outcomes"), code=1)["alarm_at"] <= 43
    said = error("monitor", path("c.json"), "--fresh", path("X.npy"), "--model", path("Y.npy"), code=2)["what"]
    assert "no model" in said and "--labels" in said
    make("--of", "another")  # the state belongs to the first
    assert "another certificate" in error("monitor", path("c.json"), code=3)["what"]


if __name__ == "__main__":
    main()
