"""measure.py SURETY FOLDER [--splits N] [--first SEED] [--with "OPTIONS"]: surety beside scikit-learn on eight public tables (docs/notes/tables.md).

FOLDER holds what export.R and export.py wrote. For each table and each of N splits (seeds): equal rows are dropped, 40 % of the
rows are S, 20 % T, the rest S'. All models are trained on S' alone. Peers: scikit-learn's random forest and logistic regression with
their defaults. Limits: worst_case_frozen of surety from S; for logistic regression the same binomial limit from its exact margin,
y (w x + c) > eps ||w||_1, in the same standard deviations. One line of a table per data set, means over the splits."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from scipy.stats import beta
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

# name, file, label column, classes, radius (linf, in standard deviations of S')
TABLES = [("spam", "spam.csv", "type", None, 0.1), ("PimaIndiansDiabetes", "PimaIndiansDiabetes.csv", "diabetes", None, 0.1),
          ("Ionosphere", "Ionosphere.csv", "Class", None, 0.1), ("Sonar", "Sonar.csv", "Class", None, 0.1),
          ("breast_cancer", "breast_cancer.csv", "label", None, 0.3), ("Satellite", "Satellite.csv", "classes", None, 0.1),
          ("Letter B/D", "LetterRecognition.csv", "lettr", "B,D", 0.1), ("digits 4/9", "digits.csv", "label", "4,9", 0.1)]


def surety(*words):
    done = subprocess.run([SURETY, *map(str, words), "--json", "--quiet"], capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode:
        raise SystemExit(f"surety {' '.join(map(str, words))}\n{done.stderr}{done.stdout}")
    return json.loads(done.stdout)


def rows(model, data, part):
    """The rows of S', S or T, as the model's data have them, and their class numbers."""
    surety("attack", model, *data, "--attack", "none", "--split", part, "--out", at("x.npy"), "--labels", at("y.npy"))
    return np.load(at("x.npy")).astype(float), (np.load(at("y.npy")) > 0).astype(int) if two(model) else np.load(at("y.npy"))


def two(model):
    return surety("inspect", model)["class_count"] == 2


def at(name):
    return os.path.join(WORK, name)


def peers(model, data, eps):
    """Clean errors on T of a random forest and of logistic regression, and the limit of the latter's exact margin on S."""
    (x, y), (xs, ys), (xt, yt) = (rows(model, data, part) for part in ("prior", "learn", "test"))
    mean, deviation = x.mean(0), x.std(0)
    deviation[deviation == 0] = 1
    x, xs, xt = ((a - mean) / deviation for a in (x, xs, xt))
    forest = RandomForestClassifier(random_state=0).fit(x, y)
    line = LogisticRegression(max_iter=10000).fit(x, y)
    if len(line.coef_) == 1:
        proved = np.where(ys == 1, 1, -1) * line.decision_function(xs) > eps * np.abs(line.coef_[0]).sum()
    else:
        scores, reach = line.decision_function(xs), np.abs(line.coef_[:, None] - line.coef_[None]).sum(2) * eps
        proved = np.array([all(s[k] - s[o] > reach[k, o] for o in range(len(s)) if o != k) for s, k in zip(scores, ys)])
    failed, m = int((~proved).sum()), len(ys)
    limit = 1.0 if failed == m else beta.ppf(0.95, failed + 1, m - failed)
    return np.mean(forest.predict(xt) != yt), np.mean(line.predict(xt) != yt), limit


def measure(file, column, classes, eps, seed):
    own = ["--train", os.path.join(FOLDER, file), "--label-column", column, "--copies", "drop"]
    own += ["--classes", classes] if classes else []
    data = own[:4]
    ball = ["--norm", "linf", "--eps", eps]
    surety("train", *own, "--seed", seed, "--out", at("plain"))
    surety("train", *own, "--seed", seed, *ball, *WITH, "--out", at("hard"))
    plain, shown = surety("evaluate", at("plain"), *data), surety("evaluate", at("hard"), *data)
    worst = next(row for row in shown["attacks"] if row["attack"] == "worst-case")
    attacked = next(row for row in shown["attacks"] if row["attack"] not in ("none", "worst-case"))
    limit = surety("certify", at("hard"), *data, "--looks", 1, "--out", at("c.json"))["value"]
    forest, line, line_limit = peers(at("plain"), data, eps)
    return (plain["majority_error"], forest, line, plain["clean_error"], shown["clean_error"], attacked["adversarial_risk"],
            worst["not_proved"], limit, line_limit)


SURETY, FOLDER = os.path.abspath(sys.argv[1]), sys.argv[2]
SPLITS = int(sys.argv[sys.argv.index("--splits") + 1]) if "--splits" in sys.argv else 5
FIRST = int(sys.argv[sys.argv.index("--first") + 1]) if "--first" in sys.argv else 0
WITH = sys.argv[sys.argv.index("--with") + 1].split() if "--with" in sys.argv else []  # of the certified training
with tempfile.TemporaryDirectory() as WORK:
    ENVIRONMENT = {**os.environ, "XDG_STATE_HOME": WORK}  # these looks are not the user's
    print("| table | radius | majority | random forest | logistic | undefended | certified | attacked | not proved | limit | logistic's limit |")
    print("|---" * 11 + "|")
    for name, *table in TABLES:
        means = np.mean([measure(*table, seed) for seed in range(FIRST, FIRST + SPLITS)], 0)
        print(f"| {name} | {table[3]} | " + " | ".join(f"{v:.3f}"[1:] if v < 1 else f"{v:.3f}" for v in means) + " |", flush=True)
