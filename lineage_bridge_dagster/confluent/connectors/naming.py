"""How each outside system names its datasets: one rule per system, by the OpenLineage naming spec.

Two connectors, two tools or two events that mean one table must give it one name: `{namespace}/{name}`, or
`{namespace}:{name}` for a namespace without an authority, as in the spec's `Naming.md`. Where the spec does
not mention a system, our rule follows the same pattern.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lineage_bridge_dagster.confluent.connectors.addresses import host_and_port

_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
#: What clients take where an address has no port, whatever the server's own default is.
_WEB_PORTS = {"http": "80", "https": "443"}
_PART = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Rule:
    """The name of a system's datasets.

    Attributes:
        system: The system, as its vendor calls it.
        template: `{part}`s, some in brackets that vanish with an empty part.
        port: The port that is meant where none is given.
        spec: Namespace and name as the OpenLineage spec writes them, `namespace + name`; empty where it lacks
            the system. A template in this form is the spec's own.
    """

    system: str
    template: str
    port: str = ""
    spec: str = ""

    def __post_init__(self) -> None:
        namespace, plus, name = self.template.partition(" + ")
        if plus:
            object.__setattr__(self, "spec", self.template)
            object.__setattr__(self, "template", f"{namespace}{'/' if '://' in namespace else ':'}{name}")

    def __call__(self, **parts: str) -> str:
        """Return the dataset's name; empty if a part that it needs is empty, for then it is not known.

        `host` may be any address, of which only the host counts, and the port if `port` is empty;
        `default_port` is used before the rule's own. `path` loses the slashes at its ends.
        """
        given = {name: value.strip() for name, value in parts.items()}
        if "path" in given:
            given["path"] = path(given["path"])
        if "host" in given:
            scheme = given["host"].partition("://")[0].lower()
            given["host"], port = host_and_port(given["host"])
            port = given.get("port") or port or (_WEB_PORTS.get(scheme, "") if self.port else "")
            given["port"] = port or given.get("default_port") or self.port

        def optional(match: re.Match[str]) -> str:
            return match[1] if all(given.get(part) for part in _PART.findall(match[1])) else ""

        template = _OPTIONAL.sub(optional, self.template)
        if not all(given.get(part) for part in _PART.findall(template)):
            return ""
        return _PART.sub(lambda match: given[match[1]], template)


def path(*segments: str) -> str:
    """Join path segments, without empty ones and without slashes at the ends."""
    return "/".join(segment for part in segments if (segment := part.strip().strip("/")))


def http_url(url: str) -> str:
    """Return the address of an HTTP API without user, query and fragment; empty for anything else.

    Queries often hold keys, and two of them mean one API.
    """
    scheme, separator, rest = url.strip().partition("://")
    host, port = host_and_port(rest)
    if not separator or scheme.lower() not in _WEB_PORTS or not host:
        return ""
    port = "" if port == _WEB_PORTS[scheme.lower()] else port
    address = f"{host}:{port}" if port else host
    segments = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")[2].rstrip("/")
    return f"{scheme.lower()}://{address}/{segments}".rstrip("/")


# Relational databases.
POSTGRES = Rule("PostgreSQL", "postgres://{host}:{port} + {database}.{schema}.{table}", "5432")
MYSQL = Rule("MySQL, MariaDB", "mysql://{host}:{port} + {database}.{table}", "3306")
MSSQL = Rule("Microsoft SQL Server", "mssql://{host}:{port} + {database}.{schema}.{table}", "1433")
ORACLE = Rule(
    "Oracle Database",
    "oracle://{host}:{port}/{service}[.{schema}].{table}",
    "1521",
    spec="oracle://{host}:{port} + {serviceName}.{schema}.{table}",
)
DB2 = Rule("IBM Db2", "db2://{host}:{port}/{database}[.{schema}].{table}", "50000")
#: Db2 for i has one database; a library is a schema.
DB2_I = Rule("IBM Db2 for i", "db2://{host}:{port}/{schema}.{table}", "446")
INFORMIX = Rule("IBM Informix", "informix://{host}:{port}/{database}[.{schema}].{table}", "9088")
HANA = Rule("SAP HANA", "hana://{host}:{port}/[{database}.]{schema}.{table}", "30015")
SYBASE = Rule("SAP ASE (Sybase)", "sybase://{host}:{port}/{database}.{schema}.{table}", "5000")
VITESS = Rule("Vitess", "vitess://{host}:{port}/{keyspace}.{table}", "15991")
DERBY = Rule("Apache Derby", "derby://{host}:{port}/{database}.{schema}.{table}", "1527")
H2 = Rule("H2", "h2://{host}:{port}/{database}.{schema}.{table}", "9092")
HSQLDB = Rule("HyperSQL", "hsqldb://{host}:{port}/{database}.{schema}.{table}", "9001")
CRATE = Rule("CrateDB", "crate://{host}:{port} + {database}.{schema}.{table}", "5432")
OCEANBASE = Rule("OceanBase", "oceanbase://{host}:{port} + {database}.{table}", "2881")
TRINO = Rule("Trino, Presto", "trino://{host}:{port} + {catalog}.{schema}.{table}", "8080")

# Warehouses, lakehouses and cloud databases.
REDSHIFT = Rule(
    "Amazon Redshift",
    "redshift://{host}:{port}/{database}.{schema}.{table}",
    "5439",
    spec="redshift://{cluster_identifier}.{region_name}:{port} + {database}.{schema}.{table}",
)
SYNAPSE = Rule("Azure Synapse", "sqlserver://{host}:{port} + {schema}.{table}", "1433")
SNOWFLAKE = Rule(
    "Snowflake",
    "snowflake://{account}/{database}.{schema}.{table}",
    spec="snowflake://{organization}-{account} + {database}.{schema}.{table}",
)
BIGQUERY = Rule("Google BigQuery", "bigquery + {project}.{dataset}.{table}")
SPANNER = Rule(
    "Google Cloud Spanner",
    "spanner://{project}:{instance}/{database}[.{schema}].{table}",
    spec="spanner://{projectId}:{instanceId} + {database}.{schema}.{table}",
)
UNITY_CATALOG = Rule(
    "Databricks Unity Catalog",
    "unitycatalog://{host}/[{catalog}.]{schema}.{table}",
    spec="unitycatalog://{host} + {catalog}.{schema}.{table}",
)
ATHENA = Rule(
    "Amazon Athena",
    "awsathena://{host}/{catalog}.{schema}.{table}",
    spec="awsathena://athena.{region_name}.amazonaws.com + {catalog}.{database}.{table}",
)
DATA_EXPLORER = Rule(
    "Azure Data Explorer",
    "azurekusto://{host}/{database}/{table}",
    spec="azurekusto://{host}.kusto.windows.net + {database}/{table}",
)
BIGTABLE = Rule("Google Cloud Bigtable", "bigtable://{project}/{instance}/{table}")
CLICKHOUSE = Rule("ClickHouse", "clickhouse://{host}:{port}/{database}.{table}", "8123")
DORIS = Rule("Apache Doris, SelectDB", "doris://{host}:{port}/{database}.{table}", "9030")
GLUE = Rule(
    "AWS Glue Data Catalog",
    "arn:aws:glue:{region}:{account}/table/{database}/{table}",
    spec="arn:aws:glue:{region}:{account id} + table/{database name}/{table name}",
)
HEAVY_DB = Rule("HEAVY.AI", "heavyai://{host}:{port}/{database}.{table}", "6274")
HIVE = Rule("Apache Hive", "hive://{host}:{port} + {database}.{table}", "9083")
#: A catalog's port is 443 unless its address says otherwise, and only then part of the name.
ICEBERG = Rule("Apache Iceberg REST catalog", "iceberg://{host}[:{port}][/{warehouse}]/{table}")
KUDU = Rule("Apache Kudu, by Apache Impala", "kudu://{host}:{port}/{database}.{table}", "21050")
NETEZZA = Rule("IBM Netezza", "netezza://{host}:{port}/{database}[.{schema}].{table}", "5480")
SINGLESTORE = Rule("SingleStore", "singlestore://{host}:{port}/{database}.{table}", "3306")
STARROCKS = Rule("StarRocks", "starrocks://{host}:{port}/{database}.{table}", "8030")
TERADATA = Rule("Teradata", "teradata://{host}:{port} + {database}.{table}", "1025")
VERTICA = Rule("Vertica", "vertica://{host}:{port}/{database}.{schema}.{table}", "5433")

# Object stores and files.
S3 = Rule("Amazon S3", "s3://{bucket}[/{path}]", spec="s3://{bucket} + {object key}")
GCS = Rule("Google Cloud Storage", "gs://{bucket}[/{path}]", spec="gs://{bucket} + {object key}")
AZURE_BLOB = Rule(
    "Azure Blob Storage",
    "wasbs://{container}@{account}.dfs.core.windows.net[/{path}]",
    spec="wasbs://{container}@{service} + {object key}",
)
AZURE_DATA_LAKE = Rule(
    "Azure Data Lake Storage Gen2",
    "abfss://{container}@{account}.dfs.core.windows.net[/{path}]",
    spec="abfss://{container}@{service}.dfs.core.windows.net + {path}",
)
AZURE_DATA_LAKE_1 = Rule("Azure Data Lake Storage Gen1", "adl://{account}.azuredatalakestore.net[/{path}]")
DATAPROC = Rule("HDFS of a Google Cloud Dataproc cluster", "dataproc://{project}/{cluster}[/{path}]")
FTP = Rule("FTP server", "ftp://{host}:{port}[/{path}]", "21")
FTPS = Rule("FTPS server", "ftps://{host}:{port}[/{path}]", "990")
LOCAL_FILE = Rule("Local file system", "file:{file}", spec="file + {path}")
SFTP = Rule("SFTP server", "sftp://{host}:{port}[/{path}]", "22")
SMB = Rule("SMB share", "smb://{host}:{port}/{share}[/{path}]", "445")
HDFS = Rule(
    "HDFS", "hdfs://{host}:{port}[/{path}]", "8020", spec="hdfs://{namenode host}:{namenode port} + {path}"
)

# Document, key-value, wide-column and graph stores.
AEROSPIKE = Rule("Aerospike", "aerospike://{host}:{port}/{namespace}.{set}", "3000")
ARANGODB = Rule("ArangoDB", "arangodb://{host}:{port}/{database}.{collection}", "8529")
CASSANDRA = Rule("Apache Cassandra, ScyllaDB", "cassandra://{host}:{port} + {keyspace}.{table}", "9042")
#: The endpoint's port is always 443 and not part of the name.
COSMOS = Rule(
    "Azure Cosmos DB",
    "azurecosmos://{host}/dbs/{database}/colls/{container}",
    spec="azurecosmos://{host}/dbs/{database} + colls/{table}",
)
#: Seed nodes only lead to the cluster: their ports are those of one service of many.
COUCHBASE = Rule("Couchbase", "couchbase://{host}/{bucket}[.{scope}.{collection}]")
DYNAMODB = Rule("Amazon DynamoDB", "dynamodb://{region}/{table}")
FIREBASE = Rule("Firebase Realtime Database", "firebase://{host}[/{path}]")
FIRESTORE = Rule("Google Firestore", "firestore://{host}/{database}.{collection}")
GEMFIRE = Rule("VMware GemFire", "gemfire://{host}:{port}/{region}", "10334")
GRAPHDB = Rule("Ontotext GraphDB", "graphdb://{host}:{port}/{repository}", "7200")
HBASE = Rule("Apache HBase", "hbase://{host}:{port}/{table}", "2181")
MAPR_DB = Rule("MapR Database", "maprdb:{table}")
MONGODB = Rule("MongoDB", "mongodb://{host}:{port}/{database}[.{collection}]", "27017")
NEO4J = Rule("Neo4j", "neo4j://{host}:{port}/{database}", "7687")
REDIS = Rule("Redis", "redis://{host}:{port}/{database}", "6379")

# Search engines and vector stores.
AZURE_SEARCH = Rule("Azure AI Search", "https://{service}.search.windows.net/indexes/{index}")
ELASTICSEARCH = Rule("Elasticsearch", "elasticsearch://{host}:{port}/{index}", "9200")
MILVUS = Rule("Milvus", "milvus://{host}:{port}/[{database}.]{collection}", "19530")
OPENSEARCH = Rule("OpenSearch", "opensearch://{host}:{port}/{index}", "9200")
PINECONE = Rule("Pinecone", "pinecone://{project}/{index}")
#: By an HTTP server, or by ZooKeeper, which leads to the cluster.
SOLR = Rule("Apache Solr", "solr://{host}:{port}/{collection}", "8983")
WEAVIATE = Rule("Weaviate", "weaviate://{host}:{port}/{collection}", "8080")

# Logs, metrics and time series.
APP_DYNAMICS = Rule("AppDynamics", "appdynamics://{host}:{port}/metrics", "8293")
CLOUDWATCH_LOGS = Rule("Amazon CloudWatch Logs", "cloudwatch://{group}/{stream}")
CLOUDWATCH_METRICS = Rule("Amazon CloudWatch metrics", "cloudwatch://metrics/{namespace}")
DATADOG = Rule("Datadog", "datadog://{kind}")
INFLUXDB = Rule("InfluxDB", "influxdb://{host}:{port}/{database}", "8086")
LOG_ANALYTICS = Rule("Azure Log Analytics", "loganalytics://{workspace}/{table}")
LOG_INGESTION = Rule("Azure Monitor log ingestion", "loganalytics://{host}/{table}")
NEW_RELIC = Rule("New Relic", "newrelic://{kind}")
PAGER_DUTY = Rule("PagerDuty", "pagerduty://{kind}")
PROMETHEUS = Rule("Prometheus exporter", "prometheus://{host}:{port}/metrics", "8889")
QUESTDB = Rule("QuestDB", "questdb://{host}:{port}/{table}", "9009")
SPLUNK = Rule("Splunk", "splunk://{host}:{port}/{index}", "8088")

# Streams.
KAFKA = Rule(
    "Apache Kafka",
    "kafka://{host}:{port}/{topic}",
    "9092",
    spec="kafka://{bootstrap server host}:{port} + {topic}",
)
PUBSUB_LITE = Rule("Google Pub/Sub Lite", "pubsublite:topic:{project}:{topic}")
PUBSUB_TOPIC = Rule(
    "Google Pub/Sub", "pubsub:topic:{project}:{topic}", spec="pubsub + topic:{projectId}:{topicId}"
)
PUBSUB_SUBSCRIPTION = Rule(
    "Google Pub/Sub subscription",
    "pubsub:subscription:{project}:{subscription}",
    spec="pubsub + subscription:{projectId}:{subscriptionId}",
)

EVENT_HUBS = Rule("Azure Event Hubs", "eventhubs://{host}/{hub}")
KINESIS = Rule("Amazon Kinesis Data Streams", "kinesis://{region}/{stream}")
FIREHOSE = Rule("Amazon Data Firehose", "firehose://{region}/{stream}")

# Message queues.
ACTIVE_MQ = Rule("Apache ActiveMQ", "activemq://{host}:{port}/{destination}", "61616")
AMPS = Rule("60East AMPS", "amps://{host}:{port}/{topic}", "9007")
AMQP = Rule("RabbitMQ", "amqp://{host}:{port}[/{virtual_host}]/{name}", "5672")
IBM_MQ = Rule("IBM MQ", "ibmmq://{host}:{port}/{destination}", "1414")
JMS = Rule("Java Message Service", "jms://{host}[:{port}]/{destination}")
MQTT = Rule("MQTT", "mqtt://{host}:{port}/{topic}", "1883")
NATS = Rule("NATS", "nats://{host}:{port}/{subject}", "4222")
PULSAR = Rule("Apache Pulsar", "pulsar://{host}:{port}/{tenant}/{namespace}/{topic}", "6650")
SQS = Rule("Amazon SQS", "https://sqs.{region}.{domain}/{account}/{queue}")
SERVICE_BUS = Rule("Azure Service Bus", "servicebus://{host}/{entity}")
SOLACE = Rule("Solace PubSub+", "solace://{host}:{port}/{destination}", "55555")
TIBCO = Rule("TIBCO EMS", "tibco://{host}:{port}/{destination}", "7222")

# Applications and functions.
CLOUD_FUNCTIONS = Rule("Google Cloud Functions", "gcf://{project}/{function}")
ZEEBE = Rule("Camunda Zeebe", "zeebe://{host}:{port}[/{job}]", "26500")
LAMBDA = Rule("AWS Lambda", "lambda://{region}/{function}")
SALESFORCE = Rule("Salesforce", "salesforce://{host}/{object}")
SERVICENOW = Rule("ServiceNow", "servicenow://{host}/{table}")


def location(url: str, *segments: str) -> str:
    """Return the dataset of a folder that is given by its URL, and of one below it; empty for another URL."""
    scheme, separator, rest = url.strip().partition("://")
    authority, _, top = rest.partition("/")
    below = path(top, *segments)
    kind = scheme.lower() if separator else ""
    if kind in ("s3", "s3a", "s3n"):
        return S3(bucket=authority, path=below)
    if kind == "gs":
        return GCS(bucket=authority, path=below)
    if kind in ("abfs", "abfss", "wasb", "wasbs"):
        container, _, host = authority.partition("@")
        rule = AZURE_BLOB if kind.startswith("wasb") else AZURE_DATA_LAKE
        return rule(container=container, account=host.partition(".")[0], path=below)
    if kind == "file":
        return LOCAL_FILE(file=f"/{below}")
    return HDFS(host=authority, path=below) if kind == "hdfs" else ""


#: Every system's rule.
RULES: tuple[Rule, ...] = tuple(rule for rule in dict(globals()).values() if isinstance(rule, Rule))
#: The port that a name has where none is given, by its scheme.
DEFAULT_PORTS: Mapping[str, str] = {
    rule.template.partition("://")[0]: rule.port for rule in reversed(RULES) if rule.port
}
