"""Small Spark jobs that leave event logs, for trying importers on.

Called by run.py: jobs.py SPEC..., where each SPEC is the JSON of a job's name, the
application's name, the master and the Spark settings. All run in one JVM, one after the
other, each as an application of its own.
"""

import json
import random
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def session(spec):
    builder = SparkSession.builder.appName(spec["name"]).master(spec["master"])
    for key, value in spec["conf"].items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def wordcount(spark):
    words = ["alpha", "beta", "gamma", "delta"]
    lines = spark.sparkContext.parallelize(range(20000), 4).map(lambda i: " ".join(words[(i * k) % 4] for k in range(5)))
    counts = lines.flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(lambda a, b: a + b)
    assert sum(c for _, c in counts.collect()) == 100000


def pagerank(spark):
    random.seed(1)
    edges = spark.sparkContext.parallelize([(random.randrange(500), random.randrange(500)) for _ in range(3000)], 4)
    links = edges.distinct().groupByKey().cache()
    ranks = links.mapValues(lambda _: 1.0)
    for _ in range(4):
        shares = links.join(ranks).flatMap(lambda x: [(d, x[1][1] / len(x[1][0])) for d in x[1][0]])
        ranks = shares.reduceByKey(lambda a, b: a + b).mapValues(lambda r: 0.15 + 0.85 * r)
    assert ranks.count() > 0


def kmeans(spark):
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler

    table = spark.range(0, 4000, numPartitions=4).select((F.rand(1) * 10).alias("x"), (F.rand(2) * 10).alias("y"))
    points = VectorAssembler(inputCols=["x", "y"], outputCol="features").transform(table).cache()
    assert len(KMeans(k=4, seed=1, maxIter=5).fit(points).clusterCenters()) == 4


def join(spark):
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    left = spark.range(0, 50000, numPartitions=4).withColumn("key", F.col("id") % 1000)
    right = spark.range(0, 1000, numPartitions=2).withColumnRenamed("id", "key")
    assert left.join(right, "key").count() == 50000


def sort(spark):
    numbers = spark.sparkContext.parallelize(range(100000), 4).map(lambda i: ((i * 7919) % 100003, i))
    assert numbers.sortByKey().first()[0] == 0


def sql(spark):
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    spark.range(0, 100000, numPartitions=4).withColumn("k", F.col("id") % 100).createOrReplaceTempView("facts")
    spark.range(0, 100, numPartitions=2).withColumn("name", F.concat(F.lit("n"), F.col("id"))).createOrReplaceTempView("names")
    query = "SELECT name, count(*) c, sum(f.id) s FROM facts f JOIN names n ON f.k = n.id GROUP BY name HAVING c > 10 ORDER BY s DESC"
    assert len(spark.sql(query).collect()) == 100


def fails(spark):
    """A stage whose tasks are tried again, in vain."""

    def broken(i):
        if i == 3:
            raise ValueError("on purpose")
        return i

    spark.sparkContext.parallelize(range(8), 4).map(lambda i: (i % 2, i)).reduceByKey(lambda a, b: a + b).collect()
    spark.sparkContext.parallelize(range(8), 4).map(broken).count()


def killed(spark):
    """Runs until it is killed."""
    spark.sparkContext.parallelize(range(100), 4).count()
    print("READY", flush=True)
    spark.sparkContext.parallelize(range(2), 2).foreach(lambda _: time.sleep(600))


JOBS = {f.__name__: f for f in (wordcount, pagerank, kmeans, join, sort, sql, fails, killed)}

if __name__ == "__main__":
    for spec in map(json.loads, sys.argv[1:]):
        begun = time.time()
        spark = session(spec)
        JOBS[spec["job"]](spark)
        spark.stop()
        SparkSession._instantiatedSession = None
        print(f"{spec['name']:32} {time.time() - begun:.1f} s", flush=True)
