"""Runs small jobs on a local Spark and keeps their event logs, to check that they are read.

    python3 -m venv venv && venv/bin/pip install -r scripts/sparklogs/requirements.txt
    venv/bin/python scripts/sparklogs/sparklogs.py out      # needs Java 17; some minutes
    KARASU_SPARK_LOGS=$PWD/out go test -run TestLocalSpark -v ./store/ingest/spark

Six jobs run under each compression and as one file or rolling; besides, one job whose
tasks fail and are retried, one that fails for good, and one whose driver is killed.
While a job runs, a copy of its log is taken, as someone reads it who cannot wait.
manifest.json tells, for each application, what Spark's own status store knew of its
stages at the end, which the reader has to agree with.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

from pyspark import SparkConf, SparkContext, TaskContext
from pyspark.sql import SparkSession, functions as F

CODECS = ["none", "lz4", "zstd", "snappy", "lzf"]
LAYOUTS = ["single", "rolling"]


def wordcount(spark, folder):
    lines = spark.sparkContext.parallelize([f"w{i % 97} w{i % 31} w{i % 7}" for i in range(20000)], 6)
    lines.flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(lambda a, b: a + b, 4).saveAsTextFile(str(folder / "words"))


def pagerank(spark, folder):
    sc = spark.sparkContext
    links = sc.parallelize([(i % 200, (i * 7 + i // 200) % 200) for i in range(4000)], 4).distinct().groupByKey(4).cache()
    ranks = links.mapValues(lambda _: 1.0)
    for _ in range(3):
        sent = links.join(ranks).flatMap(lambda kv: [(to, kv[1][1] / len(kv[1][0])) for to in kv[1][0]])
        ranks = sent.reduceByKey(lambda a, b: a + b, 4).mapValues(lambda r: 0.15 + 0.85 * r)
        ranks.count()


def kmeans(spark, folder):
    points = spark.sparkContext.parallelize([(i * 31 % 1000 / 10, i * 17 % 1000 / 10) for i in range(5000)], 4).cache()
    centres = points.takeSample(False, 4, 1)
    for _ in range(3):
        near = points.map(lambda p: (min(range(4), key=lambda c: (p[0] - centres[c][0]) ** 2 + (p[1] - centres[c][1]) ** 2), (p, 1)))
        sums = near.reduceByKey(lambda a, b: ((a[0][0] + b[0][0], a[0][1] + b[0][1]), a[1] + b[1])).collectAsMap()
        centres = [(sums[c][0][0] / sums[c][1], sums[c][0][1] / sums[c][1]) if c in sums else centres[c] for c in range(4)]


def join(spark, folder):
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    a = spark.range(50000).withColumn("k", F.col("id") % 1000)
    b = spark.range(20000).withColumn("k", F.col("id") % 500)
    a.join(b, "k").groupBy("k").count().write.parquet(str(folder / "joined"))


def sort(spark, folder):
    spark.range(0, 100000, 1, 4).withColumn("r", F.rand(7)).write.parquet(str(folder / "unsorted"))
    spark.read.parquet(str(folder / "unsorted")).orderBy("r").write.parquet(str(folder / "sorted"))


def sql(spark, folder):
    spark.range(100000).selectExpr("id", "id % 13 as g", "id % 7 as h").createOrReplaceTempView("t")
    spark.range(1000).selectExpr("id as g", "concat('n', id) as name").createOrReplaceTempView("names")
    spark.sql("select name, h, count(*) c, avg(t.id) a from t join names using (g) group by name, h having c > 1 order by c").collect()


JOBS = [wordcount, pagerank, kmeans, join, sort, sql]


def retries(spark, folder):
    def unlucky(part):
        if TaskContext.get().attemptNumber() < 2 and TaskContext.get().partitionId() == 1:
            raise RuntimeError("on purpose")
        return part

    pairs = spark.sparkContext.parallelize(range(1000), 4).mapPartitions(unlucky).map(lambda i: (i % 5, i))
    pairs.groupByKey(3).count()


def failure(spark, folder):
    def broken(_):
        raise RuntimeError("on purpose")

    spark.sparkContext.parallelize(range(100), 2).map(lambda i: (i, i)).groupByKey(2).count()
    try:
        spark.sparkContext.parallelize(range(100), 2).map(broken).count()
    except Exception:  # noqa: BLE001 - whatever Spark makes of it
        pass


def killed(spark, folder):
    wordcount(spark, folder)
    spark.sparkContext.parallelize(range(2), 2).map(lambda _: time.sleep(600)).count()


def conf(name, codec, layout, logs):
    c = SparkConf().setAppName(name).setMaster("local[2,4]")
    settings = {
        "spark.ui.port": "0", "spark.ui.showConsoleProgress": "false", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "8", "spark.driver.memory": "1g",
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": logs.as_uri(),
        "spark.eventLog.compress": str(codec != "none").lower(), "spark.eventLog.compression.codec": codec if codec != "none" else "zstd",
        "spark.eventLog.rolling.enabled": str(layout == "rolling").lower(), "spark.eventLog.rolling.maxFileSize": "10m",
    }
    for k, v in settings.items():
        c.set(k, v)
    return c


def status(sc):
    """What Spark's status store knows of the stages that ran."""
    url = f"{sc.uiWebUrl}/api/v1/applications/{sc.applicationId}/stages"
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(url, timeout=300) as r:
        stages = json.load(r)
    keep = ["stageId", "attemptId", "status", "numTasks", "numCompleteTasks", "numFailedTasks", "numKilledTasks", "executorRunTime", "executorCpuTime",
            "inputBytes", "outputBytes", "shuffleReadBytes", "shuffleWriteBytes", "memoryBytesSpilled", "diskBytesSpilled"]
    return [{k: s[k] for k in keep} for s in stages if s["status"] in ("COMPLETE", "FAILED")]


