#!/usr/bin/env python3
"""DLRover's own Brain client against a Karasu daemon: one job from its start to its end.

The parts of a DLRover master that speak with a Brain (its resource optimizer, its
reporter and its client, from PyPI) plan a job, describe it, report its run, tell of a
worker and a parameter server that ran out of memory, and of its end. Every answer is
checked; the first that is not as a master needs it ends the script with 1.

    pip install -r scripts/dlrover/requirements.txt
    karasu daemon     # with brain = "127.0.0.1:50001" under [elastic] of config.toml

    python scripts/dlrover/dlrover_client.py --brain 127.0.0.1:50001
    python scripts/dlrover/dlrover_client.py --brain 127.0.0.1:50001 --record client.jsonl

--record writes the requests as they were sent, one JSON object a line: the method and
the message in base64. --start sets the time of the first report, so that a recording is
the same each time. In dlrover 0.6.1 the client's own report of a run names a field that
its message does not have; the script fills in that one message itself.
"""
import argparse
import base64
import json
import os
import sys
import time
import uuid

MIB = 1 << 20
GIB = 1 << 30
JOB = "ctr-daily"
WORKERS, SERVERS = 4, 2
REPORTS = 6


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--brain", default="127.0.0.1:50001", metavar="HOST:PORT", help="where the daemon serves masters")
    p.add_argument("--record", metavar="FILE", help="write the requests here")
    p.add_argument("--uuid", default=None, help="of the job; a new one by default")
    p.add_argument("--start", type=int, default=None, metavar="SECONDS", help="time of the first report; %d minutes ago by default" % REPORTS)
    return p.parse_args()


def check(ok, what, got):
    print(f"{'ok ' if ok else 'NOT'}  {what}: {got}")
    if not ok:
        sys.exit(1)


def recorder(grpc, path):
    """An interceptor that keeps what is sent."""

    class Recorder(grpc.UnaryUnaryClientInterceptor):
        def __init__(self):
            self.lines = []

        def intercept_unary_unary(self, continuation, details, request):
            method = details.method if isinstance(details.method, str) else details.method.decode()
            wire = base64.b64encode(request.SerializeToString(deterministic=True)).decode()
            self.lines.append(json.dumps({"method": method, "request": wire}))
            return continuation(details, request)

        def write(self):
            if path:
                with open(path, "w", encoding="utf-8") as f:
                    f.write("\n".join(self.lines) + "\n")

    return Recorder()


def connect(address, record):
    """The master's optimizer, reporter and client, all over one channel."""
    os.environ["DLROVER_BRAIN_SERVICE_ADDR"] = address
    import grpc
    from dlrover.proto import brain_pb2_grpc
    from dlrover.python.brain.client import GlobalBrainClient
    from dlrover.python.common.log import default_logger

    default_logger.setLevel("WARNING")
    client = GlobalBrainClient.BRAIN_CLIENT
    if not client.available():
        sys.exit(f"no Brain at {address}; set brain under [elastic] of config.toml and start: karasu daemon")
    recording = recorder(grpc, record)
    channel = grpc.intercept_channel(grpc.insecure_channel(address), recording)
    client._brain_stub = brain_pb2_grpc.BrainStub(channel)
    return client, recording


def pods(workers, servers, memory_gib):
    out = [(f"{JOB}-edljob-worker-{i}", 6.5, memory_gib) for i in range(workers)]
    return out + [(f"{JOB}-edljob-ps-{i}", 3.0, 2 * memory_gib) for i in range(servers)]


def report_run(client, meta, at, step, speed, running):
    """What BrainClient.report_runtime_info means to send."""
    from dlrover.proto import brain_pb2
    from dlrover.python.brain.client import init_job_metrics_message

    metrics = init_job_metrics_message(meta)
    metrics.metrics_type = brain_pb2.MetricsType.Runtime_Info
    info = metrics.runtime_info
    info.global_step, info.time_stamp, info.speed = step, at, speed
    for name, cpu, memory_gib in running:
        info.running_pods.add(pod_name=name, namespace=meta.namespace, cpu_usage=cpu, mem_usage=memory_gib * GIB)
    return client.report_metrics(metrics)


