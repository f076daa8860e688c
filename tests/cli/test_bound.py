"""surety bound from outside: risks recomputed with fractions from the definitions of docs/theory.md 4.1, 4.2, 4.5 and
4.7, bounds from those with mpmath, on random votes, class numbers and scores with zeros and ties; every bad input; the
table."""
import math
import os
import tempfile
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf

from tap import FULL, answer, error, main, run

mp.dps = 30
FOLDER = tempfile.mkdtemp(prefix="surety-bound-")


def path(name):
    return os.path.join(FOLDER, name)


def save(name, array):
    np.save(path(name), array)
    return path(name)


# ---- the reference ----

def vote(weights, row):
    """The classifier: products and sums in double, in the order of the voters."""
    total = 0.0
    for a, b in zip(weights, row):
        total += float(a) * float(b)
    return total


def risks_of(v, labels, K, q, p):
    """Everything exact: v (m, n, K-1, H) as fractions, positive where voter h is right, labels as class numbers, Q divided
    by its sum; only the vote itself is in double, as defined."""
    m, n, _, H = v.shape
    weights = [Fraction(float(x)) for x in q]
    weights = [w / sum(weights) for w in weights]
    total = dict.fromkeys(["wrong", "max_wrong", "prior", "prior_max", "abar", "tv", "tandem"], Fraction(0))
    loss, max_loss = [Fraction(0)] * H, [Fraction(0)] * H
    kept, max_kept = [Fraction(0)] * H, [Fraction(0)] * H
    errors, kept_errors = [0] * H, [0] * H
    classes = [{"examples": 0, "failed": 0} for _ in range(K)]

    for i in range(m):
        ell = [[[(1 - Fraction(float(x))) / 2 for x in row] for row in rows] for rows in v[i]]
        wrong = [any(vote(q, row) <= 0 for row in rows) for rows in v[i]]
        prior_wrong = [any(vote(p, row) <= 0 for row in rows) for rows in v[i]]
        columns = [row for rows in ell for row in rows]
        per_j = [[max(row[h] for row in rows) for h in range(H)] for rows in ell]
        expected = lambda row: sum(w * x for w, x in zip(weights, row))
        worst = [max(row[h] for row in columns) for h in range(H)]
        total["wrong"] += sum(wrong)
        total["max_wrong"] += any(wrong)
        total["prior"] += sum(prior_wrong)
        total["prior_max"] += any(prior_wrong)
        total["abar"] += max(map(expected, columns))
        total["tandem"] += sum(expected(row)**2 for row in per_j)
        total["tv"] += 1 - max(sum(weights[h] for h in range(H) if row[h] == worst[h]) for row in columns)
        classes[labels[i]]["examples"] += 1
        classes[labels[i]]["failed"] += any(wrong)
        for h in range(H):
            loss[h] += sum(row[h] for row in per_j)
            max_loss[h] += worst[h]
            kept[h] += sum(per_j[j][h] for j in range(n) if not prior_wrong[j])
            error_here = worst[h] >= Fraction(1, 2)
            errors[h] += error_here
            if not any(prior_wrong):
                max_kept[h] += worst[h]
                kept_errors[h] += error_here
    mean = lambda x, c: [a / c for a in x]
    dot = lambda x: sum(w * a for w, a in zip(weights, x))
    return dict(averaged=total["wrong"] / (m * n), averaged_max=total["max_wrong"] / m, abar=total["abar"] / m,
                tv=total["tv"] / m, tandem=total["tandem"] / (m * n), rbar=dot(mean(loss, m * n)),
                gmax=dot(mean(max_loss, m)), loss=mean(loss, m * n), max_loss=mean(max_loss, m),
                kept=mean(kept, m * n), max_kept=mean(max_kept, m), errors=errors, kept_errors=kept_errors,
                prior=total["prior"] / (m * n), prior_max=int(total["prior_max"]), weights=weights,
                classes=classes)


def real(x):
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(x)


def kl(a, b):
    first = a * mp.log(a / b) if a else 0
    return first + ((1 - a) * mp.log((1 - a) / (1 - b)) if a != 1 else 0)


def bisect(good, lo):
    """The largest p in [lo, 1] with good(p)."""
    hi = mpf(1)
    for _ in range(90):
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if good(mid) else (lo, mid)
    return hi


