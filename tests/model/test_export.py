"""surety export --format c: the file compiles without a warning under gcc and clang at every level of optimisation and
predicts with the bits of surety predict, for every kind; hostile names stay names; what it demands is refused elsewhere.

Under SURETY_TEST_FULL also 32-bit x86 and emulated ARM with and without floating-point hardware (packages of the kind export), and
100,000 points each."""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from tap import FULL, SOURCE, Skip, answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
POINTS = 100000 if FULL else 3000
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
RNG = np.random.default_rng(11)

# Reads rows of columns, writes class, then votes.
HARNESS = """
#include <stdio.h>
#define MODEL_SELF_CHECK
#include "model.c"
int main(void) {
    float x[MODEL_COLUMNS];
    double v[MODEL_VOTES + 1];
    int32_t check = model_self_check();
    if (check) return check < 0 ? 100 - (int)check : 1;
    while (fread(x, sizeof x, 1, stdin) == 1) {
        int k;
        for (k = 0; k < MODEL_VOTES; k++) v[k + 1] = 7;
        v[0] = model_predict(x, v + 1);
        fwrite(v, sizeof v, 1, stdout);
    }
    return 0;
}
"""


def path(name):
    return os.path.join(FOLDER.name, name)


def works(*words):
    """Whether these words compile and run a program."""
    with open(path("hello.c"), "w", encoding="utf-8") as f:
        f.write("#include <stdio.h>\nint main(void) { return 0; }\n")
    if not shutil.which(words[0]):
        return False
    return subprocess.run([*words, path("hello.c"), "-o", path("hello")], capture_output=True, check=False).returncode == 0


def compilers():
    """(name, compiler and flags, what runs the program)"""
    levels = ["-O0", "-O1", "-O2", "-O3"] if FULL else ["-O0", "-O3"]
    found = []
    for cc in ("gcc", "clang"):
        if works(cc):
            found += [(f"{cc} {o}", [cc, o], []) for o in levels]
    if not FULL:
        return found
    for cc in ("gcc", "clang"):
        if works(cc, "-m32", "-msse2"):
            sse = ["-m32", "-msse2", "-mfpmath=sse"]
            found += [(f"{cc} -m32 {o}", [cc, o, *sse], []) for o in levels]
    for target, qemu, flags in (("arm-linux-gnueabihf", "qemu-arm", []), ("arm-linux-gnueabi", "qemu-arm", ["-mthumb", "-mfloat-abi=soft"]),
                                ("aarch64-linux-gnu", "qemu-aarch64", [])):
        cc = f"{target}-gcc"
        if works(cc, "-static") and shutil.which(qemu):
            found += [(f"{cc} {o}", [cc, o, "-static", *flags], [qemu]) for o in levels]
    return found


COMPILERS = compilers()
EMULATED = 5000  # points of an emulated program, but for -O2, which has all of them


def test_which_compilers():
    """Says what the other tests compare."""
    print("# " + ", ".join(name for name, _, _ in COMPILERS), flush=True)
    if FULL and not (any("-m32" in c[0] for c in COMPILERS) and sum(bool(c[2]) for c in COMPILERS) == 12):
        raise Skip("-m32 or emulated ARM are not there (script/setup export)")


def replay(columns, votes, classes, where):
    """Compiles path(where)/model.c with every compiler and compares what it says of the rows of columns."""
    folder = path(where)
    with open(os.path.join(folder, "main.c"), "w", encoding="utf-8") as f:
        f.write(HARNESS)
    assert COMPILERS, "no C compiler"
    for name, words, runner in COMPILERS:
        program = os.path.join(folder, "program")
        done = subprocess.run([*words, *STRICT, os.path.join(folder, "main.c"), "-o", program], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr[:2000])
        count = len(columns) if not runner or "-O2" in words else min(EMULATED, len(columns))
        done = subprocess.run([*runner, program], input=np.ascontiguousarray(columns[:count], np.float32).tobytes(), capture_output=True, check=False)
        assert done.returncode == 0, (name, done.returncode)
        got = np.frombuffer(done.stdout).reshape(count, -1)
        ours, theirs = got[:, 1:], np.ascontiguousarray(votes[:count]).reshape(count, -1)
        assert (ours.view(np.uint64) == theirs.view(np.uint64)).all(), (name, np.abs(ours - theirs).max())
        assert (got[:, 0] == classes[:count]).all(), (name, (got[:, 0] != classes[:count]).sum())
        check_size(name, words, folder)


