"""A tour of surety for Python, on a table that scikit-learn carries: tour.py [FOLDER for the figures and files]."""
import os
import sys
import tempfile

import matplotlib
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import surety

matplotlib.use("Agg")
folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
os.makedirs(folder, exist_ok=True)
table = load_breast_cancer()
names = np.array(["malignant", "benign"])[table.target]
X, X_new, y, y_new = train_test_split(table.data, names, test_size=0.4, random_state=0)

# How many examples does a promise need? The rows below are few, so the limits are not small.
print("a promise of 5 % for a vote that fails on 2 % needs", surety.plan(promise=0.05, expected=0.02), "examples")

# 1. A vote that is trained to resist, and promises: 40 % of its rows are kept for that (S).
clf = surety.VoteClassifier(kind="linear", norm="linf", eps=0.1, learn_size=0.4, random_state=0).fit(X, y)
print("accuracy on new rows", round(clf.score(X_new, y_new), 3))
promise = clf.certify(looks=1, curve=[0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
print(promise.sentence)
promise.save(os.path.join(folder, "vote.json"))
print("derived again from the rows:", surety.verify(os.path.join(folder, "vote.json"), clf, X, y))
print("radius within which the first answers cannot change:", clf.certified_radius(X_new[:3]).round(3))

# 2. What an attack can do, beside what is proved.
measured = clf.curve(X_new, y_new, np.linspace(0, 0.3, 7), ["apgd", "worst-case"])
print(clf.evaluate(X_new, y_new, [surety.Clean(), surety.Attack("linf", 0.1), surety.WorstCase("linf", 0.1)]))
surety.plot_curve(measured, promise).figure.savefig(os.path.join(folder, "curve.pdf"))

# 3. A guarantee for a model that you have already, from rows that it has never seen. looks=2: these rows give this certificate
# and the next, and both pay for that.
forest = RandomForestClassifier(random_state=0).fit(X, y)
g = surety.guarantee(forest, X_new, y_new, surety.Noise("l2", 1.0, samples=20), looks=2, per_class=True)
print(g.sentence)
g.save(os.path.join(folder, "forest.json"))
surety.plot_classes(g).figure.savefig(os.path.join(folder, "classes.pdf"))

# 4. The same forest, tree by tree: proofs against every change within a radius.
trees = surety.from_sklearn(forest, X)
proved = trees.certify(X_new, y_new, looks=2, threat=surety.WorstCase("linf", 0.01))
print(proved.sentence)

# 5. After deployment: outcomes in the order in which they arrive; here the rows at hand stand in for them.
watch = surety.Monitor(g)
watch.add(forest.predict(X_new) != y_new)
print("still holds" if watch.alarm is None else "refuted", "after", watch.seen, "outcomes, of which", watch.failed, "failed")
print("figures and certificates are in", folder)
