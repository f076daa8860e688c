"""surety monitor: a certificate, then outcomes in files, cut in any way, killed at any moment."""
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile

import small
from tap import FULL, SURETY, error, main, run

FOLDER = tempfile.TemporaryDirectory()
QUICK = ["--quiet", "--threads", "1"]


def path(name):
    return os.path.join(FOLDER.name, name)


DATA = small.write(FOLDER.name, train=400, test=100, pool=4)
run("train", *DATA, "--learn-size", 200, "--epochs", 30, *QUICK, "--out", path("m"))
run("certify", path("m"), *DATA, "--attack", "none", "--looks", 1, *QUICK, "--out", path("c.json"))
with open(path("c.json")) as f:
    VALUE = json.load(f)["value"]
assert 0.02 < VALUE < 0.3, VALUE


def put(name, outcomes):
    with open(path(name), "w") as file:
        file.write("".join(f"{o}\n" for o in outcomes))
    return path(name)


def monitor(*words, code=0, name="c.json"):
    return json.loads(run("monitor", path(name), *words, "--json", code=code).stdout)


def fresh(name):
    shutil.copy(path("c.json"), path(name))
    if os.path.exists(path(name + ".monitor")):
        os.remove(path(name + ".monitor"))
    return name


def outcomes(risk, count, seed):
    rng = random.Random(seed)
    return [int(rng.random() < risk) for _ in range(count)]


def test_a_true_promise_holds():
    name = fresh("true.json")
    found = monitor("--labels", put("good", outcomes(VALUE / 2, 2000, 1)), name=name)
    assert found["state"] == "holds" and found["seen"] == 2000 and found["alarm_at"] is None and found["promise"] == VALUE
    assert found["failed"] / 2000 < found["limit"] < VALUE
    assert monitor(name=name) == found  # the state alone
    assert "holds so far" in run("monitor", path(name)).stdout


def test_a_broken_one_is_refuted_and_stays_so():
    name = fresh("broken.json")
    found = monitor("--labels", put("bad", outcomes(min(1, 3 * VALUE), 3000, 2)), code=1, name=name)
    assert found["state"] == "alarm" and 0 < found["alarm_at"] <= 3000 and found["limit"] > VALUE
    after = monitor("--labels", put("zeros", [0] * 20000), code=1, name=name)
    assert after["alarm_at"] == found["alarm_at"] and after["state"] == "alarm"
    assert "ALARM at outcome" in run("monitor", path(name), code=1).stdout


def test_the_cut_does_not_matter():
    stream = outcomes(1.3 * VALUE, 4000, 3)
    code = subprocess.run([SURETY, "monitor", path(fresh("whole.json")), "--labels", put("all", stream)], capture_output=True,
                          check=False).returncode
    whole = monitor(name="whole.json", code=code)
    name, at, rng = fresh("cut.json"), 0, random.Random(4)
    while at < len(stream):
        end = min(len(stream), at + rng.randint(1, 900))
        subprocess.run([SURETY, "monitor", path(name), "--labels", put("part", stream[at:end])], capture_output=True, check=False)
        at = end
    assert monitor(name=name, code=code) == whole
    piped = fresh("pipe.json")
    subprocess.run([SURETY, "monitor", path(piped), "--labels", "-"], input="".join(f"{o}\n" for o in stream), text=True,
                   capture_output=True, check=False)
    assert monitor(name=piped, code=code) == whole


def test_a_kill_leaves_the_old_state_or_the_new_one():
    stream = put("long", outcomes(VALUE / 2, 300000, 5))
    name = fresh("kill.json")
    rng = random.Random(6)
    for _ in range(100 if FULL else 8):
        before = monitor(name=name)["seen"]
        process = subprocess.Popen([SURETY, "monitor", path(name), "--labels", stream], stdout=subprocess.DEVNULL)
        try:
            process.wait(rng.random() * 0.1)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert monitor(name=name)["seen"] in (before, before + 300000)


def test_bad_input():
    name = fresh("bad.json")
    for text, place in (("0\n1\n2\n", "line 3"), ("yes\n", "line 1"), ("0\n" * 5000 + "\x1b[2J\n", "line 5001")):
        with open(path("odd"), "w") as f:
            f.write(text)
        e = error("monitor", path(name), "--labels", path("odd"), code=3)
        assert e["place"] == place and "1 (the vote failed)" in e["expected"] and "\x1b" not in e["what"], e
        assert not os.path.exists(path(name + ".monitor"))
    assert error("monitor", path(name), "--labels", path("absent"), code=3)["file"] == path("absent")
    error("monitor", path(name), "--alpha", 0, code=2)
    error("monitor", path(name), "--state", path(name), code=2)
    monitor("--labels", put("one", [0]), name=name)
    e = error("monitor", path(name), "--alpha", 0.01, code=3)
    assert "another alpha" in e["what"]
    with open(path(name + ".monitor")) as f:
        state = json.load(f)
    for change in ({"certificate": "0" * 64}, {"seen": 0, "failed": 1}, {"alarm": 7}, {"seen": -1}, {"failed": "0"}):
        with open(path("forged"), "w") as f:
            json.dump({**state, **change}, f)
        assert "state of this monitor" in error("monitor", path(name), "--state", path("forged"), code=3)["what"], change