def check_size(name, words, folder):
    """What the head says of code and constants is true."""
    if not shutil.which("size") or not {"-O0", "-O3"} & set(words):
        return
    source, thing = os.path.join(folder, "model.c"), os.path.join(folder, "model.o")
    text = " ".join(open(source, encoding="ascii").read(6000).replace("\n *", "").split())
    constants, stack, code = map(int, re.search(r"Arrays of constants: (\d+) bytes; on the stack: (\d+) bytes; code: below (\d+) bytes", text).groups())
    subprocess.run([*[w for w in words if w != "-static"], "-std=c99", "-fno-asynchronous-unwind-tables", "-c", source, "-o", thing], check=True)
    sections = [line.split() for line in subprocess.run(["size", "-A", thing], capture_output=True, text=True, check=True).stdout.splitlines()]
    total = lambda start: sum(int(w[1]) for w in sections if len(w) == 3 and w[0].startswith(start))
    assert total(".text") < code, (name, total(".text"))
    assert "-O0" not in words or total(".rodata") >= constants, (name, total(".rodata"), constants)
    assert total(".rodata") + total(".data") < constants + 4096, (name, total(".rodata"), constants)
    assert stack > 0


def predicted(model, points):
    """Votes and class numbers of surety predict; 255: tied."""
    run("predict", model, points, "--out", path("v.npy"), "--classes", path("c.csv"), "--quiet")
    names = [row[-1] for row in csv.reader(open(path("c.csv"), encoding="utf-8", newline=""))][1:]
    known = [c["class"] for c in answer("predict", model, points, "--out", path("v2.npy"), "--quiet")["classes"]]
    return np.load(path("v.npy")), np.array([255 if n == "tied" else known.index(n) for n in names])


def compare(model, columns, where, *options):
    os.makedirs(path(where), exist_ok=True)
    np.save(path("x.npy"), columns)
    got = answer("export", model, "--format", "c", "--out", os.path.join(path(where), "model.c"), *options)
    votes, classes = predicted(model, path("x.npy"))
    replay(columns, votes, classes, where)
    return got


# ---- imported trees ----

D = 7
X = RNG.normal(size=(1200, D)).astype(np.float32)
SCORE = X @ RNG.normal(size=D) + 0.5 * RNG.normal(size=len(X))


def points(extra=None, holes=True):
    """Rows near those of the training, some on values of `extra`, some missing."""
    x = RNG.normal(size=(POINTS, D)).astype(np.float32)
    if extra is not None and len(extra):
        hit = RNG.random(x.shape) < 0.3
        x[hit] = RNG.choice(extra, hit.sum())
        above = RNG.random(x.shape) < 0.1
        x[above] = np.nextafter(x[above], np.float32(np.inf))
    if holes:
        x[RNG.random(x.shape) < 0.05] = np.nan
    return x


def thresholds(model):
    raw = open(model, "rb").read()
    size = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8:8 + size])
    a, b = head["nodes.threshold"]["data_offsets"]
    return np.frombuffer(raw[8 + size + a:8 + size + b], np.float32)


def xgboost_model(K, **more):
    try:
        import xgboost
    except ImportError:
        raise Skip("python3-xgboost is not installed")
    y = np.digitize(SCORE, np.quantile(SCORE, np.arange(1, K) / K))
    settings = {"objective": "binary:logistic" if K == 2 else "multi:softprob", "max_depth": 4, "nthread": 1, **more}
    if K > 2:
        settings["num_class"] = K
    xgboost.train(settings, xgboost.DMatrix(X, label=y), 12).save_model(path("b.json"))
    run("import", path("b.json"), "--out", path("b.model"), "--quiet")
    return path("b.model")