def kl_inv(q, c):
    q = real(q)
    return mpf(1) if q == 1 else bisect(lambda p: kl(q, p) <= c, q)


def binomial_limit(k, m, delta):
    if k == m:
        return mpf(1)
    ways = [math.comb(m, i) for i in range(k + 1)]
    return bisect(lambda p: sum(w * p**i * (1 - p)**(m - i) for i, w in enumerate(ways)) > delta, mpf(0))


def bounds_of(r, m, n, H, p, delta, T, signed):
    """Vote values by the formulas of docs/theory.md 4.3 and 4.5."""
    weights, prior = [real(w) for w in r["weights"]], [mpf(float(x)) for x in p]
    prior = [x / sum(prior) for x in prior]
    KL = sum(a * mp.log(a / b) for a, b in zip(weights, prior) if a)
    delta = mpf(delta)
    seeger = (KL + mp.log(2 * T * mp.sqrt(m) / delta)) / m
    chromatic = (KL + mp.log(T * (m + 1) / delta)) / m
    tandem = (2 * KL + mp.log(2 * T * mp.sqrt(m) / delta)) / m

    def union(means, counts, d):
        if counts:
            limits = [binomial_limit(k, m, d / (T * H)) for k in counts]
        else:
            limits = [kl_inv(x, mp.log(T * H / d) / m) for x in means]
        return sum(w * u for w, u in zip(weights, limits))

    counted, flat = signed, signed and n == 1
    frozen = lambda d: binomial_limit(r["prior_max"], m, d / T) if n == 1 else kl_inv(r["prior"], mp.log(T / d) / m)
    most = max(range(H), key=lambda h: weights[h])
    crowned = signed and weights[most] > sum(weights) - weights[most]
    dictator = {"average_max_dictator": binomial_limit(r["errors"][most], m, delta / (T * H))} if crowned else {}
    return dict(
        **dictator, chromatic_seeger=2 * kl_inv(r["rbar"], chromatic),
        chromatic_mcallester=2 * (real(r["rbar"]) + mp.sqrt(chromatic / 2)),
        average_max=2 * (real(r["gmax"]) + mp.sqrt(seeger / 2)),
        average_max_tv=2 * (real(r["abar"]) + real(r["tv"]) + mp.sqrt(seeger / 2)),
        seeger=2 * kl_inv(r["rbar"], seeger),
        average_max_seeger=2 * kl_inv(r["gmax"], seeger),
        voters_union=2 * union(r["loss"], r["errors"] if flat else None, delta),
        average_max_voters_union=2 * union(r["max_loss"], r["errors"] if counted else None, delta),
        tandem=4 * kl_inv(r["tandem"], tandem),
        vote_anchored_averaged=frozen(delta / 2) + 2 * union(r["kept"], r["kept_errors"] if flat else None, delta / 2),
        vote_anchored_max=binomial_limit(r["prior_max"], m, delta / 2 / T)
        + 2 * union(r["max_kept"], r["kept_errors"] if counted else None, delta / 2),
        vote_frozen_averaged=frozen(delta), vote_frozen_max=binomial_limit(r["prior_max"], m, delta / T)), KL


# ---- agreement ----

def draw_votes(rng, m, n, H, labels):
    """Mostly right, correlated within an example; many exact zeros and repeated values, so that ties happen."""
    v = rng.normal(.5, .5, (m, 1, 1)) + rng.normal(0, .4, (m, n, H))
    kind = rng.integers(3)
    if kind == 0:
        v = np.sign(np.round(v, 0))
    elif kind == 1:
        v = np.round(v * 4) / 4
    v[rng.random((m, n, H)) < .1] = 0
    return np.clip(v, -1, 1) * labels[:, None, None]


def draw_classes(rng, m, n, H, K):
    """Labels and scores (m, n, H, K), mostly right; half of them in eighths, so that voters and votes tie."""
    labels = rng.integers(0, K, m)
    labels[0] = K - 1
    raw = rng.exponential(1, (m, n, H, K)) + 1.5 * rng.random((m, n, H, 1)) * (labels[:, None, None, None] == np.arange(K))
    scores = raw / raw.sum(-1, keepdims=True)
    if rng.random() < .5:
        scores = np.zeros((m, n, H, K))
        for _ in range(8):
            here = np.where(rng.random((m, n, H)) < .4, labels[:, None, None], rng.integers(0, K, (m, n, H)))
            scores += .125 * (here[..., None] == np.arange(K))
    return labels, scores


