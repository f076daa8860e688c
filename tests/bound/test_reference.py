"""The stored reference values are what reference.py makes: a few rows in the quick run, all of them in the full one."""
import csv
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reference

count = 60 if os.environ.get("SURETY_TEST_FULL") == "1" else 3
with open(reference.path(), newline="") as file:
    stored = list(csv.DictReader(file))
failed = 0
print(f"1..{count + 1}")
for i, row in enumerate(reference.rows(count)):
    good = row == stored[i]
    failed += not good
    print("ok" if good else "not ok", i + 1, "- reference row", i + 1)
good = len(stored) == 60
print("ok" if good else "not ok", count + 1, "- 60 rows are stored")
sys.exit(1 if failed or not good else 0)
