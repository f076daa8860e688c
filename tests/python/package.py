"""Runs a file of pytest tests as a program that prints TAP, with the package of this build."""
import os
import sys

import tap  # noqa: F401  (the log of looks: never the user's own)

BUILD = os.environ.get("SURETY_BUILD", "build")
PACKAGE = os.path.join(BUILD, "python", "package")
sys.path.insert(0, PACKAGE)
os.environ["PYTHONPATH"] = PACKAGE + os.pathsep + os.environ.get("PYTHONPATH", "")  # of processes that tests start


class Tap:
    """A plugin that says ok and not ok."""

    def __init__(self):
        self.number = 0

    def say(self, good, name, words=""):
        self.number += 1
        print(f"\n{'ok' if good else 'not ok'} {self.number} - {name}{words}", flush=True)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.failed:
            self.say(not report.failed, report.nodeid, " # SKIP" if report.skipped else "")
        elif report.skipped:
            self.say(True, report.nodeid, f" # SKIP {report.longrepr[2]}")
        if report.failed:
            print("# " + report.longreprtext.replace("\n", "\n# "), flush=True)

    def pytest_collectreport(self, report):
        if report.failed:
            self.say(False, report.nodeid)
            print("# " + report.longreprtext.replace("\n", "\n# "), flush=True)

    def pytest_sessionfinish(self):
        print(f"\n1..{self.number}", flush=True)


def main(path, *options):
    import pytest
    sys.exit(pytest.main(["-q", "--no-header", "--no-summary", "-p", "no:cacheprovider", *options, path], plugins=[Tap()]))