def describe(client, meta):
    from dlrover.python.common.node import NodeGroupResource, NodeResource
    from dlrover.python.master.resource.job import JobResource
    from dlrover.python.master.stats.reporter import BrainReporter
    from dlrover.python.master.stats.training_metrics import TextDatasetMetric, TrainingHyperParams

    reporter = BrainReporter(meta)
    reporter._brain_client = client
    reporter.report_job_meta()
    reporter.report_job_type("tensorflow")
    reporter.report_training_hyper_params(TrainingHyperParams(batch_size=512, epoch=1, max_steps=200_000))
    dataset = TextDatasetMetric("clicks", 100_000_000)
    dataset.storage_size = 40 * GIB
    try:
        reporter.report_dataset_metric(dataset)
    except AttributeError:
        pass  # a data set of text has no features in 0.6.1
    asked = JobResource()
    asked.node_group_resources["worker"] = NodeGroupResource(WORKERS, NodeResource(8, 16 * 1024))
    asked.node_group_resources["ps"] = NodeGroupResource(SERVERS, NodeResource(8, 32 * 1024))
    reporter.report_job_resource(asked)
    reporter.report_customized_data({"init_training_time": 41.5, "karasu.algorithm": "deepfm"})
    return reporter


def run(client, job_uuid, start):
    from dlrover.python.common.constants import JobExitReason, JobOptStage, NodeType
    from dlrover.python.common.node import Node
    from dlrover.python.master.resource.brain_optimizer import BrainResoureOptimizer
    from dlrover.python.master.stats.reporter import JobMeta

    optimizer = BrainResoureOptimizer(job_uuid, None)
    optimizer._brain_client = client

    first = optimizer.generate_opt_plan(JobOptStage.CREATE)
    check(first.node_group_resources[NodeType.WORKER].count >= 1, "plan of a job that nobody described, workers",
          first.node_group_resources[NodeType.WORKER].count)

    meta = JobMeta(job_uuid, JOB, "training", "cluster-1", "user-1")
    reporter = describe(client, meta)

    plan = optimizer.generate_opt_plan(JobOptStage.WORKER_INITIAL, {"optimizer.worker.optimize-phase": "initial"})
    check(plan.node_group_resources[NodeType.WORKER].count >= 1, "plan of workers", plan.to_json())

    for i in range(REPORTS):
        report_run(client, meta, start + 60 * i, 60 * 40 * (i + 1), 40.0, pods(WORKERS, SERVERS, 4 + i / 4))
    known = json.loads(client.get_job_metrics(job_uuid).job_metrics)
    check(known["state"] == "running" and known["reports"] == REPORTS, "reports taken", known["reports"])

    plan = optimizer.generate_opt_plan(JobOptStage.PS_RUNNING)
    print("     plan of parameter servers:", plan.to_json())
    plan = optimizer.generate_opt_plan(JobOptStage.WORKER_RUNNING, {"optimizer.worker.optimize-phase": "stable"})
    check(plan.node_group_resources[NodeType.WORKER].count == WORKERS, "plan while it runs, workers", WORKERS)

    before = plan.node_group_resources[NodeType.WORKER].node_resource.memory
    worker = Node(NodeType.WORKER, 1, name=f"{JOB}-edljob-worker-1")
    plan = optimizer.generate_oom_recovery_plan([worker], JobOptStage.CREATE)
    after = plan.node_group_resources[NodeType.WORKER].node_resource.memory
    servers = plan.node_group_resources[NodeType.PS].node_resource.memory
    check(after > before, "memory of workers after one ran out of it, MiB", f"{before} -> {after}")

    server = Node(NodeType.PS, 0, name=f"{JOB}-edljob-ps-0")
    plan = optimizer.generate_oom_recovery_plan([server], JobOptStage.PS_INITIAL)
    after = plan.node_resources[server.name].memory
    check(after > servers, "memory of the parameter server that ran out of it, MiB", f"{servers} -> {after}")

    reporter.report_job_exit_reason(JobExitReason.SUCCEEDED)
    known = json.loads(client.get_job_metrics(job_uuid).job_metrics)
    check(known["state"] == "finished", "state after the end", known["state"])


def main():
    args = arguments()
    client, recording = connect(args.brain, args.record)
    start = args.start if args.start is not None else int(time.time()) - 60 * REPORTS
    run(client, args.uuid or str(uuid.uuid4()), start)
    recording.write()


if __name__ == "__main__":
    main()
