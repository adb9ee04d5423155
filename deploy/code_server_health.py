"""Exits with 0 if the code server on this machine serves: `python code_server_health.py PORT`.

`dagster api grpc-health-check` asks the same, but imports Dagster first. That takes ten times the CPU time,
and on a busy machine longer than a health check may.
"""

import sys

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

with grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}") as channel:
    try:
        answer = HealthStub(channel).Check(HealthCheckRequest(service="DagsterApi"), timeout=8)
    except grpc.RpcError as error:
        sys.exit(f"The code server does not answer: {error.code().name}")
if answer.status != HealthCheckResponse.SERVING:
    sys.exit(f"The code server is {HealthCheckResponse.ServingStatus.Name(answer.status)}")
