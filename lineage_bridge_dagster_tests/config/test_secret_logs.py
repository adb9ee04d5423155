from __future__ import annotations

import logging

import pytest

from lineage_bridge_dagster.config.secret_logs import hide_secrets_in_logs

VALUE = "a/b+c=d"


@pytest.mark.parametrize(
    ("logger", "text"),
    [
        ("botocore.auth", f"host:glue\nx-amz-security-token:{VALUE}\n\nhost;x-amz-date"),
        ("botocore.endpoint", f"headers={{'X-Amz-Security-Token': b'{VALUE}', 'Kept': b'kept'}}"),
        ("botocore.parsers", f'b\'{{"Name":"x","SecretString":"{{\\\\"KEY\\\\": \\\\"{VALUE}\\\\"}}"}}\''),
        ("botocore.parsers", f"b'<SecretAccessKey>{VALUE}</SecretAccessKey>'"),
        ("botocore.parsers", f"b'<SessionToken>{VALUE}</SessionToken>'"),
        (
            "botocore.endpoint",
            f'params: {{\'body\': b\'{{"TableInput": {{"Parameters": {{"k": "{VALUE}"}}}}}}\'}}',
        ),
        (
            "botocore.parsers",
            f'b\'{{"Table": {{"StorageDescriptor": {{}}, "Parameters": {{"k": "{VALUE}"}}}}}}\'',
        ),
        ("urllib3.connectionpool", f'"PUT /kept?sv=1&sig={VALUE}&se=2 HTTP/1.1" 201 0'),
    ],
)
def test_secret_is_hidden_and_the_rest_is_kept(
    logger: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    hide_secrets_in_logs()
    hide_secrets_in_logs()
    with caplog.at_level(logging.DEBUG, logger):
        logging.getLogger(logger).debug("%s", text)
    assert VALUE not in caplog.text
    assert "***" in caplog.text
    assert ("kept" in caplog.text) == ("kept" in text)


def test_record_without_a_secret_stays_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    hide_secrets_in_logs()
    with caplog.at_level(logging.DEBUG, "botocore.endpoint"):
        logging.getLogger("botocore.endpoint").debug("Making request for %s", "GetTables")
    assert caplog.messages == ["Making request for GetTables"]
