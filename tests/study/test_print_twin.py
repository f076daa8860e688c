"""print_reference.csv is what print_twin.py makes: two cases in the quick run, all of them in the full one. Another NumPy may
round products otherwise, so numbers are compared with room for that."""
import csv
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import FULL, Skip, main

import print_twin

CASES = print_twin.CASES if FULL else [("l2", "signed", "pgdu"), ("linf", "real", "none")]


def test_generators_and_start_weights():
    print_twin.check()


def test_the_stored_rows_are_the_twins():
    if not os.path.isdir("/usr/share/datasets/fashion-mnist"):
        raise Skip("Fashion-MNIST is not here")
    with open(print_twin.path(), newline="") as file:
        stored = {tuple(row[:5]): float(row[5]) for row in list(csv.reader(file))[1:]}
    assert len(stored) == 2768
    for row in print_twin.rows(CASES):
        room = 1e-4 if row[3] in ("weight", "bias", "leaf", "theta", "criterion1") or row[3].startswith("kl") else 0.01
        if row[3].startswith("criterion2"):
            room = 0.03  # labels in file order meet reordered outputs: one example fooled a step earlier moves those behind it
        assert abs(float(row[5]) - stored[tuple(row[:5])]) <= room, (row, stored[tuple(row[:5])])


main()