def differences(scores, labels):
    """s_y - s_k in double for every other class k, (m, n, K-1, H)."""
    scores = scores.astype(np.float64)
    return np.stack([np.stack([s[..., y] - s[..., k] for k in range(s.shape[-1]) if k != y], 1)
                     for s, y in zip(scores, labels)])


def one_hot(scores):
    """A voter names the class of its largest score, and none in a tie."""
    top = scores == scores.max(-1, keepdims=True)
    return top * (top.sum(-1, keepdims=True) == 1)


def draw_ballots(rng, m, n, H):
    """What goes into the files, and v, labels as class numbers, K and whether the voters are signed."""
    if rng.random() < .5:
        labels = rng.choice([-1, 1], m)
        votes = draw_votes(rng, m, n, H, labels).astype(rng.choice([np.float32, np.float64]))
        signed = bool(rng.integers(2))
        v = (np.sign(votes) if signed else votes) * labels[:, None, None]
        return votes, labels if rng.random() < .5 else (labels + 1) // 2, v[:, :, None, :], (labels + 1) // 2, 2, signed
    K = int(rng.integers(2, 6))
    labels, scores = draw_classes(rng, m, n, H, K)
    if rng.random() < .5:
        named = np.where(one_hot(scores).any(-1), scores.argmax(-1), 255).astype(rng.choice([np.uint8, np.int64]))
        return named, labels, differences(one_hot(scores), labels), labels, K, True
    signed = bool(rng.integers(2))
    scores = scores.astype(rng.choice([np.float32, np.float64]))
    return scores, labels, differences(one_hot(scores) if signed else scores, labels), labels, K, signed


