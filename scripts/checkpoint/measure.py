"""Measures on a local Spark what following Karasu's advice on checkpoints is worth when a
job is killed late.

    python3 -m venv venv && venv/bin/pip install -r scripts/checkpoint/requirements.txt
    go build -o bin/karasu ./cmd/karasu
    python3 scripts/checkpoint/measure.py --python venv/bin/python --karasu bin/karasu out     # needs Java 17

job.py runs once as it is. Its event log is imported into a daemon of its own, which is asked
what to persist. Then, as often as --repeat says: the job runs with the advised outputs
written, and its driver is killed with SIGKILL when stages have ended that made up --kill-at
of the first run's task time; it is started again with what it had written, and once more
with nothing; and it runs through with the writes. Results have to be the same each time.
Seconds are from the start of the process to its end; those of processors, of all processes,
are what other load on the machine changes least. Five repetitions take some fifteen minutes
of two cores.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 900  # seconds for one run of the job


class Job:
    """Runs of job.py in a folder."""

    def __init__(self, args, out):
        self.args, self.out, self.runs = args, out, 0
        self.events = out / "events"

    def start(self, store, persist):
        self.runs += 1
        self.log, self.result = self.out / f"run-{self.runs}.log", self.out / f"result-{self.runs}.json"
        for folder in (self.events, store):
            folder.mkdir(parents=True, exist_ok=True)
        command = [self.args.python, HERE / "job.py", "--events", self.events, "--store", store, "--result", self.result,
                   "--scale", str(self.args.scale)]
        if persist:
            command += ["--persist", persist]
        with open(self.log, "w") as log:
            return Session(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))

    def run(self, store, persist=None):
        """Seconds of a run, of the processors in it, and what it says of itself."""
        began = time.monotonic()
        session = self.start(store, persist)
        try:
            while session.running():
                if time.monotonic() - began > TIMEOUT:
                    sys.exit(f"run {self.runs} takes more than {TIMEOUT} s: see {self.log}")
                time.sleep(0.1)
            seconds = time.monotonic() - began
        finally:
            session.end()
        if not self.result.exists():
            sys.exit(f"run {self.runs} failed: see {self.log}")
        return seconds, session.cpu_seconds(), json.loads(self.result.read_text())

    def kill(self, store, persist, weights, share):
        """Kills a run when stages that have this share of the weights have ended; returns the seconds that it ran."""
        before, began = set(self.events.iterdir()), time.monotonic()
        session = self.start(store, persist)
        ended, at = set(), 0
        try:
            while sum(weights.get(site, 0) for site in ended) < share * sum(weights.values()):
                if not session.running() or time.monotonic() - began > TIMEOUT:
                    sys.exit(f"run {self.runs} ended before it was to be killed: see {self.log}")
                time.sleep(0.1)
                for log in set(self.events.iterdir()) - before:
                    with open(log) as f:
                        f.seek(at)
                        text = f.read()
                    whole = text[:text.rfind("\n") + 1]
                    at += len(whole.encode())
                    ended |= {e["Stage Info"]["Stage Name"] for e in events(whole) if e["Event"] == "SparkListenerStageCompleted"}
        finally:
            session.end()
        return time.monotonic() - began


class Session:
    """A driver and all that it started: the JVM and the workers are in its session."""

    def __init__(self, process):
        self.process, self.cpu = process, {}

    def members(self):
        """Processes of the session, and their processor seconds (proc(5): fields 6, 14, 15 of stat)."""
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended meanwhile
            if int(fields[3]) == self.process.pid:
                yield int(stat.parent.name), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def running(self):
        self.cpu.update(self.members())
        return self.process.poll() is None

    def cpu_seconds(self):
        return sum(self.cpu.values())

    def end(self):
        """Kills what is left, all at once: a JVM whose Python process has died would end in order."""
        for pid, _ in self.members():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


def events(text):
    return (json.loads(line) for line in text.splitlines())


def task_seconds(log):
    """Seconds that the tasks of each stage ran, by its call site."""
    names, seconds = {}, {}
    for e in events(log.read_text()):
        if e["Event"] == "SparkListenerStageSubmitted":
            names[e["Stage Info"]["Stage ID"]] = e["Stage Info"]["Stage Name"]
        elif e["Event"] == "SparkListenerTaskEnd":
            name = names[e["Stage ID"]]
            seconds[name] = seconds.get(name, 0) + e["Task Metrics"]["Executor Run Time"] / 1000
    return seconds


class Karasu:
    """A daemon of its own on this machine, without peers."""

    def __init__(self, binary, home):
        self.binary, self.home = pathlib.Path(binary).resolve(), home

    def call(self, *args):
        p = subprocess.run([self.binary, "--home", self.home, *map(str, args)], capture_output=True, text=True)
        if p.returncode != 0:
            sys.exit(f"karasu {args[0]} {args[1]}: {p.stderr.strip()}")
        return p.stdout

    def __enter__(self):
        self.call("init", "--org", "local", "--local", "--listen", "/ip4/127.0.0.1/tcp/0")
        with open(self.home.parent / "daemon.log", "w") as log:
            self.daemon = subprocess.Popen([self.binary, "--home", self.home, "daemon"], stdout=log, stderr=log)
        for _ in range(60):
            if subprocess.run([self.binary, "--home", self.home, "status"], capture_output=True).returncode == 0:
                return self
            time.sleep(0.5)
        self.__exit__()
        sys.exit(f"the daemon did not start: see {log.name}")

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.wait()

    def advise(self, log, app, cuts):
        self.call("import", "spark", log)
        return json.loads(self.call("checkpoint", "advise", "--app", app, "--objective", "restart", "--cuts", cuts, "--json"))


def sites_of(advice):
    """Call sites of the stages to persist."""
    return [s["name"] for s in advice["stages"] if s.get("persist")]


def expected(advice, share):
    """The part of the job that a restart repeats, by the advice, after a failure at a share of its time."""
    point = 0.0
    for cut in advice.get("cuts", []):
        if cut.get("seconds", 0) <= share * advice["job_seconds"]:
            point = max(point, cut.get("restart_seconds", 0))
    return 1 - point / advice["job_seconds"]


def measure(args, out):
    job = Job(args, out)
    wall, cpu, first = job.run(out / "store-plain")
    log = next((out / "events").glob(first["app"] + "*"))
    with Karasu(args.karasu, out / "home") as karasu:
        advice = karasu.advise(log, first["app"], args.cuts)
    (out / "advice.json").write_text(json.dumps(advice, indent=1))
    sites = sites_of(advice)
    if not sites:
        sys.exit("the advice is to persist nothing")
    persist = out / "persist.json"
    persist.write_text(json.dumps(sites))
    report = {
        "stages": len(advice["stages"]), "first_seconds": wall, "first_cpu_seconds": cpu, "job_seconds": advice["job_seconds"], "kill_at": args.kill_at,
        "persisted": [s.partition(" at ")[0] + " at " + pathlib.PurePath(s).name for s in sites],
        "durable_bytes": advice["worth"].get("durable_bytes", 0), "expected_share": expected(advice, args.kill_at), "repetitions": [],
    }
    weights = task_seconds(log)
    for k in range(args.repeat):
        report["repetitions"].append(repetition(job, k, persist, weights, first))
        report["summary"] = summaries(report["repetitions"])
        (out / "report.json").write_text(json.dumps(report, indent=1))
    return report


def repetition(job, k, persist, weights, first):
    """Kills a run, and measures what it takes to get the result after all."""
    store = job.out / f"store-{k}"
    row = {"killed_after_seconds": job.kill(store, persist, weights, job.args.kill_at), "outputs_there": len(list(store.glob("*/_SUCCESS")))}
    for name, folder, sites in (("restart", store, persist), ("restart_without", job.out / f"store-{k}-without", None),
                                ("through", job.out / f"store-{k}-through", persist)):
        row[name + "_seconds"], row[name + "_cpu_seconds"], result = job.run(folder, sites)
        if result["sum"] != first["sum"]:
            sys.exit(f"run {job.runs} has another result than the first")
        if name == "restart":
            row["outputs_read"] = result["found"]
        shutil.rmtree(folder)
    print(f"repetition {k + 1}: restarted in {row['restart_seconds']:.1f} s, without checkpoints in {row['restart_without_seconds']:.1f} s", file=sys.stderr, flush=True)
    return row


def summaries(rows):
    out = {}
    for unit in ("seconds", "cpu_seconds"):
        for name in ("restart", "restart_without", "through"):
            out[f"{name}_{unit}"] = summary([r[f"{name}_{unit}"] for r in rows])
        out[f"saved_share_{unit}"] = summary([1 - r[f"restart_{unit}"] / r[f"restart_without_{unit}"] for r in rows])
        out[f"longer_share_{unit}"] = summary([r[f"through_{unit}"] / r[f"restart_without_{unit}"] - 1 for r in rows])
    return out


def summary(values):
    return {"mean": statistics.mean(values), "median": statistics.median(values), "least": min(values), "most": max(values),
            "sd": statistics.stdev(values) if len(values) > 1 else 0.0}


def table(report):
    print(f"{report['stages']} stages, {report['job_seconds']:.1f} s; killed when {100 * report['kill_at']:.0f}% of the work was done; "
          f"by the advice, a restart repeats {100 * report['expected_share']:.0f}% of the job")
    print("persisted: " + ", ".join(report["persisted"]))
    print(f"{'':32}{'mean':>8}{'median':>8}{'least':>8}{'most':>8}{'sd':>8}")
    for unit, what in (("seconds", "s"), ("cpu_seconds", "s of processors")):
        for name, title, factor in (("restart_without", "restart without", 1), ("restart", "with checkpoints", 1), ("through", "no failure, with writes", 1),
                                    ("saved_share", "saved", 100), ("longer_share", "longer for the writes", 100)):
            s = report["summary"][f"{name}_{unit}"]
            label = f"{title}, {what if factor == 1 else '%'}"
            print(f"{label:32}" + "".join(f"{factor * s[k]:8.1f}" for k in ("mean", "median", "least", "most", "sd")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="folder for logs and results; must not exist")
    parser.add_argument("--python", default=sys.executable, help="interpreter with pyspark (see requirements.txt)")
    parser.add_argument("--karasu", default="bin/karasu", help="the program")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--kill-at", type=float, default=0.85, help="share of the first run's task time")
    parser.add_argument("--cuts", type=int, default=3, help="at most so many cuts")
    parser.add_argument("--scale", type=float, default=1, help="how much the job has to do")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    args = parser.parse_args()
    if args.repeat < 1 or not 0 < args.kill_at < 1 or args.cuts < 1 or args.scale <= 0:
        sys.exit("--repeat and --cuts are 1 or more, --kill-at is between 0 and 1, --scale above 0")
    out = args.out.resolve()
    if out.exists():
        sys.exit(f"{out} exists: name a folder that does not")
    out.mkdir(parents=True)
    report = measure(args, out)
    (out / "report.json").write_text(json.dumps(report, indent=1))
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        table(report)


if __name__ == "__main__":
    main()
