"""Cells side by side on two threads give what they give one after the other."""
import json
import os
import subprocess
import tempfile

from tap import SURETY, main, run

folder = tempfile.TemporaryDirectory()


def results(threads):
    out = os.path.join(folder.name, str(threads))
    run("reproduce", "--out", out, "--tasks", "fashion-sandal-v-boot", "--norms", "linf", "--defenses", "none",
        "--voters", "signed,real", "--epochs", 1, "--samples", 2, "--steps", 2, "--threads", threads, "--quiet")
    with open(os.path.join(out, "results.csv"), "rb") as file:
        return file.read()


def test_two_cells_on_two_threads():
    assert results(1) == results(2)


def test_begun_at_the_same_time_with_other_settings():
    """One of the settings is that of the folder; processes with others are refused."""
    for round in range(5):
        out = os.path.join(folder.name, f"begun-{round}")
        processes = {samples: subprocess.Popen([SURETY, "reproduce", "--out", out, "--tasks", "fashion-sandal-v-boot", "--norms", "l2", "--defenses",
                                                "none", "--voters", "signed", "--epochs", "1", "--samples", str(samples), "--steps", "1", "--part",
                                                "2/2", "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                     for samples in range(2, 8)}
        said = {samples: process.communicate()[1] for samples, process in processes.items()}
        with open(os.path.join(out, "study.json")) as file:
            begun = json.load(file)["samples"]
        for samples, process in processes.items():
            assert process.returncode == (0 if samples == begun else 3), (samples, begun, said[samples])
            assert samples == begun or "another samples" in said[samples], said[samples]
        assert not [name for name in os.listdir(out) if name.endswith(".lock")]


if __name__ == "__main__":
    main()