def test_xgboost_two_classes():
    model = xgboost_model(2)
    got = compare(model, points(thresholds(model)), "xgb2")
    assert 0 < got["comparisons"] <= 12 * 4 and got["products"] == 0 and got["vectors"] >= 8, got


def test_xgboost_softmax():
    """Classes decided after a softmax in float, the first of the largest."""
    model = xgboost_model(4)
    compare(model, points(thresholds(model)), "xgb4")


def test_xgboost_near_ties():
    """Scores a few floats apart, which a softmax in float may round to equal shares: answers of XGBoost, predict and the export agree."""
    model = xgboost_model(3)
    import xgboost
    with open(path("b.json"), encoding="utf-8") as f:
        text = json.load(f)
    random = np.random.default_rng(8)
    text["learner"]["learner_model_param"]["base_score"] = "0E0"
    for tree in text["learner"]["gradient_booster"]["model"]["trees"]:
        for i, left in enumerate(tree["left_children"]):
            if left < 0:
                tree["split_conditions"][i] = 2.0 ** -25 * int(random.integers(0, 4))
    with open(path("b.json"), "w", encoding="utf-8") as f:
        json.dump(text, f)
    run("import", path("b.json"), "--out", model, "--quiet")
    x = points(thresholds(model))[:20000]
    compare(model, x, "ties")
    booster = xgboost.Booster(model_file=path("b.json"))
    data, classes = xgboost.DMatrix(x), predicted(model, path("x.npy"))[1]
    margins = booster.predict(data, output_margin=True)
    assert (classes == booster.predict(data).argmax(1)).all()
    assert (classes != margins.argmax(1)).any(), "no tie was met"


def sklearn_model(maker, K, *options):
    try:
        import sklearn.ensemble as ensemble
    except ImportError:
        raise Skip("python3-sklearn is not installed")
    sys.path.insert(0, os.path.join(SOURCE, "python"))
    import surety_sklearn
    y = np.digitize(SCORE, np.quantile(SCORE, np.arange(1, K) / K))
    surety_sklearn.save(maker(ensemble).fit(X, y), path("s.st"))
    run("import", path("s.st"), "--out", path("s.model"), "--quiet", *options)
    return path("s.model")


def test_sklearn_forest():
    """Vectors of class shares in double, divided; one voter, then each tree a voter."""
    for K in (2, 3):
        model = sklearn_model(lambda e: e.RandomForestClassifier(9, max_depth=5, random_state=1), K)
        compare(model, points(thresholds(model), holes=False), f"rf{K}")
        model = sklearn_model(lambda e: e.RandomForestClassifier(9, max_depth=5, random_state=1), K, "--each-tree")
        compare(model, points(thresholds(model), holes=False), f"rft{K}")


def test_sklearn_boosting():
    for K in (2, 3):
        model = sklearn_model(lambda e: e.GradientBoostingClassifier(n_estimators=8, random_state=1), K)
        compare(model, points(thresholds(model), holes=False), f"gb{K}")
        model = sklearn_model(lambda e: e.HistGradientBoostingClassifier(max_iter=6, random_state=1), K)
        compare(model, points(thresholds(model)), f"hgb{K}")


def test_lightgbm():
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME") or "/tmp", ".cache")
    command = os.path.join(caches, "surety", "lightgbm", "lightgbm")
    if not (FULL and os.path.exists(command)):
        raise Skip("only in the full run, with LightGBM's command (script/setup lightgbm)")
    for K, parameters in ((2, ["objective=binary"]), (4, ["objective=multiclass", "num_class=4"])):
        y = np.digitize(SCORE, np.quantile(SCORE, np.arange(1, K) / K))
        np.savetxt(path("l.csv"), np.column_stack([y, X]), delimiter=",")
        subprocess.run([command, "task=train", "verbosity=-1", f"data={path('l.csv')}", "num_trees=10", f"output_model={path('l.txt')}", *parameters],
                       check=True, capture_output=True)
        run("import", path("l.txt"), "--out", path("lgb"), "--quiet")
        compare(path("lgb"), points(thresholds(path("lgb"))), f"lgb{K}")


