"""Parts of evaluate, certify, curve and attack: however the examples are cut, merged parts are, byte for byte, the answer of one process;
what does not belong together is refused by name."""
import hashlib
import json
import os
import random
import re
import subprocess
import tempfile

from tap import FULL, SOURCE, SURETY, main

FOLDER = tempfile.mkdtemp(prefix="surety-parts-")
ENVIRONMENT = {**os.environ, "XDG_STATE_HOME": FOLDER}


def path(name):
    return os.path.join(FOLDER, name)


def ask(*words, code=0, quiet=("--quiet",)):
    done = subprocess.run([SURETY, *map(str, words), *quiet], cwd=FOLDER, capture_output=True, text=True, env=ENVIRONMENT, timeout=600)
    assert done.returncode == code, (words, done.returncode, done.stderr, done.stdout)
    return done.stdout if code == 0 else done.stderr


def read(name):
    with open(path(name), "rb") as file:
        return file.read()


def table(classes, units=False):
    random.seed(classes)
    with open(path("t.csv"), "w") as file:
        file.write("a,b,c,who,y\n")
        for i in range(420):
            y = i % classes
            file.write(",".join([*(f"{random.gauss(y * (k + 1) / 2, 1):.4f}" for k in range(3)), f"u{i // 3}", f"class{y}"]) + "\n")
    ask("train", "--train", "t.csv", *(("--unit", "who") if units else ("--drop", "who")), "--norm", "linf", "--eps", "0.1", "--epochs", "4",
        "--out", "t.model")


def parts(of, *words, prefix="part"):
    names = []
    for k in range(1, of + 1):
        names.append(f"{prefix}{k}.json")
        ask(*words, "--part", f"{k}/{of}", "--part-file", names[-1], "--threads", k % 3 + 1)
    random.shuffle(names)
    return names


def whole_and_merged(of, *words):
    ask(*words, "--out", "whole")
    ask("merge", *parts(of, *words, "--stream"), "--out", "merged", "--stream")
    assert read("whole") == read("merged"), words


def shown_and_merged(of, *words):
    whole = ask(*words, "--json")
    merged = ask("merge", *parts(of, *words), "--json")
    assert whole == merged, words


def check_all(of):
    certify = ("certify", "t.model", "--train", "t.csv", "--looks", 1)
    whole_and_merged(of, *certify)
    whole_and_merged(of, *certify, "--attack", "pgdu", "--samples", 3, "--steps", 3)
    shown_and_merged(of, "evaluate", "t.model", "--train", "t.csv", "--attacks", "none,pgdu,worst-case", "--samples", 2, "--steps", 3)
    whole_and_merged(of, "curve", "t.model", "--train", "t.csv", "--attacks", "pgd,worst-case", "--eps-grid", "0:0.2:0.1", "--steps", 3)
    shown_and_merged(of, "attack", "t.model", "--train", "t.csv", "--attack", "pgdu", "--samples", 2, "--steps", 3, "--split", "learn")


def test_two_classes():
    table(2)
    for of in (1, 2, 7, 500) if FULL else (1, 3):
        check_all(of)


def test_four_classes():
    table(4)
    check_all(2)
    whole_and_merged(3, "certify", "t.model", "--train", "t.csv", "--looks", 1, "--attack", "pgdu", "--samples", 3, "--steps", 3,
                     "--bound", "vote_frozen_coins")


def test_units():
    table(2, units=True)
    check_all(5 if FULL else 2)


def test_statements():
    table(2)
    certify = ("certify", "t.model", "--train", "t.csv", "--looks", 1)
    for words in (("--shift", "tv=0.02"), ("--shift", "kl=0.01"), ("--label-noise", "flips=0.02"), ("--label-noise", "rows=0.02"),
                  ("--promise-risk", "0.5"), ("--curve", "0:0.2:0.1"), ("--groups", "y"), ("--per-class",), ("--bound", "best")):
        whole_and_merged(2, *certify, *words)
    with open(path("promises.csv"), "w") as file:
        file.write("radius,limit\n0.02,0.9\n0.1,0.9\n")
    part = ("--part", "1/2", "--part-file", "none")
    assert "promises have no parts" in ask(*certify, "--promises", "promises.csv", *part, code=2)
    assert "--part is about a model" in ask("certify", "--votes", "v.npy", "--labels", "y.npy", "--looks", 1, *part, code=2)
    assert not os.path.exists(path("none"))


