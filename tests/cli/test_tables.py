"""Tables as people have them: quotes, separators, missing values, categories, scales, units. The preparation is computed
again in NumPy, bit for bit, from the rows whose digests say that they are in S'; units are counted again in Python."""
import csv
import hashlib
import json
import os
import tempfile

import numpy as np
from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
QUICK = ["--quiet", "--threads", 1]
COLUMNS = ["--label-column", "kind", "--categorical", "color", "--drop", "id"]


def path(name):
    return os.path.join(FOLDER.name, name)


def people(m=400, seed=1):
    """Rows as texts: {column: text}."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(m):
        y = int(rng.random() < 0.5)
        rows.append({"id": str(i), "age": "" if rng.random() < 0.08 else f"{40 + 9 * rng.normal() + 12 * y:.1f}",
                     "income": "NA" if rng.random() < 0.05 else f"{np.exp(8 + rng.normal() + y):.3f}",
                     "color": "" if rng.random() < 0.05 else rng.choice(["red", 'gr"een', "b;lue", "7.0"]),
                     "same": "3", "kind": "sick" if y else "well"})
    return rows


def write(name, rows, columns, separator=";"):
    with open(path(name), "w", encoding="utf-8", newline="") as f:
        lines = csv.writer(f, delimiter=separator)
        lines.writerow(columns)
        lines.writerows([row[c] for c in columns] for row in rows)
    return path(name)


ROWS = people()
FILE = write("people.csv", ROWS, ["id", "age", "income", "color", "same", "kind"])


def tensors(model):
    with open(model, "rb") as f:
        raw = f.read()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    types = {"F64": np.float64, "F32": np.float32, "U8": np.uint8, "U64": np.uint64}
    body = raw[8 + size:]
    found = {name: np.frombuffer(body[t["data_offsets"][0]:t["data_offsets"][1]], types[t["dtype"]]).reshape(t["shape"])
             for name, t in header.items() if name != "__metadata__"}
    return found, header["__metadata__"]


def number(text):
    return np.float32("nan") if text in ("", "NA") else np.float32(text)


def category(text):
    return {"7.0": "7"}.get(text, text)


def digest(row):
    """Of the used columns as they were given, as docs/certificates.md says."""
    values = np.array([number(row["age"]), number(row["income"]), 0, 3], np.float32)
    bits = values.view(np.uint32)
    bits[np.isnan(values)] = 0x7fc00000
    if row["color"] == "":
        bits[2] = 0x7fc00000
    text = category(row["color"]).encode()
    return int.from_bytes(hashlib.sha256(values.tobytes() + len(text).to_bytes(4, "little") + text).digest()[:8], "little")


def fitted(column, scale):
    """shift, factor, median of a column of S': sums in double, in the order of the file."""
    x = np.array([v for v in column if not np.isnan(v)], np.float32).astype(np.float64)
    if scale == "standard":
        mean = np.add.accumulate(x)[-1] / len(x)
        spread = np.add.accumulate((x - mean) * (x - mean))[-1] / len(x)
        shift, factor = np.float32(mean), np.float32(1 / np.sqrt(spread))
    elif scale == "minmax":
        shift, factor = np.float32(x.min()), np.float32(1 / (x.max() - x.min()))
    else:
        shift, factor = np.float32(0), np.float32(1)
    return shift, factor, np.float32(np.median(x))


def prepare(row, stats, colors, flags):
    """The features of a row."""
    z = []
    for name in ("age", "income"):
        shift, factor, median = stats[name]
        x = number(row[name])
        z.append(np.float32(np.float32((median if np.isnan(x) else x) - shift) * factor))
        if flags:
            z.append(np.float32(np.isnan(x)))
    z += [np.float32(category(row["color"]) == c) for c in colors]
    return z + ([np.float32(row["color"] == "")] if flags else [])


