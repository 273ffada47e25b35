"""A Spark job of 26 stages that takes about a minute on two cores: three feeds are cleaned in
steps, joined and scored. Where it is told to, it writes what a step makes to durable
storage and reads it again; what is there when it starts is not computed again.

    python job.py --events LOGS --store STORE [--persist SITES.json] --result RESULT

SITES.json lists call sites as Spark names stages, such as "reduceByKey at job.py:70". Each
step stands on a line of its own, so that its line says which it is.
"""

import argparse
import hashlib
import json
import pathlib
import random
import shutil
import sys
import zlib
from operator import add

from pyspark import SparkConf, SparkContext

PARTITIONS = 4


class Store:
    """Durable outputs by the line of the step that makes them."""

    def __init__(self, sc, folder, sites):
        self.sc, self.folder = sc, folder
        self.lines = {int(site.rpartition(":")[2]) for site in sites}
        self.written, self.found = 0, 0

    def keep(self, rdd):
        """The step on the caller's line: read if it is there, written if it should be."""
        line = sys._getframe(1).f_lineno
        path = self.folder / f"line-{line}"
        if (path / "_SUCCESS").exists():  # Spark writes it last
            self.found += 1
        elif line in self.lines:
            shutil.rmtree(path, ignore_errors=True)  # what a driver left that was killed
            rdd.saveAsPickleFile(path.as_uri())
            self.written += 1
        else:
            return rdd
        return self.sc.pickleFile(path.as_uri(), PARTITIONS)


def work(payload, rounds):
    """Takes time on a core; the result depends on nothing else."""
    digest = payload
    for _ in range(rounds):
        digest = hashlib.sha256(digest + payload).digest()
    return digest


def grow(digest, size):
    """As many bytes as that, which do not compress."""
    return random.Random(digest).randbytes(size)


def merge(a, b):
    return max(a, b)


def job(sc, store, scale):
    keep = store.keep
    size = 1_000

    def step(rounds, length, keys):
        def one(kv):
            key, payload = kv
            digest = work(payload, int(rounds * scale))
            return (zlib.crc32(digest) % keys if keys else key), grow(digest, length)
        return one

    def feed(seed):
        return sc.parallelize(range(seed, seed + size), PARTITIONS).map(lambda i: (i, grow(i.to_bytes(4, "big"), 2_000)))

    a, b, c = feed(0), feed(10_000), feed(20_000)
    # Cleaning: what feeds hold grows, and shrinks again.
    a = keep(a.map(step(500, 8_000, 4_000)).reduceByKey(merge, PARTITIONS))
    a = keep(a.map(step(250, 16_000, 3_000)).reduceByKey(merge, PARTITIONS))
    a = keep(a.map(step(180, 24_000, 2_500)).reduceByKey(merge, PARTITIONS))
    a = keep(a.map(step(140, 4_000, 2_000)).reduceByKey(merge, PARTITIONS))
    a = keep(a.map(step(800, 500, 1_500)).reduceByKey(merge, PARTITIONS))
    b = keep(b.map(step(700, 12_000, 4_000)).reduceByKey(merge, PARTITIONS))
    b = keep(b.map(step(200, 20_000, 3_000)).reduceByKey(merge, PARTITIONS))
    b = keep(b.map(step(160, 30_000, 2_500)).reduceByKey(merge, PARTITIONS))
    b = keep(b.map(step(130, 3_000, 2_000)).reduceByKey(merge, PARTITIONS))
    b = keep(b.map(step(900, 500, 1_500)).reduceByKey(merge, PARTITIONS))
    c = keep(c.map(step(600, 6_000, 4_000)).reduceByKey(merge, PARTITIONS))
    c = keep(c.map(step(400, 10_000, 3_000)).reduceByKey(merge, PARTITIONS))
    c = keep(c.map(step(300, 18_000, 2_500)).reduceByKey(merge, PARTITIONS))
    c = keep(c.map(step(220, 2_000, 2_000)).reduceByKey(merge, PARTITIONS))
    c = keep(c.map(step(900, 500, 1_500)).reduceByKey(merge, PARTITIONS))
    # Scoring: one feed after the other is joined, and what comes out is refined.
    ab = keep(a.map(lambda kv: (kv[0] % 600, kv[1])).join(b.map(lambda kv: (kv[0] % 600, kv[1])), PARTITIONS))
    ab = keep(ab.map(lambda kv: (kv[0], kv[1][0] + kv[1][1])).map(step(700, 9_000, 1_500)).reduceByKey(merge, PARTITIONS))
    ab = keep(ab.map(step(400, 1_000, 1_200)).reduceByKey(merge, PARTITIONS))
    abc = keep(ab.map(lambda kv: (kv[0] % 500, kv[1])).join(c.map(lambda kv: (kv[0] % 500, kv[1])), PARTITIONS))
    abc = keep(abc.map(lambda kv: (kv[0], kv[1][0] + kv[1][1])).map(step(700, 12_000, 1_500)).reduceByKey(merge, PARTITIONS))
    abc = keep(abc.map(step(500, 14_000, 1_200)).reduceByKey(merge, PARTITIONS))
    abc = keep(abc.map(step(600, 1_000, 1_000)).reduceByKey(merge, PARTITIONS))
    abc = keep(abc.map(step(2_500, 2_000, 900)).reduceByKey(merge, PARTITIONS))
    abc = keep(abc.map(step(2_500, 500, 800)).reduceByKey(merge, PARTITIONS))
    counts = keep(abc.map(step(2_500, 100, 50)).mapValues(lambda v: zlib.crc32(v)).reduceByKey(add, PARTITIONS))
    return sorted(counts.collect())


def context(events):
    c = SparkConf().setAppName("feeds").setMaster("local[2]")
    for k, v in {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g", "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(), "spark.python.worker.reuse": "true",
    }.items():
        c.set(k, v)
    return SparkContext(conf=c)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=pathlib.Path, required=True, help="folder for the event log")
    parser.add_argument("--store", type=pathlib.Path, required=True, help="folder of durable outputs")
    parser.add_argument("--persist", type=pathlib.Path, help="JSON list of the call sites whose output is to be written")
    parser.add_argument("--result", type=pathlib.Path, required=True, help="file for the result")
    parser.add_argument("--scale", type=float, default=1, help="how much there is to do")
    args = parser.parse_args()
    sites = json.loads(args.persist.read_text()) if args.persist else []
    sc = context(args.events.resolve())
    sc.setLogLevel("OFF")
    store = Store(sc, args.store.resolve(), sites)
    result = job(sc, store, args.scale)
    args.result.write_text(json.dumps({"app": sc.applicationId, "written": store.written, "found": store.found,
                                       "sum": zlib.crc32(json.dumps(result).encode())}))
    sc.stop()


if __name__ == "__main__":
    main()
