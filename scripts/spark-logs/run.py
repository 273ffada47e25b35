"""Makes real Spark event logs: run.py LOGS [--jobs a,b] [--codecs lz4,zstd,...].

Six small jobs, each under each codec, rolled and in a single file; one that is killed
and one with a stage that fails after retries. Needs Java 17 and requirements.txt:

    python3 -m venv /tmp/pyspark && /tmp/pyspark/bin/pip install -r requirements.txt
    /tmp/pyspark/bin/python run.py /tmp/spark-logs

To see a daemon take them while they run, watch the folder before: karasu watch spark LOGS.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
JOBS = ["wordcount", "pagerank", "kmeans", "join", "sort", "sql"]
CODECS = ["lz4", "zstd", "snappy", "lzf", "none"]


def spec(job, logs, codec, rolling, master="local[2]"):
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": "file://" + os.path.abspath(logs),
        "spark.eventLog.compress": str(codec != "none").lower(),
        "spark.eventLog.rolling.enabled": str(rolling).lower(),
        "spark.eventLog.rolling.maxFileSize": "10m",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.task.maxFailures": "3",
    }
    if codec != "none":
        conf["spark.eventLog.compression.codec"] = codec
    return json.dumps({"job": job, "master": master, "name": f"{job}-{codec}-{'rolling' if rolling else 'single'}", "conf": conf})


def start(specs):
    env = dict(os.environ, PYSPARK_PYTHON=sys.executable, PYSPARK_SUBMIT_ARGS="--driver-memory 512m pyspark-shell")
    return subprocess.Popen([sys.executable, os.path.join(HERE, "jobs.py"), *specs], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, start_new_session=True)


def follow(process):
    """Prints what a process prints and returns its exit code."""
    for line in process.stdout:
        print(line, end="", flush=True)
    return process.wait()


def kill(process):
    """Ends a job as a lost machine does: its JVM, too, cannot close its log."""
    for line in process.stdout:
        if line.startswith("READY"):
            break
    time.sleep(3)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--codecs", default=",".join(CODECS))
    args = parser.parse_args()
    os.makedirs(args.logs, exist_ok=True)
    well = [spec(job, args.logs, codec, rolling) for job in filter(None, args.jobs.split(","))
            for codec in args.codecs.split(",") for rolling in (False, True)]
    code = follow(start(well)) if well else 0
    # local[2,3] tries a task three times; local[2] would not try it again.
    failing = follow(start([spec("fails", args.logs, "zstd", False, master="local[2,3]")]))
    print(f"fails: exit {failing}, wanted another one than 0", flush=True)
    for rolling in (False, True):
        kill(start([spec("killed", args.logs, "lz4", rolling)]))
        print(f"killed: {'rolling' if rolling else 'single'}", flush=True)
    sys.exit(0 if code == 0 and failing != 0 else 1)


if __name__ == "__main__":
    main()