def test_rows_and_labels():
    """The vote is computed: outcomes are those of predict, whatever the cut; rows of one class only; other models are refused."""
    rng = random.Random(9)
    with open(path("rows.csv"), "w") as file:
        file.write("a,b,kind\n" + "".join(f"{rng.gauss(2 * (i % 2), 1.2):.4f},{rng.gauss(0, 1):.4f},{'xy'[i % 2]}\n" for i in range(600)))
    with open(path("rows.csv")) as file:
        head, *rows = file.read().splitlines()
    put("train.csv", [head, *rows[:300]])
    own = ["--train", path("train.csv"), "--label-column", "kind"]
    run("train", *own, *QUICK, "--out", path("rm"))
    run("certify", path("rm"), *own, "--attack", "none", "--looks", 1, *QUICK, "--out", path("r.json"))
    new = rows[300:]
    run("predict", path("rm"), put("new.csv", [head, *new]), "--classes", path("answers.csv"), *QUICK)
    with open(path("answers.csv")) as file:
        answers = [line.strip().split(",")[1] for line in file.read().splitlines()[1:]]
    failed = [int(a != r.split(",")[2]) for a, r in zip(answers, new)]
    assert 0 < sum(failed) < 300
    ask = ["--model", path("rm"), *QUICK]
    code = subprocess.run([SURETY, "monitor", path("r.json"), "--fresh", path("new.csv"), *ask], capture_output=True, check=False).returncode
    whole = monitor(name="r.json", code=code)
    assert whole["seen"] == 300 and whole["failed"] == sum(failed)
    subprocess.run([SURETY, "monitor", path("r.json"), "--labels", put("o", failed), "--state", path("s")], capture_output=True, check=False)
    assert monitor("--state", path("s"), name="r.json", code=code) == whole
    os.remove(path("s"))
    for part in (new[:1], new[1:77], new[77:]):  # the first is of one class only
        subprocess.run([SURETY, "monitor", path("r.json"), "--fresh", put("part.csv", [head, *part]), *ask, "--state", path("s")],
                       capture_output=True, check=False)
    assert monitor("--state", path("s"), name="r.json", code=code) == whole
    again = run("monitor", path("r.json"), "--fresh", path("new.csv"), "--from-start", *ask, "--state", path("s"), "--json", code=code)
    assert json.loads(again.stdout) == whole  # nothing is counted twice
    assert "fewer outcomes" in error("monitor", path("r.json"), "--fresh", path("part.csv"), "--from-start", *ask, "--state", path("s"), code=3)["what"]
    run("certify", path("rm"), "--fresh", path("new.csv"), "--attack", "none", "--looks", 1, *QUICK, "--out", path("rf.json"))
    assert "are the S of the certificate" in run("monitor", path("rf.json"), "--fresh", path("new.csv"), "--model", path("rm"), *QUICK).stderr
    assert "say less" in run("monitor", path("r.json"), "--fresh", path("train.csv"), "--model", path("rm"), "--state", path("t")).stderr
    assert "not the certified model" in error("monitor", path("r.json"), "--fresh", path("new.csv"), "--model", path("m"), *QUICK, code=1)["what"]
    error("monitor", path("r.json"), "--fresh", path("new.csv"), code=2)
    error("monitor", path("r.json"), "--fresh", path("new.csv"), "--labels", path("o"), *ask, code=2)


def test_rows_count_only_where_their_errors_are_failures_of_the_certificate():
    """A thin slice around a = 0.5 is answered wrongly, so a certificate by random points of the ball promises little failure, and
    truly; the answer to 0.5 itself is wrong. Its failures are not those that the certificate limits."""
    rng = random.Random(12)

    def table(name, rows):
        return put(name, ["a,b,kind", *(f"{a:.6f},{rng.random():.6f},{kind}" for a, kind in rows)])

    slice_ = [(0.5 + rng.uniform(-0.002, 0.002), "B") for _ in range(600)]
    wide = [(rng.choice([rng.uniform(0.3, 0.495), rng.uniform(0.505, 0.7)]), "A") for _ in range(600)]
    run("train", "--train", table("slice.csv", slice_ + wide), "--kind", "trees", "--defense", "none", "--norm", "linf", "--eps", 0.2,
        "--scale", "none", *QUICK, "--out", path("slice"))
    at = table("at.csv", [(0.5, "A")] * 400 + [(0.35, "B")])
    later = table("later.csv", [(0.5, "A")] * 50)
    for attack, clean in (("unif", False), ("none", True), ("worst-case", True)):
        run("certify", path("slice"), "--fresh", at, "--attack", attack, "--eps", 0.2, "--looks", 1, *QUICK, "--out", path("slice.json"))
        with open(path("slice.json")) as file:
            value = json.load(file)["value"]
        ask = ["monitor", path("slice.json"), "--fresh", later, "--model", path("slice"), "--state", path("slice.state"), *QUICK]
        if clean:
            assert value > 0.98 and "50 of 50 failed" in run(*ask).stdout
            os.remove(path("slice.state"))
            continue
        e = error(*ask, code=1)
        assert value < 0.2, value
        assert "could be false" in e["what"] and "worst-case or none" in e["expected"], e
        assert not os.path.exists(path("slice.state"))


