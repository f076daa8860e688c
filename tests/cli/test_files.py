"""No command writes over what it reads, whatever the way to the file: its name, a link, another path."""
import json
import os
import subprocess
import tempfile

import numpy as np

import small
from tap import SURETY, error, main, run

FOLDER = tempfile.TemporaryDirectory()
DATA = small.write(FOLDER.name, pool=4)
TRAIN = ["train", "--preset", "paper", *DATA, "--learn-size", 200, "--steps", 2, "--epochs", 1, "--trees", 3, "--quiet"]


def path(name):
    return os.path.join(FOLDER.name, name)


MODEL = path("m.safetensors")
run(*TRAIN, "--out", MODEL)
rng = np.random.default_rng(0)
np.save(path("v.npy"), rng.choice([-1., 1.], (50, 4)))
np.save(path("y.npy"), rng.choice([-1, 1], 50))
np.save(path("p.npy"), np.full(4, 0.25))


def content(name):
    with open(name, "rb") as f:
        return f.read()


def refused(words, option, target):
    """--option target is refused, by every name of the target, and the target is as it was."""
    before = content(target)
    folder, name = os.path.split(target)
    for link in (path("soft"), path("hard")):
        if os.path.lexists(link):
            os.remove(link)
    os.symlink(target, path("soft"))
    os.link(target, path("hard"))
    for other in (target, os.path.join(folder, "..", os.path.basename(folder), name), path("soft"), path("hard")):
        e = error(*words, f"--{option}", other, code=2)
        assert f"--{option}" in e["what"] and e["file"] == other and e["expected"], e
        assert content(target) == before


def test_no_input_is_overwritten():
    bound = ["bound", "--votes", path("v.npy"), "--labels", path("y.npy"), "--prior", path("p.npy"), "--quiet"]
    for name in ("v.npy", "y.npy", "p.npy"):
        refused(bound, "out", path(name))
    predict = ["predict", MODEL, "--input", path("X_test.npy")]
    for option, rest in (("out", []), ("votes", ["--out", path("new.npy")])):
        for name in (MODEL, path("X_test.npy")):
            refused(predict + rest, option, name)
    commands = ((["attack", MODEL, "--attack", "none", *DATA], "out"),
                (["attack", MODEL, "--attack", "none", *DATA, "--out", path("new.npy")], "labels"),
                (["certify", MODEL, *DATA, "--attack", "none", "--looks", 1, "--quiet"], "out"),
                (["evaluate", MODEL, *DATA, "--attacks", "none", "--quiet"], "per-example"),
                (["curve", MODEL, *DATA, "--attacks", "none", "--quiet"], "out"))
    for words, option in commands:
        # the labels are found beside the rows: no option names them
        for name in (MODEL, path("X_train.npy"), path("X_test.npy"), path("y_train.npy"), path("y_test.npy")):
            refused(words, option, name)
    for name in ("X_train.npy", "y_train.npy", "y_test.npy"):
        refused(TRAIN, "out", path(name))
        refused([*TRAIN, "--out", path("new")], "checkpoint", path(name))
    assert not os.path.exists(path("new.npy")) and not os.path.exists(path("new"))


def test_two_outputs_are_two_files():
    for words in (["predict", MODEL, "--input", path("X_test.npy"), "--out", path("same"), "--votes", f"{FOLDER.name}/./same"],
                  ["attack", MODEL, *DATA, "--attack", "none", "--out", path("same"), "--labels", path("same")],
                  [*TRAIN, "--out", path("same"), "--checkpoint", path("same")]):
        e = error(*words, code=2)
        assert "same file" in e["what"], e
    assert not os.path.exists(path("same"))


def test_an_older_result_is_replaced():
    words = ["predict", MODEL, "--input", path("X_test.npy"), "--out", path("votes.npy")]
    run(*words)
    run(*words)


def test_a_checkpoint_is_not_overwritten():
    run(*TRAIN, "--out", path("first"), "--checkpoint", path("c"))
    before = content(path("c"))
    e = error(*TRAIN, "--seed", 4, "--out", path("second"), "--checkpoint", path("c"), code=2)
    assert "--resume" in e["expected"] and content(path("c")) == before, e
    assert not os.path.exists(path("second"))


STEERS = "\x1b[2J\x9b31m\x7f\u202egnp.exe\x08\r"
FORBIDDEN = {*map(chr, range(32)), *map(chr, range(0x7f, 0xa0)), "\u202e"} - {"\n"}


def safe(done):
    wrong = set(done.stdout + done.stderr) & FORBIDDEN
    assert not wrong, (wrong, done.stdout, done.stderr)
    return done.stdout + done.stderr


def test_nothing_steers_the_terminal():
    """File names, texts of a model, fields of a certificate: shown, but not obeyed; in JSON they are the same texts."""
    name = path(f"a{STEERS}\nsurety: all is well")
    assert "\\u001b[2J\\u009b31m\\u007f\\u202egnp" in safe(run("inspect", name, code=3))
    assert safe(run("inspect", name, code=3)).count("\n") == 1
    assert json.loads(run("inspect", name, "--json", code=3).stdout)["error"]["file"] == name
    safe(run("inspect", name, "--json", code=3))
    raw = subprocess.run([SURETY, "inspect", b"caf\xe9\x9b"], capture_output=True)
    assert raw.stderr.startswith(b"surety: caf\\xe9\\x9b: "), raw
    safe(run(f"x{STEERS}", code=2))
    safe(run("train", "--preset", "paper", f"--x{STEERS}", code=2))
    safe(run("data", "show", "--task", STEERS, code=2))
    # a model's texts
    data = content(MODEL)
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header["__metadata__"]["note"] = STEERS
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-(len(text) + 8) % 64)
    with open(path("steers"), "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data[8 + size:])
    assert "\\u001b[2J" in safe(run("inspect", path("steers")))
    done = run("inspect", path("steers"), "--json")
    assert json.loads(done.stdout)["texts"]["note"] == STEERS
    safe(done)
    # a certificate's fields
    run("certify", MODEL, *DATA, "--attack", "none", "--looks", 1, "--quiet", "--out", path("c.json"))
    with open(path("c.json")) as f:
        certificate = json.load(f)
    for key in ("claim", "bound", "risk", "digest"):
        with open(path("forged.json"), "w") as f:
            json.dump({**certificate, key: STEERS}, f)
        done = subprocess.run([SURETY, "verify", path("forged.json"), "--model", MODEL, *DATA, "--quiet"],
                              capture_output=True, text=True)
        assert done.returncode in (1, 3), done
        safe(done)


if __name__ == "__main__":
    main()
