from __future__ import annotations

from collections.abc import Callable

import pytest

from lineage_bridge_dagster.confluent.api.errors import UntrustedAddress
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import API


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://lkc-1.evil.example",
        "https://confluent.cloud.evil.example",
        "https://notconfluent.cloud",
        "https://user:pass@lkc-1.confluent.cloud",
        "http://lkc-1.confluent.cloud",
        "file:///etc/passwd",
        "lkc-1.confluent.cloud",
        "",
        "https://",
        "http://169.254.169.254/latest",
        "https://[::1",
    ],
)
def test_untrusted_endpoint_is_rejected(session: ConfluentSession, endpoint: str) -> None:
    with pytest.raises(UntrustedAddress) as raised:
        session.data_url(endpoint, "/x", field="http_endpoint of cluster lkc-1")
    assert "http_endpoint of cluster lkc-1" in raised.value.message
    assert raised.value.denied


@pytest.mark.parametrize(
    ("api", "endpoint", "url"),
    [
        (API, "https://lkc-1.aws.confluent.cloud:443", "https://lkc-1.aws.confluent.cloud/x"),
        (API, "https://LKC-1.Confluent.Cloud/base/", "https://lkc-1.confluent.cloud/base/x"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:9090/kafka/lkc-1", "http://127.0.0.1:9090/kafka/lkc-1/x"),
        ("http://127.0.0.1:8080", "http://localhost:8080/p", "http://localhost:8080/p/x"),
        ("https://proxy.corp", "https://proxy.corp/kafka", "https://proxy.corp/kafka/x"),
    ],
)
def test_vendor_and_configured_hosts_are_trusted(
    session_with: Callable[..., ConfluentSession], api: str, endpoint: str, url: str
) -> None:
    made = session_with(api_url=api)
    assert str(made.data_url(endpoint, "/x", field="f")) == url
