"""AWS within the process of a test, beside servers that other tests of the process share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from moto import mock_aws
from moto.backends import get_backend


@contextmanager
def mocked_aws() -> Iterator[None]:
    """Answer all calls within the block from memory, without secrets before it and after it.

    moto's own context begins and ends with everything emptied that the process holds: also the buckets and
    tables of a server that tests of a whole worker share.
    """
    mock = mock_aws()
    _forget_secrets()
    mock.start(reset=False)
    try:
        yield
    finally:
        mock.stop(remove_data=False)
        _forget_secrets()


def _forget_secrets() -> None:
    for account in get_backend("secretsmanager").values():
        for region in account.values():
            region.reset()
