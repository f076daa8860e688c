"""The examples run, in order, and say something sensible."""
import os
import re
import subprocess
import tempfile

from tap import answer, main

FOLDER = os.path.join(os.environ["SURETY_BUILD"], "examples")
WORK = tempfile.TemporaryDirectory()
MODEL = os.path.join(WORK.name, "model.safetensors")


def example(name, *words):
    done = subprocess.run([os.path.join(FOLDER, "example_" + name), *words], capture_output=True, text=True)
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


if __name__ == "__main__":
    main()