def test_refused():
    table(2)
    certify = ("certify", "t.model", "--train", "t.csv", "--looks", 1)
    a, b = sorted(parts(2, *certify))
    assert "part 2/2 is missing" in ask("merge", a, "--out", "c", code=1)
    assert "there twice" in ask("merge", a, a, "--out", "c", code=1)
    with open(path(b)) as file:
        text = file.read()
    other = json.loads(text)
    other["sums"][0][0] += 1
    with open(path("changed"), "w") as file:
        json.dump(other, file)
    said = ask("merge", a, "changed", "--out", "c", code=1)
    assert "changed" in said and "after it was made" in said
    for damaged in (text[:-20], "{}", text.replace('"sums"', '"summs"'), text.replace('"part":2', '"part":"2"')):
        with open(path("damaged"), "w") as file:
            file.write(damaged)
        assert "damaged" in ask("merge", a, "damaged", "--out", "c", code=3)
    foreign = parts(2, *certify, "--delta", "0.1", prefix="foreign")
    assert "another command" in ask("merge", *foreign, a, "--out", "c", code=1)
    table(4)
    assert "not those that the parts were made with" in ask("merge", a, b, "--out", "c", code=1)
    assert not os.path.exists(path("c"))
    for wrong in ("0/2", "3/2", "1", "1/", "a/b", "1/100000", "-1/2"):
        ask(*certify, "--part", wrong, "--part-file", "p", code=2)
    ask(*certify, "--part", "1/2", code=2)
    ask(*certify, "--part-file", "p", "--out", "c", code=2)
    ask("evaluate", "t.model", "--train", "t.csv", "--part", "1/2", "--part-file", "p", "--per-example", "e.csv", code=2)
    ask("attack", "t.model", "--train", "t.csv", "--part", "1/2", "--part-file", "p", "--out", "x.npy", code=2)
    assert "write over" in ask("merge", a, b, "--out", a, code=2)


def forged(*words):
    """A part, its digest right, of a command that nobody gave."""
    part = {"surety_part": ask("--version", quiet=()).split()[1], "part": 1, "of": 1, "words": words, "about": "", "sums": []}
    text = json.dumps(part, sort_keys=True, separators=(",", ":"))
    with open(path("forged"), "w") as file:
        json.dump({**part, "digest": hashlib.sha256(text.encode()).hexdigest()}, file)
    return "forged"


def test_forged():
    """Whoever made a part, merging it runs no other command and writes no file but --out."""
    table(2)
    for words in (("train", "--train", "t.csv", "--out", "mine"), ("looks",), ("merge", "forged"), ("none",)):
        assert f"'{words[0]}' is no command" in ask("merge", forged(*words), code=2), words
    for option in (("--out", "mine"), ("--out=mine",), ("--ou", "mine"), ("--part-file", "mine"), ("--part", "1/1"), ("--quiet",),
                   ("--largest-file", "900G")):
        said = ask("merge", forged("certify", "t.model", "--train", "t.csv", "--looks", "1", *option), "--out", "c", code=3)
        assert "which no part does" in said, (option, said)
    for option in ("--per-example", "--attacks=none", "--bad"):
        said = ask("merge", forged("evaluate", "t.model", "--train", "t.csv", option, "mine"), code=3 if option == "--per-example" else 2)
        assert ("which no part does" in said) == (option == "--per-example"), (option, said)
    assert not {"mine", "c"} & set(os.listdir(FOLDER)), os.listdir(FOLDER)


def test_other_groups():
    """Groups may be in a column that is no feature: the rows are the same, and the counts are not."""
    table(2)
    certify = ("certify", "t.model", "--train", "t.csv", "--looks", 1, "--groups", "who")
    with open(path("t.csv")) as file:
        text = file.read()
    with open(path("t.csv"), "w") as file:
        file.write(re.sub(r"u(\d+)", lambda u: f"g{int(u[1]) % 3}", text))
    ask(*certify, "--part", "1/2", "--part-file", "p1")
    with open(path("t.csv"), "w") as file:
        file.write(re.sub(r"u(\d+)", lambda u: f"g{int(u[1]) % 5 % 3}", text))
    ask(*certify, "--part", "2/2", "--part-file", "p2")
    assert "other data" in ask("merge", "p1", "p2", "--out", "c", code=1)


def test_words():
    """Beginnings of options, options behind '=', and words behind '--'."""
    table(2)
    ask("certify", "t.model", "--train", "t.csv", "--looks", 1, "--out", "whole")
    for k in (1, 2):
        ask("certify", "--train=t.csv", "--loo", 1, f"--part={k}/2", "--part-f", f"p{k}", "--thread", k, "--jso", "--quie", "--", "t.model", quiet=())
    ask("merge", "p1", "p2", "--out", "merged")
    assert read("whole") == read("merged")


def test_jobs_of_an_array():
    """The script for Slurm, with what Slurm would set; the second job is sent again alone."""
    table(2)
    ask("certify", "t.model", "--train", "t.csv", "--looks", 1, "--out", "whole")
    for job, count, of in ((1, 3, {}), (3, 3, {}), (2, 1, {"PARTS": "3"})):
        subprocess.run([os.path.join(SOURCE, "examples/cluster/array.sh"), "t.model", "parts", "--train", "t.csv", "--looks", "1"], cwd=FOLDER, check=True,
                       capture_output=True, env={**ENVIRONMENT, "PATH": f"{os.path.dirname(os.path.abspath(SURETY))}:{os.environ['PATH']}",
                                                 "SLURM_ARRAY_TASK_ID": str(job), "SLURM_ARRAY_TASK_COUNT": str(count), **of})
    ask("merge", *(f"parts/{k}.json" for k in (1, 2, 3)), "--out", "merged")
    assert read("whole") == read("merged")


if __name__ == "__main__":
    main()