def snapshot(logs, app, to):
    for p in logs.iterdir():
        if app in p.name:
            (shutil.copytree if p.is_dir() else shutil.copy)(p, to / p.name)


def run(job, codec, layout, out):
    logs, running = out / "logs", out / "running"
    name = f"{job.__name__}-{codec}-{layout}"
    spark = SparkSession.builder.config(conf=conf(name, codec, layout, logs)).getOrCreate()
    sc = spark.sparkContext
    sc.setLogLevel("OFF")
    app = sc.applicationId
    job(spark, out / "data" / name)
    snapshot(logs, app, running)
    time.sleep(0.5)  # the status store follows the events
    entry = {"app": app, "name": name, "codec": codec, "layout": layout, "outcome": "failed" if job is failure else "ok", "stages": status(sc)}
    spark.stop()
    print(name, app, len(entry["stages"]), "stages", flush=True)
    return entry


def kill_midway(out):
    """Runs this file for the job that is killed, and kills its driver."""
    p = subprocess.Popen([sys.executable, __file__, "--killed", str(out)], start_new_session=True, stdout=subprocess.PIPE, text=True)
    app = p.stdout.readline().strip()
    deadline = time.time() + 120
    while time.time() < deadline and not (out / "data" / "killed" / "words" / "_SUCCESS").exists():
        time.sleep(0.2)
    time.sleep(3)
    os.killpg(p.pid, signal.SIGKILL)
    p.wait()
    print("killed", app, flush=True)
    return {"app": app, "name": "killed-zstd-single", "codec": "zstd", "layout": "single", "outcome": "unknown", "stages": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--killed", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--codecs", default=",".join(CODECS))
    parser.add_argument("out", type=pathlib.Path)
    args = parser.parse_args()
    out = args.out.resolve()
    if args.killed:
        sc = SparkContext(conf=conf("killed-zstd-single", "zstd", "single", out / "logs"))
        sc.setLogLevel("OFF")
        print(sc.applicationId, flush=True)
        killed(SparkSession(sc), out / "data" / "killed")
        return
    if out.exists():
        sys.exit(f"{out} exists: name a folder that does not")
    for folder in ("logs", "running", "data"):
        (out / folder).mkdir(parents=True)
    entries = []

    def done(entry):
        entries.append(entry)
        (out / "manifest.json").write_text(json.dumps(entries, indent=1))

    done(kill_midway(out))
    for job in (retries, failure):
        done(run(job, "lz4", "single", out))
    for job in JOBS:
        for codec in filter(None, args.codecs.split(",")):
            for layout in LAYOUTS:
                done(run(job, codec, layout, out))
    shutil.rmtree(out / "data")


if __name__ == "__main__":
    main()
