"""Cloud functions."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors.families.common import templated
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext


def aws_lambda(context: SinkContext, topic: str) -> str:
    config = context.config
    name = config.pairs("aws.lambda.topic2function.map", reverse=True).get(topic) or config.get(
        "aws.lambda.function.name"
    )
    return f"lambda://{config.get('aws.lambda.region', 'kafka.region')}/{name}" if name else ""


SINKS = (
    Family(
        "lambda",
        ("LambdaSink",),
        ("io.confluent.connect.aws.lambda.AwsLambdaSinkConnector",),
        sink=aws_lambda,
    ),
    Family(
        "google-functions",
        ("GoogleCloudFunctionsSink",),
        ("io.confluent.connect.gcp.functions.GoogleCloudFunctionsSinkConnector",),
        sink=templated("gcf://{project.id}/{function.name}"),
    ),
)
