"""docs/certificates.md: its commands are run as they stand, in order, on the table of scikit-learn; its numbers and its
sentence are theirs, and its table of fields has every key."""
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from tap import SOURCE, SURETY, Skip, main

PAGE = open(os.path.join(SOURCE, "docs", "certificates.md"), encoding="utf-8").read()


def plain(text):
    return " ".join(text.split())


def test_the_book():
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise Skip("python3-sklearn is not here") from None
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(SOURCE, "examples", "tables", "export.py"), folder], check=True)
        for line in re.findall(r"^\$ (printf .*)$", PAGE, re.M):
            subprocess.run(["sh", "-euc", line], cwd=folder, check=True)

        def ask(words):
            done = subprocess.run([SURETY, *words, "--threads", "1"], cwd=folder, capture_output=True, text=True, timeout=600,
                                  env={**os.environ, "XDG_STATE_HOME": folder})
            assert done.returncode == 0, (words, done.stderr)
            return plain(done.stdout)

        said = {line: ask(shlex.split(line)) for line in re.findall(r"^\$ surety (.*)$", PAGE, re.M)}
        certify = next(line for line in said if line.startswith("certify"))
        shown = plain(re.search(r"^> With confidence.*?\n\n", PAGE, re.M | re.S)[0].replace("\n> ", " ")[2:])
        assert re.search(re.escape(shown).replace(r"\.\.\)", r"\w+\)", 1), said[certify]), said[certify]
        rows = [row.split("|") for row in PAGE.split("| I want to say |")[1].split("\n\n")[0].splitlines()[2:]]
        checked = 0
        for _, _, use, number, _ in rows:
            options = re.findall(r"`((?:certify|plan|predict)[^`]*)`", use)
            if not number.strip() or not options or "COLUMN" in options[0]:
                continue
            command, *words = shlex.split(options[0])
            answer = {"certify": lambda: ask(["certify", "cells.model", "--train", "breast_cancer.csv", "--looks", "1", "--out", "x.json", *words]),
                      "plan": lambda: ask(["plan", *words]), "predict": lambda: next(said[k] for k in said if k.startswith("predict"))}[command]()
            for n in re.findall(r"\d+(?:\.\d+)?", number):
                assert re.search(rf"(?<![\d.]){re.escape(n)}(?![\d.])", answer), (options[0], n, answer)
                checked += 1
        assert checked > 15, checked
        for option, _, number in re.findall(r"^\| `(--(?:shift|label-noise) [^`]*)` \| (.*) \| ([\d.]+ %) \|$", PAGE, re.M):
            answer = ask(["certify", "cells.model", "--train", "breast_cancer.csv", "--looks", "1", "--out", "x.json", *option.split()])
            assert f"on at most {number}" in answer, (option, number, answer)
            checked += 1
        assert checked > 22, checked
        assert "holds so far" in said[next(line for line in said if line.startswith("monitor"))]
        keys = {key for name in glob.glob(os.path.join(folder, "*.json")) for key in json.load(open(name, encoding="utf-8"))}
        missing = [key for key in keys if f"`{key}`" not in PAGE]
        assert not missing, missing


if __name__ == "__main__":
    main()
