"""The examples run, in order, and say something sensible."""
import os
import re
import subprocess
import tempfile

import numpy as np
from tap import answer, main, run

FOLDER = os.path.join(os.environ["SURETY_BUILD"], "examples")
WORK = tempfile.TemporaryDirectory()
MODEL = os.path.join(WORK.name, "model.safetensors")


def example(name, *words, input=None):
    done = subprocess.run([os.path.join(FOLDER, "example_" + name), *words], capture_output=True, text=True, input=input)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_00_bound():
    said = [float(x) for x in re.findall(r"at most ([0-9.]+) %", example("00_bound"))]
    assert len(said) == 2 and 2 < said[1] <= said[0] < 5, said


def test_01_data():
    assert [int(x) for x in re.findall(r"(\d+) examples", example("01_data"))] == [7000, 5000, 2000]


def test_02_train():
    example("02_train", MODEL)
    assert os.path.getsize(MODEL) > 25 * 3 * 784 * 5


def test_03_attack():
    fooled = [int(x) for x in re.findall(r"fools +(\d+) of 200", example("03_attack", MODEL))]
    assert fooled[0] <= fooled[1] and fooled[0] <= fooled[2], fooled


def test_04_evaluate():
    said = example("04_evaluate", MODEL)
    risk, bound = float(re.search(r"averaged-max ([0-9.]+)", said)[1]), float(re.search(r"at most ([0-9.]+)", said)[1])
    assert 0 <= risk <= bound, said


def test_05_certify():
    certificate = os.path.join(WORK.name, "certificate.json")
    assert "With confidence 95 %" in example("05_certify", MODEL, certificate)
    assert answer("verify", certificate)["agrees"] is True


def test_06_arrays():
    model = os.path.join(WORK.name, "arrays.safetensors")
    said = example("06_arrays", model)
    risk, bound = float(re.search(r"risk ([0-9.]+)", said)[1]), float(re.search(r"at most ([0-9.]+)", said)[1])
    assert 0 <= risk < 0.3 and risk <= bound < 1, said
    assert int(re.search(r"(\d+) bytes", said)[1]) == os.path.getsize(model)
    assert answer("inspect", model)["texts"]["data.learn"] in said


def raw_rows(x, names, classes):
    """A model that was trained with a scale answers raw rows by the C interface as predict does, bit for bit."""
    table, model, votes = (os.path.join(WORK.name, name) for name in ("raw.csv", "raw.safetensors", "raw.npy"))
    lines = [",".join(f"{v:.9g}" for v in row) for row in x]
    with open(table, "w", encoding="utf-8") as f:
        f.write("\n".join([",".join(names) + ",y"] + [f"{line},c{i % classes}" for i, line in enumerate(lines)]) + "\n")
    run("train", "--train", table, "--scale", "standard", "--epochs", 2, "--quiet", "--threads", 1, "--out", model)
    run("predict", model, table, "--out", votes, "--quiet")
    mine = np.array([[float(v) for v in line.split()] for line in
                     example("07_raw_rows", model, input="\n".join(lines).replace(",", " ")).splitlines()])
    theirs = np.load(votes).reshape(len(x), -1)
    assert mine.shape == theirs.shape and np.array_equal(mine, theirs) and np.ptp(theirs) > 0.01


def test_07_raw_rows():
    for classes in (2, 3):
        x = np.random.default_rng(1).normal(size=(120, 3)) + (np.arange(120) % classes)[:, None]
        raw_rows((x * [1, 1000, 0.01] + [5, -200, 0]).astype(np.float32), ["a", "b", "c"], classes)


def test_07_bytes():
    """Images: bytes are divided by 255 by whoever calls, then scaled by the model."""
    rng, labels = np.random.default_rng(2), np.arange(100, dtype=np.uint8) % 2
    x = (rng.integers(0, 150, (100, 2, 2)) + 100 * labels[:, None, None]).astype(np.uint8)
    images, model, votes = (os.path.join(WORK.name, name) for name in ("b-images-idx3-ubyte", "b.safetensors", "b.npy"))
    for name, array in ((images, x), (images.replace("images-idx3", "labels-idx1"), labels)):
        with open(name, "wb") as f:
            f.write(bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.tobytes())
    for scale in ("none", "standard"):
        run("train", "--train", images, "--scale", scale, "--epochs", 2, "--quiet", "--threads", 1, "--out", model)
        run("predict", model, images, "--out", votes, "--quiet")
        rows = "\n".join(" ".join(f"{v:.9g}" for v in row) for row in x.reshape(100, 4).astype(np.float32) / np.float32(255))
        mine = [float(line) for line in example("07_raw_rows", model, input=rows).splitlines()]
        assert np.array_equal(mine, np.load(votes)) and np.ptp(mine) > 0.001, scale


if __name__ == "__main__":
    main()
