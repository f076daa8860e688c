"""Five public tables that Debian ships, from the package to a certificate, with default options but the radius: what docs/tables.md promises
to a newcomer. Each is better than the constant answer, and its limit is one that can be said."""
import os
import subprocess
import sys
import tempfile

from tap import SOURCE, Skip, answer, main

TABLES = os.path.join(SOURCE, "examples", "tables")


def walk(folder, file, column, rows, dropped, radius=0.1):
    data = ["--train", os.path.join(folder, file), "--label-column", column, "--threads", 1, "--quiet"]
    model, certificate = os.path.join(folder, "model"), os.path.join(folder, "c.json")
    shown = answer("data", "show", *data, "--copies", "drop")
    assert (shown["prior"] + shown["learn"] + shown["test"], shown["copies"]["dropped"]) == (rows - dropped, dropped), (file, shown["copies"])
    said = answer("train", *data, "--copies", "drop", "--norm", "linf", "--eps", radius, "--out", model)
    assert said["clean_error"] < 0.75 * said["majority_error"] and not said["constant"], (file, said["clean_error"], said["majority_error"])
    said = answer("certify", model, *data, "--looks", 1, "--out", certificate)
    assert said["value"] < 0.6 and "in standard deviations of each feature in S'" in said["claim"], (file, said["value"])


def test_scikit_learn():
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise Skip("python3-sklearn is not here") from None
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(TABLES, "export.py"), folder], check=True)
        walk(folder, "breast_cancer.csv", "label", 569, 0)


def test_kernlab_and_mlbench():
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(["Rscript", os.path.join(TABLES, "export.R"), folder], capture_output=True, text=True)
        except FileNotFoundError:
            raise Skip("r-base-core, r-cran-kernlab and r-cran-mlbench are not here") from None
        if done.returncode:
            raise Skip("r-cran-kernlab or r-cran-mlbench is not here")
        walk(folder, "spam.csv", "type", 4601, 394)
        walk(folder, "PimaIndiansDiabetes.csv", "diabetes", 768, 0)
        walk(folder, "Ionosphere.csv", "Class", 351, 1)
        walk(folder, "Sonar.csv", "Class", 208, 0)


if __name__ == "__main__":
    main()
