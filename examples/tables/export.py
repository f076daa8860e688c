"""export.py FOLDER: two tables of scikit-learn (python3-sklearn) as CSV files."""
import csv
import os
import sys

from sklearn.datasets import load_breast_cancer, load_digits

folder = sys.argv[1]
for name, data in (("breast_cancer", load_breast_cancer()), ("digits", load_digits())):
    with open(os.path.join(folder, name + ".csv"), "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([*data.feature_names, "label"])
        lines.writerows([*x, data.target_names[y]] for x, y in zip(data.data, data.target))