def test_the_preparation_again_in_numpy():
    for scale in ("standard", "minmax", "none"):
        for missing in ("median", "flag"):
            run("train", "--train", FILE, *COLUMNS, "--scale", scale, "--missing", missing, "--kind", "linear", "--trees", 3, "--epochs", 2,
                *QUICK, "--out", path("m"))
            found, texts = tensors(path("m"))
            said = json.loads(texts["data.preparation"])
            prior = set(found["rows.prior"].tolist())
            inside = [row for row in ROWS if digest(row) in prior]
            assert len(inside) == 400 - 160 - 80 == len(found["rows.prior"])
            stats = {name: fitted([number(row[name]) for row in inside], scale) for name in ("age", "income")}
            colors = sorted({category(row["color"]) for row in inside} - {""}, key=str.encode)
            by_name = {c["name"]: c for c in said["columns"]}
            for name, (shift, factor, median) in stats.items():
                column = by_name[name]
                assert np.float32(column.get("shift", 0)) == shift and np.float32(column.get("factor", 1)) == factor, (scale, name)
                assert np.float32(column["median"]) == median and column.get("flag", False) == (missing == "flag")
            assert by_name["color"]["categories"] == colors and ("constant" in by_name["same"]) == (scale != "none")
            # votes of the model at features that NumPy made
            run("predict", path("m"), FILE, "--votes", path("h.npy"), "--out", path("v.npy"), *QUICK)
            z = np.array([prepare(row, stats, colors, missing == "flag") for row in ROWS], np.float64)
            if scale == "none":  # a constant is left out only where it would be scaled
                z = np.hstack([z, np.full((len(z), 1), 3.0)])
            h = np.tanh(z @ found["linear.weight"].astype(np.float64).T + found["linear.bias"])
            assert np.abs(np.load(path("h.npy")) - h).max() < 1e-4, (scale, missing)


def test_from_a_messy_table_to_a_certificate():
    data = ["--train", FILE]
    said = answer("train", *data, *COLUMNS, "--missing", "flag", "--norm", "linf", "--eps", 0.05, "--epochs", 20, *QUICK, "--out", path("m"))
    assert said["clean_error"] < said["majority_error"]
    shown = answer("evaluate", path("m"), *data, *QUICK)["attacks"]
    assert all(row["radius_unit"] == "standard deviations" for row in shown)
    c = answer("certify", path("m"), *data, "--looks", 1, *QUICK, "--out", path("c.json"))
    assert "(in standard deviations of each feature in S')" in c["claim"], c["claim"]
    assert "(7 of 9 features, categories or flags of missing values, cannot change), what is missing counting as the median of S'," in c["claim"]
    assert c["data"]["scaling"] == "standard" and c["data"]["missing"] == "flag" and c["data"]["columns"] == 4
    assert answer("verify", path("c.json"), "--model", path("m"), *data, "--retrain", *QUICK)["agrees"]
    assert answer("verify", path("c.json"), "--model", path("m"), "--numbers", *QUICK, code=5)["agrees"]
    # T says what S says: the same rows by predict, without labels, in another order of columns, in another format
    plain = write("plain.csv", ROWS, ["color", "same", "income", "age"], ",")
    run("predict", path("m"), FILE, "--out", path("a.npy"), *QUICK)
    run("predict", path("m"), plain, "--out", path("b.npy"), *QUICK)
    assert np.array_equal(np.load(path("a.npy")), np.load(path("b.npy")))
    found = answer("predict", path("m"), write("new.csv", [dict(row, color="violet", age="") for row in ROWS[:7]], ["id", "age", "income",
                   "color", "same", "kind"]), "--classes", path("classes.csv"), *QUICK)
    assert found["unseen"] == 7 and found["filled"] >= 7 and found["label_column"] == "kind" and found["m"] == 7
    with open(path("classes.csv"), encoding="utf-8") as f:
        assert {line["class"] for line in csv.DictReader(f)} <= {"sick", "well"}
    # a column that the training did not have
    more = write("more.csv", [dict(row, note="x") for row in ROWS[:9]], ["note", "color", "same", "income", "age"], ",")
    e = error("predict", path("m"), more, "--out", path("b.npy"), *QUICK, code=3)
    assert "'note'" in e["what"] and "--drop 'note'" in e["expected"], e
    run("predict", path("m"), more, "--drop", "note", "--out", path("b.npy"), *QUICK)
    assert np.array_equal(np.load(path("a.npy"))[:9], np.load(path("b.npy")))
    e = error("predict", path("m"), more, "--drop", "note,income", "--out", path("b.npy"), *QUICK, code=2)
    assert e["what"] == "the column 'income' is a feature of the model", e
    # fresh rows: new people, none of them known
    fresh = write("fresh.csv", people(300, 9), ["kind", "same", "age", "color", "income", "id"], "\t")
    c = answer("certify", path("m"), "--fresh", fresh, "--looks", 1, *QUICK, "--out", path("f.json"))
    assert c["inputs"]["m"] == 300 and answer("verify", path("f.json"), "--model", path("m"), "--fresh", fresh, *QUICK)["agrees"]
    e = error("certify", path("m"), "--fresh", FILE, "--looks", 1, *QUICK, "--out", path("g.json"), code=1)
    assert "trained the model" in e["what"]
    strange = write("strange.csv", [dict(row, kind="other") for row in people(20, 10)], ["kind", "same", "age", "color", "income", "id"], "\t")
    e = error("certify", path("m"), "--fresh", strange, "--looks", 1, *QUICK, "--out", path("g.json"), code=3)
    assert "one of the model's classes" in e["what"], e