# ---- kinds that are trained, tables with everything ----

def write_table(K, name="t.csv", rows=700, labels=None):
    """Numbers of several sizes, categories, holes; class names as given."""
    random = np.random.default_rng(K)
    names = labels or ["no", "yes", "maybe", "never"][:K]
    with open(path(name), "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        out.writerow(["big", "colour", "small", "constant", "size", "y"])
        for _ in range(rows):
            k = random.integers(K)
            big = 1e4 * (k + random.normal())
            small = 1e-3 * (random.normal() - k)
            out.writerow([f"{big:.3f}", random.choice(["red", "green", 'b"l,ue', "*/ boo"]), "" if random.random() < .1 else f"{small:.7f}", 3,
                          random.choice(["S", "M", "L", ""]), names[k]])
    return path(name)


def train(K, name, *options, table=None):
    table = table or write_table(K)
    run("train", "--train", table, "--learn-size", 200, "--test-size", 100, "--categorical", "colour,size", "--epochs", 2,
        "--threads", 1, "--quiet", "--seed", 3, "--out", path(name), *options)
    return path(name)


def table_points(model, count):
    """Rows as a device gives them, and the same as CSV for predict. Categories by their numbers in the file's comment."""
    text = answer("inspect", model)
    prep = json.loads(next(v for k, v in walk(text) if k == "data.preparation"))
    random = np.random.default_rng(5)
    rows, cells = np.empty((count, len(prep["columns"])), np.float32), []
    for i in range(count):
        line = []
        for j, column in enumerate(prep["columns"]):
            if "categories" in column:
                pick = random.integers(-1, len(column["categories"]) + 1)
                rows[i, j] = pick if pick < len(column["categories"]) else np.nan
                line.append("" if pick == len(column["categories"]) else "unheard of" if pick < 0 else column["categories"][pick])
            else:
                value = np.float32(column.get("shift", 0) + random.normal() * 2 / column.get("factor", 1))
                if random.random() < .1:
                    value = np.float32(np.nan)
                rows[i, j] = value
                line.append("" if np.isnan(value) else repr(float(value)))
        cells.append(line)
    with open(path("p.csv"), "w", encoding="utf-8", newline="") as f:
        csv.writer(f).writerows([[c["name"] for c in prep["columns"]], *cells])
    return rows


def walk(node):
    if isinstance(node, dict):
        for k, v in node.items():
            yield k, v
            yield from walk(v)


def compare_table(model, where):
    os.makedirs(path(where), exist_ok=True)
    run("export", model, "--out", os.path.join(path(where), "model.c"))
    rows = table_points(model, POINTS)
    votes, classes = predicted(model, path("p.csv"))
    replay(rows, votes, classes, where)


def test_soft_forest():
    for K, missing, votes in ((2, "median", "signed"), (2, "flag", "real"), (3, "flag", "signed"), (4, "median", "real")):
        compare_table(train(K, "f", "--missing", missing, "--trees", 4, "--depth", 3, "--voters", votes), f"f{K}{votes}")


def test_linear():
    for K, votes in ((2, "real"), (2, "signed"), (3, "real"), (3, "signed")):
        compare_table(train(K, "l", "--missing", "median", "--kind", "linear", "--trees", 5, "--scale", "minmax", "--voters", votes), f"l{K}{votes}")


def test_networks():
    """Chains of fused products, MaxMin, an odd number of units, a softmax."""
    for K, votes in ((2, "real"), (3, "real"), (3, "signed")):
        compare_table(train(K, "n", "--missing", "median", "--kind", "lipschitz", "--layers", "8,7", "--trees", 2, "--voters", votes), f"n{K}{votes}")


def test_trees_grown_here():
    """Also with missing values that stay missing, tolerances, and more than two classes."""
    for K, missing in ((2, "keep"), (3, "flag")):
        compare_table(train(K, "g", "--missing", missing, "--kind", "trees", "--norm", "linf", "--eps", 0.1), f"g{K}")
    run("data", "tolerances", "--train", write_table(2), "--categorical", "colour,size", "--missing", "keep", "--learn-size", 200, "--test-size", 100,
        "--out", path("tolerance.csv"))
    lines = list(csv.reader(open(path("tolerance.csv"), encoding="utf-8", newline="")))
    with open(path("tolerance.csv"), "w", encoding="utf-8", newline="") as f:
        csv.writer(f).writerows([lines[0]] + [[name, radius or 1e-4, *rest] for name, radius, *rest in lines[1:]])
    compare_table(train(2, "g", "--missing", "keep", "--kind", "trees", "--norm", "linf", "--tolerance", path("tolerance.csv")), "gt")


# ---- words of others, refusals ----

HOSTILE = ['*/ int x = 1; /*', 'a"b\\', "two\nlines", "??/ ??= trigraphs", "größe \u202e", "%s%n", "/*", "*", "*" + "/" * 3]


def test_grown_trees():
    for K in (2, 4):
        compare_table(train(K, "g", "--kind", "trees", "--trees", 12, "--depth", 3, "--missing", "keep"), f"grown{K}")


def test_hostile_names():
    """Class names, column names and a sentence stay inside comments and strings; the file is ASCII."""
    for first, second in zip(HOSTILE, HOSTILE[1:] + HOSTILE[:1]):
        if "\n" in first + second:  # no CSV field has a line end
            model = xgboost_model(2)
            run("import", path("b.json"), "--out", model, "--classes", f"{first},{second}", "--quiet")
        else:
            model = train(2, "h", "--missing", "median", "--trees", 2, table=write_table(2, "h.csv", 400, [first, second]))
        os.makedirs(path("hostile"), exist_ok=True)
        out = os.path.join(path("hostile"), "model.c")
        run("export", model, "--out", out)
        open(out, encoding="ascii").read()
        with open(os.path.join(path("hostile"), "names.c"), "w", encoding="utf-8") as f:
            f.write('#include <stdio.h>\n#include "model.c"\nint main(void) { int k; for (k = 0; k < 2; k++) printf("%s%c", model_class(k), 0); return 0; }\n')
        program = os.path.join(path("hostile"), "names")
        for name, words, _ in COMPILERS[:1] + [c for c in COMPILERS if c[0].startswith("clang")][:1]:
            done = subprocess.run([*words, *STRICT, os.path.join(path("hostile"), "names.c"), "-o", program], capture_output=True, text=True, check=False)
            assert done.returncode == 0, (name, done.stderr[:1000])
        said = subprocess.run([program], capture_output=True, check=True).stdout.decode().split("\0")[:2]
        assert sorted(said) == sorted([first, second]), said


def test_same_bytes():
    model = train(2, "f", "--missing", "median", "--trees", 2)
    run("export", model, "--out", path("one.c"))
    run("export", model, "--out", path("two.c"))
    assert open(path("one.c"), "rb").read() == open(path("two.c"), "rb").read()
    run("export", model, "--out", path("two.c"), "--prefix", "valve")
    text = open(path("two.c"), encoding="ascii").read()
    assert "valve_predict" in text and "model_predict" not in text and "VALVE_TIED" in text


def test_wrong_usage():
    model = train(2, "f", "--missing", "median", "--trees", 2)
    assert "--out" in error("export", model, code=2)["what"]
    assert "onnx" in error("export", model, "--format", "onnx", "--out", path("x.c"), code=2)["what"]
    for prefix in ("", "A", "1a", "a b", "a" * 33, "a-b", "é"):
        assert "names of an export" in error("export", model, "--out", path("x.c"), "--prefix", prefix, code=2)["what"]
    assert "generic" in error("export", model, "--out", path("x.c"), code=2, env={"SURETY_CPU": "generic"})["what"]
    error("export", path("t.csv"), "--out", path("x.c"), code=3)
    error("export", model, "--out", model, code=2)
    assert not os.path.exists(path("x.c"))


def test_demands():
    """What would change bits is refused by the preprocessor, or seen by the self-check."""
    model = train(2, "f", "--missing", "median", "--trees", 2)
    os.makedirs(path("demands"), exist_ok=True)
    run("export", model, "--out", os.path.join(path("demands"), "model.c"))
    main_c = os.path.join(path("demands"), "main.c")
    with open(main_c, "w", encoding="utf-8") as f:
        f.write(HARNESS)
    seen = 0
    for words in (["gcc", "-ffast-math"], ["clang", "-ffast-math"], ["gcc", "-mfpmath=387"], ["gcc", "-std=gnu99", "-mfma"],
                  ["gcc", "-fno-signed-zeros"], ["gcc", "-freciprocal-math"], ["gcc", "-funsafe-math-optimizations"], ["clang", "-ffinite-math-only"]):
        if not works(words[0]) or (words[-1].startswith("-m") and os.uname().machine != "x86_64"):
            continue
        done = subprocess.run([*words, main_c, "-o", path("demands/p")], capture_output=True, text=True, check=False)
        assert done.returncode and "#error" in done.stderr, (words, done.stderr[:500])
        seen += 1
    assert seen
    if os.uname().machine != "x86_64" or "fma" not in open("/proc/cpuinfo", encoding="utf-8").read():
        return
    fused = ["-O2", "-mfma", "-ffp-contract=fast"]
    for words, code in ((["gcc", "-std=gnu99", "-DMODEL_NO_CONTRACTION", *fused], 101), (["gcc", "-std=c99", *fused], 101), (["clang", *fused], 101),
                        (["clang", "-O2", "-funsafe-math-optimizations"], 102), (["gcc", "-std=c99", "-fsingle-precision-constant"], 103)):
        if works(words[0]):
            subprocess.run([*words, main_c, "-o", path("demands/p")], check=True)
            got = subprocess.run([path("demands/p")], stdin=subprocess.DEVNULL, check=False).returncode
            assert got == code, (words, got)


def test_refused_rows():
    """Rows that predict refuses are refused by the file."""
    model = train(2, "f", "--missing", "error", "--trees", 2, table=write_numbers())
    os.makedirs(path("refused"), exist_ok=True)
    run("export", model, "--out", os.path.join(path("refused"), "model.c"))
    rows = np.zeros((5, 4), np.float32)
    rows[1, 0], rows[2, 1], rows[3, 0], rows[4, :2] = np.nan, np.inf, -np.inf, 3e38
    with open(os.path.join(path("refused"), "main.c"), "w", encoding="utf-8") as f:
        f.write(HARNESS)
    program = os.path.join(path("refused"), "p")
    subprocess.run(["cc", "-std=c99", os.path.join(path("refused"), "main.c"), "-o", program], check=True)
    got = np.frombuffer(subprocess.run([program], input=rows.tobytes(), capture_output=True, check=True).stdout).reshape(5, 2)
    assert got[0, 0] in (0, 1, 255) and (got[1:4, 0] == -1).all() and (got[1:4, 1] == 7).all(), got
    for i in range(5):
        np.save(path("r.npy"), rows[i:i + 1])
        if got[i, 0] == -1:
            error("predict", model, path("r.npy"), "--out", path("v.npy"), code=3)
        else:
            assert predicted(model, path("r.npy"))[1][0] == got[i, 0]


def write_numbers():
    with open(path("n.csv"), "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        out.writerow(["a", "b", "colour", "size", "y"])
        for _ in range(500):
            k = RNG.integers(2)
            out.writerow([f"{RNG.normal() * 0.01 + 0.01 * k:.6f}", f"{RNG.normal():.5f}", 1, 1, k])
    return path("n.csv")


main()