def check_case(rng):
    m, n, H = int(rng.integers(2, 25)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    votes, labels, v, classes, K, signed = draw_ballots(rng, m, n, H)
    p = rng.dirichlet(np.ones(H)) + 1e-3
    p /= p.sum()
    q = p if rng.random() < .3 else rng.dirichlet(np.ones(H))
    if H > 1 and rng.random() < .3:
        q = np.eye(H)[0]
    delta, T = float(rng.choice([.05, .2])), int(rng.choice([1, 20]))
    flat = n == 1 and votes.ndim == 3 and rng.random() < .5
    got = answer("bound", "--votes", save("v.npy", votes[:, 0, :] if flat else votes), "--labels", save("y.npy", labels),
                 "--prior", save("p.npy", p), "--posterior", save("q.npy", q), "--classes", K,
                 "--voters", "signed" if signed else "real", "--delta", delta, "--priors-compared", T)
    r = risks_of(v, classes, K, q, p)
    expected, KL = bounds_of(r, m, n, H, p, delta, T, signed)
    assert (got["m"], got["n"], got["voter_count"], got["class_count"]) == (m, n, H, K)
    assert got["kl"] >= KL - mpf(10)**-16 and got["kl"] <= KL + mpf(10)**-12
    assert got["risks"].pop("classes") == r["classes"]
    for name, value in got["risks"].items():
        low, high = real(r[name]) - mpf(10)**-16, real(r[name]) + mpf(10)**-9
        assert low <= value <= high, (name, value, float(r[name]))
    frozen = bool((q == p).all())
    assert set(got["bounds"]) == {b for b in expected if frozen or not b.startswith("vote_frozen")}, got["bounds"].keys()
    assert set(got["unavailable"]) & set(expected) == (set() if frozen else {"vote_frozen_averaged", "vote_frozen_max"})
    for name, bound in got["bounds"].items():
        e = expected[name]
        # rounding losses up to 2^-32 may be magnified a little by kl_inv
        assert e * (1 - mpf(10)**-15) <= bound["vote"] <= e + mpf(10)**-6, (name, bound, float(e))
        assert bound["vote_clipped"] == min(1, bound["vote"])
        if not name == "tandem":
            assert (bound["surrogate"] is None) == (name.startswith("vote_") or "dictator" in name), (name, bound)


def test_agrees_with_fractions_and_mpmath():
    rng = np.random.default_rng(3)
    for _ in range(300 if FULL else 24):
        check_case(rng)


def test_forms_of_the_same_votes():
    """Class numbers of any type, one-hot scores, -1/+1 votes; labels as numbers, lines, names: one answer."""
    rng = np.random.default_rng(4)
    for K in (2, 3, 7):
        labels, scores = draw_classes(rng, 40, 3, 5, K)
        labels[:K] = np.arange(K)
        named = scores.argmax(-1)
        named[0, 0, 0] = K - 1
        names = np.array([f"class {chr(97 + k)}" for k in range(K)])
        with open(path("y.txt"), "w") as f:
            f.write("\r\n".join(names[labels]) + "\r\n")
        np.savetxt(path("y.csv"), labels, "%d")
        first = None
        kinds = [named.astype(t) for t in (np.uint8, np.int8, np.int64)] + [np.eye(K, dtype=np.float32)[named]]
        for votes in kinds + ([2. * named - 1, (2 * named - 1).astype(np.int8)] if K == 2 else []):
            save("v.npy", votes)
            for file in [save("y.npy", labels), path("y.csv"), path("y.txt")]:
                got = answer("bound", "--votes", path("v.npy"), "--labels", file, "--voters", "signed", "--posterior", "learn")
                assert got.pop("class_names") == (list(names) if file.endswith("txt") else None)
                first = first or got
                assert got == first
        if K == 2:  # whole numbers are signed votes, -1 and +1 too
            words = ["bound", "--labels", save("signs.npy", 2 * labels - 1)]
            whole = answer(*words, "--votes", save("v.npy", (2 * named - 1).astype(np.int8)))
            assert whole["voters"] == "signed" and whole == answer(*words, "--votes", save("v.npy", 2. * named - 1), "--voters", "signed")
        text = run("bound", "--votes", save("v.npy", named), "--labels", path("y.txt")).stdout
        for k, c in enumerate(answer("bound", "--votes", path("v.npy"), "--labels", path("y.npy"))["risks"]["classes"]):
            assert (f"  class class {chr(97 + k)}  {c['failed']} of {c['examples']}\n" in text) == (K > 2)


def votes_and_labels(m=60, n=3, H=4):
    rng = np.random.default_rng(5)
    labels = rng.choice([-1, 1], m)
    return draw_votes(rng, m, n, H, labels).astype(np.float32), labels


def test_threads_and_form_do_not_matter():
    votes, labels = votes_and_labels()
    words = ["bound", "--labels", save("y.npy", labels), "--posterior", "learn"]
    first = answer(*words, "--votes", save("v.npy", votes), "--threads", 1)
    assert first == answer(*words, "--votes", path("v.npy"), "--threads", 5)
    assert first == answer(*words, "--votes", save("v8.npy", votes.astype(np.float64)))


def test_learn_and_hold_out():
    votes, labels = votes_and_labels(200)
    words = ["bound", "--votes", save("v.npy", votes), "--labels", save("y.npy", labels)]
    plain = answer(*words)["bounds"]
    for name in ["average-max-seeger", "average_max", "seeger", "chromatic-seeger", "chromatic_mcallester",
                 "voters_union", "average_max_voters_union"]:
        got = answer(*words, "--posterior", "learn", "--objective", name, "--out", path("learned.npy"))
        key = name.replace("-", "_")
        assert got["learning"]["objective"] == key and got["learning"]["gradient_norm"] < 1e-8
        assert got["bounds"][key]["vote"] <= plain[key]["vote"]
        q = np.load(path("learned.npy"))
        assert q.dtype == np.float64 and (q == np.array(got["posterior"])).all()
        again = answer(*words, "--posterior", path("learned.npy"))
        assert again["bounds"] == got["bounds"] and again["learning"] is None
    got = answer(*words, "--posterior", "learn", "--hold-out", 80)
    assert got["m"] == 120 and got["held_out"] == 80
    q = np.array(got["posterior"])
    wrong = sum(any(labels[i] * vote(q, row) <= 0 for row in votes[i]) for i in range(120, 200))
    expected = binomial_limit(wrong, 80, mpf("0.05"))
    assert abs(got["bounds"]["vote_holdout"]["vote"] - expected) < 1e-12
    error(*words, "--hold-out", 200, code=3)
    error(*words, "--posterior", "learn", "--objective", "tandem", code=2)
    error(*words, "--objective", "seeger", code=2)
    assert "did you mean" in str(error(*words, "--posterior", "learn", "--objective", "seegr", code=2))


def test_frozen_bounds_after_learning():
    """As docs/votes.md says: gone with other weights than the prior's, there where learning ends at the prior."""
    frozen = {"vote_frozen_averaged", "vote_frozen_max"}
    votes, labels = votes_and_labels(200)
    words = ["bound", "--labels", save("y.npy", labels), "--posterior", "learn"]
    got = answer(*words, "--votes", save("v.npy", votes))
    assert got["kl"] > 0 and not frozen & set(got["bounds"]) and frozen <= set(got["unavailable"])
    words += ["--votes", save("same.npy", np.repeat(votes[:, :, :1], 4, axis=2))]  # no voter is better than another
    got, text = answer(*words), run(*words).stdout
    assert got["kl"] == 0 and frozen <= set(got["bounds"]) and not frozen & set(got["unavailable"])
    assert all(f"  {name} " in text for name in frozen)


# ---- bad input ----

def refused(words, place, code=3):
    record = error(*words, code=code)
    assert record["place"] == place, record
    return record


def test_bad_input_exits_3_with_the_index():
    votes, labels = votes_and_labels()
    good = {"--votes": save("v.npy", votes), "--labels": save("y.npy", labels)}

    def words(**changed):
        options = {**good, **{"--" + k.replace("_", "-"): v for k, v in changed.items()}}
        return ["bound"] + [w for pair in options.items() for w in pair]

    for value in [np.nan, 1.001, -np.inf]:
        bad = votes.copy()
        bad[41, 2, 1] = value
        record = refused(words(votes=save("bad.npy", bad)), "index [41, 2, 1]")
        assert record["file"] == path("bad.npy") and "[-1, 1]" in record["expected"]
        refused(words(votes=save("bad.npy", bad[:, 2, :])), "index [41, 1]")
    for value in [0, 2, .5]:
        bad = labels.astype(float)
        bad[17] = value
        refused(words(labels=save("bad.npy", bad)), "index [17]")
    for shape in [(60,), (60, 3, 4, 1), (60, 3, 4, 2, 1), (0, 3, 4), (60, 0, 4), (60, 3, 0)]:
        refused(words(votes=save("bad.npy", np.zeros(shape, np.float32))), "")
    record = refused(words(votes=save("bad.npy", np.zeros((60, 3, 4), np.int8)), labels=save("y3.npy", np.arange(60) % 4 - 1)), "index [1]")
    assert record["what"] == "the label is 0"  # these labels are not called -1 and +1
    record = refused(words(labels=save("y3.npy", np.arange(60) % 4)), "index [2]")  # class labels, votes in [-1, 1]
    assert "whole numbers or scores" in record["expected"]
    record = refused(words(votes=save("bad.npy", np.zeros((60, 3, 4), np.int8))), "")
    assert "abstains" in record["expected"], record
    refused(words(labels=save("bad.npy", labels[:-1])), "")
    refused(words(labels=save("bad.npy", labels[:, None])), "")
    refused(words(prior=save("bad.npy", np.array([.25, .25, .25, .25001]))), "")
    refused(words(prior=save("bad.npy", np.array([.5, .5, 0, 0]))), "index [2]")
    refused(words(prior=save("bad.npy", np.array([.5, .5]))), "")
    refused(words(posterior=save("bad.npy", np.array([.5, .75, -.25, 0]))), "voter 2")
    for delta in ["0", "1", "-0.1", "1.5"]:
        refused(words(delta=delta), "")
    refused(words(priors_compared="0"), "priors_compared")
    refused(words(votes=path("absent.npy")), "")
    refused(words(delta="small"), "", code=2)
    refused(["bound", "--votes", good["--votes"]], "", code=2)


def test_bad_classes_get_a_sentence():
    rng = np.random.default_rng(6)
    labels, scores = draw_classes(rng, 30, 2, 3, 4)
    labels[:4] = np.arange(4)
    scores, named = scores.astype(np.float32), scores.argmax(-1)

    def bad(place, what, votes=scores, y=labels, more=(), file="bad.npy", code=3):
        if isinstance(y, str):
            with open(path("y.csv"), "w") as f:
                f.write(y)
        record = error("bound", "--votes", save("bad.npy", votes), "--labels",
                       path("y.csv") if isinstance(y, str) else save("y.npy", y), *more, code=code)
        said = f"{record['what']}; {record['expected']}"
        assert record["place"] == place and what in said and record["file"] == path(file), record

    other = scores.copy()
    other[7, 1, 2, 3] += .25
    bad("index [7, 1, 2]", "sum to 1.25", other)
    other[7, 1, 2] = [1.5, -.5, 0, 0]
    bad("index [7, 1, 2, 0]", "the score is 1.5", other)
    other[7, 1, 2] = [1, np.nan, 0, 0]
    bad("index [7, 1, 2, 1]", "nan", other)
    bad("", "shape (30, 2, 3, 4)", np.zeros((30, 2, 3, 4), int))
    bad("", "1 class", np.ones((30, 2, 3, 1)))
    bad("", "256 classes", np.ones((30, 2, 3, 256)))
    bad("", "of 4 classes, not of 5", more=["--classes", 5])
    bad("index [3]", "the label is 3", named, more=["--classes", 3], file="y.npy")
    for label in (4, -1, 1.5):
        y = labels.astype(float)
        y[9] = label
        bad("index [9]", f"the label is {label}", y=y, file="y.npy")
    other = named.copy()
    other[5, 1, 0] = 6
    bad("index [5, 1, 0]", "the vote is class 6", other, more=["--classes", 4])
    other[5, 1, 0] = 300
    bad("", "301 classes", other)
    bad("index [5, 1, 0]", "the vote is class 300", other, more=["--classes", 4])
    bad("", "of one class", np.zeros((30, 2, 3), int), y=np.zeros(30, int))
    lines = [f"name {k}" for k in labels]
    join = lambda changed: "\n".join(changed) + "\n"
    bad("", "'name 2' and 'name 2 ' differ by blanks", y=join(lines[:29] + ["name 2 "]), file="y.csv")
    bad("", "'Name 2' and 'name 2' differ by case", y=join(lines[:29] + ["Name 2"]), file="y.csv")
    bad("", "without a heading", y=join(["label"] + lines), file="y.csv")
    bad("", "30 lines", y=join(lines[:29]), file="y.csv")
    bad("line 5", "empty", y=join(lines[:4] + [""] + lines[5:]), file="y.csv")
    bad("line 5", "several columns", y=join(lines[:4] + ["name 2,7"] + lines[5:]), file="y.csv")
    bad("line 5", "the label is 9", y=join(map(str, [*labels[:4], 9, *labels[5:]])), file="y.csv")
    bad("", "5 names, the votes 4 classes", y=join(lines[:29] + ["name 7"]), file="y.csv")
    bad("", "3 names, the votes 4 classes", y=join([line.replace("3", "2") for line in lines]), file="y.csv")
    many = [f"name {k}" for k in range(300)]
    bad("line 256", "256th", np.ones((300, 2, 3, 4), np.float32) / 4, y=join(many), file="y.csv")


# ---- the table ----

def test_table_fits_and_names_every_bound():
    votes, labels = votes_and_labels(400)
    words = ["bound", "--votes", save("v.npy", votes), "--labels", save("y.npy", labels)]
    for more in [[], ["--posterior", "learn"], ["--hold-out", 100], ["--voters", "signed"]]:
        text = run(*words, *more).stdout
        document = answer(*words, *more)
        for line in text.splitlines():
            assert len(line) <= 80, line
        rows = {line.split()[1]: line.split() for line in text.splitlines() if line.startswith("  ") and line[3:5] == "  "}
        assert set(rows) == set(document["bounds"])
        letters = {}
        for name, bound in document["bounds"].items():
            letter, _, shown = rows[name][:3]
            assert bound["vote"] <= float(shown) <= bound["vote"] + 1.01e-5, (name, shown, bound)
            assert letters.setdefault(letter, bound["event"]) == bound["event"]
            assert ("vacuous" in rows[name][3]) == (bound["vote"] >= 1)
        assert len(set(letters.values())) == len(letters)


if __name__ == "__main__":
    main()
