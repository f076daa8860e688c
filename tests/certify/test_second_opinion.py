"""Certificates of real data, derived again by a program that shares no code with the library (second_opinion.py)."""
import json
import os
import tempfile

import second_opinion
from small import FASHION
from tap import FULL, Skip, main, run


def compare(training, certificates):
    if not os.path.exists(FASHION):
        raise Skip("Fashion-MNIST is not installed")
    with tempfile.TemporaryDirectory() as folder:
        model, certificate = os.path.join(folder, "m.safetensors"), os.path.join(folder, "c.json")
        run("train", "--task", "fashion-sandal-v-boot", *training, "--out", model, "--quiet", "--threads", "1")
        for words in certificates:
            run("certify", model, *words.split(), "--out", certificate, "--quiet", "--threads", "1")
            shown, agrees = second_opinion.compare(certificate, model, FASHION)
            print("# " + " ".join(training) + " | " + words, *shown, sep="\n# ")
            assert agrees
        with open(certificate) as f:  # and it is no yes-man
            c = json.load(f)
        c["value"] *= 0.8
        with open(certificate, "w") as f:
            json.dump(c, f)
        assert not second_opinion.compare(certificate, model, FASHION)[1]


SMALL = ["--learn-size", "300", "--defense", "none", "--epochs", "1"]


def test_signed_l2():
    compare(SMALL, ["--attack none --looks 1", "--attack ifgsmu --samples 4 --looks 1",
                    "--attack pgdu --samples 4 --looks 3 --bound best"])


def test_real_linf():
    compare([*SMALL, "--norm", "linf", "--voters", "real"], ["--attack pgdu --samples 4 --looks 1"])


def test_baseline():
    compare([*SMALL, "--objective", "baseline"], ["--attack pgd --looks 1"])


def test_all_of_s():
    if not FULL:
        raise Skip("only with SURETY_TEST_FULL=1")
    compare(["--epochs", "3"], ["--attack pgdu --samples 20 --looks 1", "--attack ifgsmu --looks 1 --samples 20 --bound best",
                                "--attack pgdu --samples 5 --bound average_max_voters_union --looks 1",
                                "--attack ifgsmu --samples 5 --bound seeger --looks 1"])


if __name__ == "__main__":
    main()
