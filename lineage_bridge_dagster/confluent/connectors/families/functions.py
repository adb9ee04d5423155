"""Cloud functions."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families.common import keyed, per_topic
from lineage_bridge_dagster.confluent.connectors.family import SinkContext, sink_family


@sink_family("lambda", "LambdaSink", "io.confluent.connect.aws.lambda.AwsLambdaSinkConnector")
def aws_lambda(context: SinkContext, topic: str) -> str:
    """The function of `topic;function,...` in the mode `multiple`, else the only one."""
    config = context.config
    mapped = config.pairs("aws.lambda.topic2function.map", ";")
    name = mapped.get(topic) if mapped else config.get("aws.lambda.function.name")
    region = config.get("aws.lambda.region", "kafka.region")
    if name and name.startswith("arn:") and name.count(":") >= 6:
        # arn:aws:lambda:{region}:{account}:function:{name}
        _, _, _, region, _, _, name = name.split(":", 6)
    return naming.LAMBDA(region=region, function=name or "")


sink_family(
    "google-functions",
    "GoogleCloudFunctionsSink GoogleCloudFunctionsGen2Sink",
    "io.confluent.connect.gcp.functions.GoogleCloudFunctionsSinkConnector",
    "io.confluent.connect.gcp.GoogleCloudFunctionsSinkConnector",
)(
    per_topic(
        keyed(
            naming.CLOUD_FUNCTIONS, project="gcf.project.id | project.id", function="gcf.name | function.name"
        )
    )
)
