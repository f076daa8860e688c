"""Cells side by side on two threads give what they give one after the other."""
import os
import tempfile

from tap import main, run

folder = tempfile.TemporaryDirectory()


def results(threads):
    out = os.path.join(folder.name, str(threads))
    run("reproduce", "--out", out, "--tasks", "fashion-sandal-v-boot", "--norms", "linf", "--defenses", "none",
        "--voters", "signed,real", "--epochs", 1, "--samples", 2, "--steps", 2, "--threads", threads, "--quiet")
    with open(os.path.join(out, "results.csv"), "rb") as file:
        return file.read()


def test_two_cells_on_two_threads():
    assert results(1) == results(2)


if __name__ == "__main__":
    main()