def test_another_preparation_is_another_training():
    words = ["train", "--train", FILE, *COLUMNS, "--missing", "median", "--kind", "linear", "--epochs", 3, *QUICK, "--checkpoint", path("cp")]
    run(*words, "--out", path("m"))
    e = error(*words, "--scale", "minmax", "--resume", "--out", path("m2"), code=2)
    assert "preparation" in e["what"]
    # a model whose preparation was changed is noticed
    with open(path("m"), "rb") as f:
        raw = f.read()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    said = json.loads(header["__metadata__"]["data.preparation"])
    said["columns"][0]["shift"] += 1
    header["__metadata__"]["data.preparation"] = json.dumps(said, sort_keys=True, separators=(",", ":"))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    with open(path("forged"), "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + raw[8 + size:])
    error("certify", path("forged"), "--train", FILE, "--attack", "none", "--looks", 1, *QUICK, "--out", path("no.json"), code=1)


def test_points_in_the_users_units():
    run("train", "--train", FILE, *COLUMNS, "--missing", "median", "--norm", "linf", "--eps", 0.2, "--epochs", 5, *QUICK, "--out", path("m"))
    features = answer("data", "show", "--train", FILE, *COLUMNS, "--missing", "median")["features"]
    assert [f["name"] for f in features if f["moves"]] == ["age", "income"]
    r = answer("attack", path("m"), "--train", FILE, "--attack", "pgd", "--out", path("X.npy"), *QUICK)
    answer("attack", path("m"), "--train", FILE, "--attack", "none", "--out", path("X0.npy"), *QUICK)
    x, x0 = np.load(path("X.npy")).astype(float), np.load(path("X0.npy")).astype(float)
    moved = np.abs(x - x0) * [f["factor"] for f in features]
    assert moved.max() <= 0.2 * (1 + 1e-5) and abs(moved.max() - r["norm_max"]) < 1e-5
    assert (x[:, 2:] == x0[:, 2:]).all() and set(np.unique(x[:, 2:])) <= {0, 1}
    assert 20 < np.median(x[:, 0]) < 70  # years
    run("predict", path("m"), path("X.npy"), "--classes", path("p.csv"), *QUICK)
    assert r["units_fooled"] == r["fooled"] and r["units"] == r["m"] == len(x)


def test_a_hold_out_is_never_empty():
    """One that has no whole unit would leave the choice to S, which is not paid for; of few rows it is one."""
    rng = np.random.default_rng(5)
    rows = [{"who": f"p{i // 5}", "a": f"{rng.normal() + i % 2:.4f}", "y": str(i % 2)} for i in range(60)]
    file = write("whole.csv", rows, ["who", "a", "y"], ",")
    words = ["train", "--test-size", 0, "--kind", "linear", "--epochs", 2, *QUICK, "--out", path("h")]
    said = error(*words, "--train", file, "--unit", "who", "--holdout", 0.05, code=2)
    assert "no whole unit" in said["what"], said
    assert answer(*words, "--train", file, "--unit", "who", "--holdout", 0.3)["priors_compared"] == 1
    few = write("few.csv", rows[:10], ["who", "a", "y"], ",")
    assert answer(*words, "--train", few, "--drop", "who", "--holdout", 0.15)["priors_compared"] == 1


def test_units_are_counted_again():
    rng = np.random.default_rng(4)
    rows, count = [], 300
    for unit in range(count):
        y, own = unit % 2, 0.4 * rng.normal(size=2)
        for _ in range(int(rng.integers(1, 6))):
            x = rng.normal(size=2) + 2 * y + own
            rows.append({"who": f"p{unit}", "a": f"{x[0]:.3f}", "b": f"{x[1]:.3f}", "y": str(y)})
    order = rng.permutation(len(rows))
    rows = [rows[i] for i in order]
    file = write("units.csv", rows, ["who", "a", "b", "y"], ",")
    said = answer("data", "show", "--train", file, "--unit", "who")
    assert said["unit"] == "who" and said["units"] == {"prior": 120, "learn": 120, "test": 60}
    run("train", "--train", file, "--unit", "who", "--kind", "linear", "--norm", "linf", "--eps", 0.1, "--epochs", 30, *QUICK, "--out", path("u"))
    data = ["--train", file]
    # which rows are in S: their digests
    found, _ = tensors(path("u"))
    learn = set(found["rows.learn"].tolist())

    def of(row):
        return int.from_bytes(hashlib.sha256(np.array([row["a"], row["b"]], np.float32).tobytes()).digest()[:8], "little")

    inside = np.array([of(row) in learn for row in rows])
    assert inside.sum() == len(learn) and len({row["who"] for row, s in zip(rows, inside) if s}) == 120
    assert not {row["who"] for row, s in zip(rows, inside) if s} & {row["who"] for row, s in zip(rows, inside) if not s}
    run("predict", path("u"), file, "--out", path("v.npy"), *QUICK)
    right = np.load(path("v.npy")) * (2 * np.array([int(row["y"]) for row in rows]) - 1) > 0
    failed = len({row["who"] for row, s, ok in zip(rows, inside, right) if s and not ok})
    c = answer("certify", path("u"), *data, "--attack", "none", "--looks", 1, *QUICK, "--out", path("u.json"))
    assert c["inputs"]["m"] == 120 and c["counts"]["max_wrong"] + c["counts"]["max_tied"] == failed
    assert c["data"]["unit"] == "who" and c["data"]["units_learn"] == 120 and "120 units of S" in c["claim"]
    assert "all inputs with one value of 'who'" in c["claim"] and c["majority"]["failed"] == sum(
        any(row["y"] != c["majority"]["class"] for row, s in zip(rows, inside) if s and row["who"] == who)
        for who in {row["who"] for row, s in zip(rows, inside) if s})
    # the exact limit of a binomial, by bisection on its tail
    from math import comb
    low, high = failed / 120, 1.0
    for _ in range(200):
        p = (low + high) / 2
        tail = sum(comb(120, k) * p ** k * (1 - p) ** (120 - k) for k in range(failed + 1))
        low, high = (p, high) if tail > 0.05 else (low, p)
    assert c["bound"] == "vote_frozen_max" and high * (1 - 1e-9) <= c["value"] <= high * (1 + 1e-9)
    assert answer("verify", path("u.json"), "--model", path("u"), *data, "--retrain", *QUICK)["agrees"]
    assert answer("verify", path("u.json"), "--model", path("u"), "--numbers", *QUICK, code=5)["agrees"]
    for threads in (2, 3):
        again = answer("certify", path("u"), *data, "--attack", "none", "--looks", 1, "--quiet", "--threads", threads, "--out", path("u2.json"))
        assert again == c
    row = answer("evaluate", path("u"), *data, "--attacks", "none,pgd,worst-case", *QUICK)["attacks"]
    assert row[0]["counts"] == "units" and row[0]["averaged_risk"] is None and row[0]["m"] == 120
    assert [name for name, b in row[0]["bounds"].items() if b["vote"] is not None] == ["vote_frozen_max"]
    assert row[0]["adversarial_risk"] * 60 == round(row[0]["adversarial_risk"] * 60) and row[2]["not_proved"] >= row[1]["adversarial_risk"]
    for words in (["--bound", "average_max_seeger"], ["--per-class"], ["--bound", "best"]):
        e = error("certify", path("u"), *data, "--attack", "pgd", "--looks", 1, *words, *QUICK, "--out", path("no.json"), code=1)
        assert "units are counted" in e["what"], e
    # a share of wrong labels, which are those of rows, is no share of units; one probability for each row is
    for noise in ("pairs=0.01", "rows=0.01"):
        e = error("certify", path("u"), *data, "--attack", "none", "--looks", 1, "--label-noise", noise, *QUICK, "--out", path("no.json"), code=1)
        assert "says nothing about units" in e["what"], e
    noisy = answer("certify", path("u"), *data, "--attack", "none", "--looks", 1, "--label-noise", "flips=0.01", *QUICK, "--out", path("n.json"))
    assert abs(noisy["assumed"]["value"] - (c["value"] - 0.01) / 0.98) < 1e-12
    # units that lost rows to others would fail less often than whole ones
    for words in (["train", "--kind", "linear", *QUICK, "--out", path("no")], ["data", "show"]):
        e = error(*words, *data, "--unit", "who", "--copies", "drop", code=2)
        assert "equal rows are dropped one by one, and units are counted" in e["what"], e


def test_shares():
    for words, sizes in (([], (200, 200, 100)), (["--learn-size", "50%"], (150, 250, 100)), (["--test-size", "10%"], (250, 200, 50)),
                         (["--learn-size", 7, "--test-size", "0.3%"], (492, 7, 1))):
        said = answer("data", "show", "--train", write("shares.csv", [{"a": str(i), "y": str(i % 2)} for i in range(500)], ["a", "y"]), *words)
        assert (said["prior"], said["learn"], said["test"]) == sizes, (words, said["prior"])
    for value in ("100%", "-5%", "0%", "five", "1.5"):
        error("data", "show", "--train", path("shares.csv"), "--learn-size", value, code=2)


def test_what_is_said():
    rows = [{"": str(i), "a": f"{i * i % 97}", "y": str(i % 2)} for i in range(60)]
    done = run("data", "show", "--train", write("pandas.csv", rows, ["", "a", "y"], ","))
    assert "numbers the rows" in done.stderr and "--drop 'column 1'" in done.stderr
    assert answer("data", "show", "--train", path("pandas.csv"))["columns"]["index_column"] == "column 1"
    said = answer("data", "show", "--train", path("pandas.csv"), "--drop", "column 1")
    assert said["columns"]["index_column"] is None and said["d"] == 1
    said = answer("data", "show", "--train", FILE, *COLUMNS, "--missing", "median")
    exact = sum(float(np.float32(row["income"])) != float(row["income"]) for row in ROWS if row["income"] != "NA")
    exact += sum(float(np.float32(row["age"])) != float(row["age"]) for row in ROWS if row["age"])
    assert said["columns"]["rounded"] == exact and said["columns"]["separator"] == ";" and said["columns"]["constant"] == ["same"]
    assert sum(said["columns"]["filled"].values()) == sum((row["age"] == "") + (row["income"] == "NA") + (row["color"] == "") for row in ROWS)
    e = error("train", "--train", FILE, *COLUMNS, "--missing", "keep", *QUICK, "--out", path("k"), code=2)
    assert "--missing keep" in e["what"] and "soft-forest" in e["what"]
    e = error("train", "--train", FILE, *COLUMNS, *QUICK, "--out", path("k"), code=3)
    assert "is missing" in e["what"] and "--missing" in e["expected"] and e["place"].startswith("line ")
    for separator in ("a", "5", '"', ",,", "  ", "."):
        error("data", "show", "--train", FILE, "--separator", separator, code=2)


def numbers(name, separator=",", end="\n", names="a,b,y", seed=2):
    """Two features and a label in text; a table that every reader can have."""
    rng = np.random.default_rng(seed)
    rows = [[f"{rng.normal() + 2 * (i % 2):.3f}", f"{rng.normal():.3f}", "01"[i % 2]] for i in range(200)]
    with open(path(name), "w", encoding="utf-8", newline="") as f:
        f.write(end.join(separator.join(row) for row in [names.split(","), *rows]) + end)
    return rows


def test_runs_of_blanks():
    numbers("comma.csv")
    rows = numbers("plain.dat", "   ", " \r\n")
    with open(path("quoted.dat"), "w", encoding="utf-8") as f:
        f.write("\n".join(" \t" + "\t ".join(f'"{v}"' for v in row) for row in [["a", "b", "y"], *rows]))
    said = [answer("data", "show", "--train", path(name), *words) for name, words in (
        ("comma.csv", []), ("plain.dat", ["--separator", "blank"]), ("quoted.dat", ["--separator", " "]))]
    assert len({s["sha256"]["learn"] for s in said}) == 1 and [s["columns"]["separator"] for s in said] == [",", "blank", "blank"]
    e = error("data", "show", "--train", path("plain.dat"), code=3)
    assert "--separator blank" in e["expected"], e
    run("train", "--train", path("plain.dat"), "--separator", "blank", "--epochs", 2, *QUICK, "--out", path("b"))
    c = run("certify", path("b"), "--train", path("plain.dat"), "--separator", "blank", "--attack", "none", "--looks", 1, *QUICK, "--out",
            path("b.json")).stdout
    assert "--separator ' '" in c.split("verify it:")[1], c
    run("predict", path("b"), path("plain.dat"), "--separator", "blank", "--classes", path("b.csv"), *QUICK)
    run("predict", path("b"), path("comma.csv"), "--classes", path("c.csv"), *QUICK)
    with open(path("b.csv"), encoding="utf-8") as b, open(path("c.csv"), encoding="utf-8") as c:
        assert b.read() == c.read()


def test_every_reader_feeds_every_command():
    """A model of a CSV file with its labels inside; the same rows as NPY, NPZ and LIBSVM, without names."""
    rows = np.array([[float(v) for v in row] for row in numbers("t.csv")])
    np.save(path("X_t.npy"), rows[:, :2])
    np.save(path("y_t.npy"), rows[:, 2].astype(int))
    np.savez(path("t.npz"), X=rows[:, :2], y=rows[:, 2].astype(int))
    with open(path("t.svm"), "w", encoding="utf-8") as f:
        f.writelines(f"{int(y)} 1:{a!r} 2:{b!r}\n" for a, b, y in rows.tolist())
    run("train", "--train", path("t.csv"), "--norm", "linf", "--eps", 0.1, "--epochs", 3, *QUICK, "--out", path("r"))
    found = set()
    for name in ("t.csv", "X_t.npy", "t.npz", "t.svm"):
        run("predict", path("r"), path(name), "--out", path("v.npy"), *QUICK)
        shown = answer("evaluate", path("r"), "--train", path(name), "--attacks", "pgd", *QUICK)
        answer("attack", path("r"), "--train", path(name), "--attack", "pgd", "--out", path("x.npy"), *QUICK)
        value = answer("certify", path("r"), "--train", path(name), "--looks", 1, *QUICK, "--out", path("r.json"))["value"]
        found.add((np.load(path("v.npy")).tobytes(), np.load(path("x.npy")).tobytes(), shown["attacks"][0]["adversarial_risk"], value))
    assert len(found) == 1


def test_the_unit_of_a_radius():
    """With a table of tolerances a radius is in tolerances, in every output."""
    numbers("t.csv")
    with open(path("tol.csv"), "w", encoding="utf-8") as f:
        f.write("feature,radius\na,0.2\nb,0.1\n")
    words = ["--train", path("t.csv"), *QUICK]
    run("train", *words, "--norm", "linf", "--tolerance", path("tol.csv"), "--epochs", 3, "--out", path("u"))
    rows = answer("evaluate", path("u"), *words)["attacks"]
    assert {row["radius_unit"] for row in rows} == {"tolerances"}, rows
    assert "in tolerances of 2 features" in run("evaluate", path("u"), *words).stdout
    assert answer("curve", path("u"), *words, "--eps-grid", "0:1:1", "--out", path("curve.csv"))["radius_unit"] == "tolerances"
    run("train", *words, "--epochs", 3, "--out", path("u"))
    said = run("evaluate", path("u"), *words).stdout
    assert "ball of radius" not in said and "deviations" not in said, said  # there is no radius
    e = error("train", *words, "--norm", "linf", "--tolerance", path("u"), "--out", path("no"), code=3)
    assert "it looks like a model" in e["what"], e


def test_a_box_around_scaled_features():
    numbers("t.csv")
    words = ["--train", path("t.csv"), *QUICK]
    for scale in ("standard", "minmax"):
        run("train", *words, "--scale", scale, "--box", "-4.5,6", "--norm", "linf", "--eps", 0.1, "--epochs", 3, "--out", path("x"))
        c = answer("certify", path("x"), *words, "--looks", 1, "--out", path("x.json"))
        assert "of the input and inside [-4.5, 6] in the units of the data (or no farther outside than the input is) on which" in c["claim"], c["claim"]
        assert answer("verify", path("x.json"), "--model", path("x"), *words)["agrees"]


def test_what_is_wrong_with_a_file():
    numbers("t.csv")
    with open(path("t.csv"), encoding="utf-8") as f:
        text = f.read()
    for name, content, words, says, expects in (
            ("blank.csv", text + "\n\n", [], "an empty line", "3 fields"),
            ("comment.csv", "# made by hand\n" + text, [], "fields in this CSV line: 3", "a title or comment"),
            ("large.csv", text.replace("\n", "\n1e39,2,1\n", 1), [], "'1e39' is too large", "a float can hold"),
            ("twice.csv", text.replace("a,b,y", "a,b,a"), [], "two columns are called 'a': 1 and 3", "--drop 1"),
            ("first.csv", "y,a\n" + "".join(f"{'no' if i % 2 else 'yes'},{i}\n" for i in range(99)), [], "'yes' is not a number",
             "--label-column"),
            ("t.csv", text, ["--label-column", "9"], "there is no label column '9'", "a number from 1 to 3"),
            ("t.csv", text, ["--label-column", "B"], "did you mean 'b'?", "a name of the header")):
        with open(path(name), "w", encoding="utf-8") as f:
            f.write(content)
        e = error("data", "show", "--train", path(name), *words, code=3)
        assert says in e["what"] and expects in e["expected"] and (words != ["--label-column", "9"] or "mean" not in e["what"]), (name, e)
    for words, says in ((["data", "shwo"], "did you mean 'show'?"), (["data", "show", "t.csv"], "given by --train"),
                        (["train", "t.csv", "--out", "m"], "--train FILE"),
                        (["train", "--train", path("t.csv"), "--kind", "forest", "--out", "m"], "did you mean 'soft-forest'?")):
        assert says in error(*words, code=2)["what"], words


def test_progress_of_many_epochs():
    numbers("t.csv")
    said = run("train", "--train", path("t.csv"), "--threads", 1, "--out", path("p")).stderr.splitlines()
    lines = [line for line in said if line.startswith("step 1")]
    assert 15 <= len(lines) <= 25 and "100 %" in lines[-1], lines


def test_files_in_the_wrong_place():
    run("train", "--train", FILE, *COLUMNS, "--missing", "median", "--kind", "linear", "--epochs", 2, *QUICK, "--out", path("m"))
    run("certify", path("m"), "--train", FILE, "--attack", "none", "--looks", 1, *QUICK, "--out", path("c.json"))
    for words, says in ((["data", "show", "--train", path("m")], "looks like a model"),
                        (["data", "show", "--train", path("c.json")], "looks like JSON"),
                        (["inspect", FILE], "this is no model: it looks like a table in text"),
                        (["inspect", path("c.json")], "it looks like JSON"), (["predict", path("m"), path("m"), "--out", path("v")], "a model"),
                        (["data", "show", "--train", FOLDER.name], "it is a folder"), (["inspect", FOLDER.name], "it is a folder"),
                        (["verify", path("m")], "not JSON: it looks like a model")):
        e = error(*words, code=3)
        assert says in e["what"], (words, e)


main()
