"""export.py FOLDER: two tables of scikit-learn as CSV files."""
import csv
import os
import sys

try:
    from sklearn.datasets import load_breast_cancer, load_digits
except ImportError:
    sys.exit(f"export.py: {sys.executable} has no scikit-learn: install python3-sklearn and run /usr/bin/python3, or use pip")
if len(sys.argv) != 2:
    sys.exit("usage: export.py FOLDER")

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
for name, data in (("breast_cancer", load_breast_cancer()), ("digits", load_digits())):
    with open(os.path.join(folder, name + ".csv"), "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([*data.feature_names, "label"])
        lines.writerows([*x, data.target_names[y]] for x, y in zip(data.data, data.target))