def test_units_are_outcomes():
    """A unit fails if one of its rows does; a promise about distinct rows says so."""
    rng = random.Random(13)
    rows = [(unit, rng.gauss(2 * (unit % 2), 1.0), "xy"[unit % 2]) for unit in range(400) for _ in range(rng.randint(1, 5))]
    train = put("units.csv", ["who,a,kind", *(f"{u},{a:.4f},{y}" for u, a, y in rows if u < 250)])
    late = [r for r in rows if r[0] >= 250]
    rng.shuffle(late)
    new = put("units_new.csv", ["who,a,kind", *(f"{u},{a:.4f},{y}" for u, a, y in late)])
    own = ["--train", train, "--kind", "linear", "--unit", "who"]
    run("train", *own, *QUICK, "--out", path("um"))
    run("certify", path("um"), "--train", train, "--attack", "none", "--looks", 1, *QUICK, "--out", path("u.json"))
    run("predict", path("um"), new, "--classes", path("u.csv"), *QUICK)
    with open(path("u.csv")) as file:
        answers = [line.strip().split(",")[1] for line in file.read().splitlines()[1:]]
    failed = {}
    for (unit, _, y), answer in zip(late, answers):
        failed[unit] = failed.get(unit, 0) | (answer != y)
    done = subprocess.run([SURETY, "monitor", path("u.json"), "--fresh", new, "--model", path("um"), "--json", *QUICK], capture_output=True, check=False)
    found = json.loads(done.stdout)
    assert found["seen"] == len(failed) == 150 < len(late) and found["failed"] == sum(failed.values()) > 0
    subprocess.run([SURETY, "monitor", path("u.json"), "--labels", put("u", [int(f) for f in failed.values()]), "--state", path("us")],
                   capture_output=True, check=False)
    assert monitor("--state", path("us"), name="u.json", code=done.returncode) == found
    run("train", "--train", train, "--kind", "linear", "--drop", "who", "--copies", "drop", *QUICK, "--out", path("dm"))
    run("certify", path("dm"), "--train", train, "--attack", "none", "--looks", 1, *QUICK, "--out", path("d.json"))
    assert "about distinct inputs" in run("monitor", path("d.json"), "--labels", put("d", [0])).stderr
    assert "distinct" not in run("monitor", path("u.json"), "--labels", put("d", [0]), "--state", path("ud")).stderr


def test_a_promise_by_groups_is_about_those_groups():
    """Inputs of a site that S has none of fail always, and nothing was promised about them: they are no outcomes, and what is said
    names the groups, and the one whose limit is watched."""
    rng = random.Random(17)

    def table(name, sites, count):
        rows = [(rng.gauss(2 * (i % 2), 0.5), i % 2, sites[i // 2 % len(sites)]) for i in range(count)]
        flipped = [(a, 1 - y if site == "south" else y, site) for a, y, site in rows]
        return put(name, ["a,kind,site", *(f"{a:.4f},{'xy'[y]},{site}" for a, y, site in flipped)])

    train = ["--train", table("sites.csv", ["east", "north", "north"], 600)]
    run("train", *train, "--label-column", "kind", "--kind", "linear", "--drop", "site", *QUICK, "--out", path("gm"))
    run("certify", path("gm"), *train, "--groups", "site", "--attack", "none", "--looks", 1, *QUICK, "--out", path("g.json"))
    later = table("later_sites.csv", ["east", "south", "north", "south"], 400)
    ask = ["monitor", path("g.json"), "--fresh", later, "--model", path("gm"), *QUICK]
    done = run(*ask)
    assert "200 of 400 rows are of groups that the promise is not about" in done.stderr, done.stderr
    said = " ".join(done.stdout.split())
    assert "the 2 groups by 'site' that are listed in the certificate belong to it (east, north), and it is the largest of their limits, that of " \
           "'east': of others nothing is promised." in said, said
    found = monitor(name="g.json")
    assert found["seen"] == 200 and found["state"] == "holds" and found["groups"] == ["east", "north"] and found["group_column"] == "site", found
    again = json.loads(run(*ask, "--from-start", "--json").stdout)
    assert again == found
    assert monitor(name=fresh("one.json"))["groups"] == [] and "listed in the certificate" not in run("monitor", path("one.json")).stdout
    run("certify", path("gm"), *train, "--attack", "none", "--shift", "tv=0.02", "--looks", 1, *QUICK, "--out", path("gs.json"))
    assert "under a condition" in run("monitor", path("gs.json")).stdout and monitor(name="gs.json")["assumed"] > monitor(name="gs.json")["promise"]


def test_a_growing_log_can_be_asked_again():
    stream, name = outcomes(VALUE / 2, 500, 11), fresh("log.json")
    for end in (10, 10, 200, 200, 500):
        found = monitor("--labels", put("log", stream[:end]), "--from-start", name=name)
        assert found["seen"] == end and found["failed"] == sum(stream[:end])


main()
