"""The partitions of AWS, each with its own domain: those that botocore knows."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from botocore.loaders import create_loader


class Partition(NamedTuple):
    """A partition.

    Attributes:
        id: as in ARNs.
        regions: a pattern of the names of its regions.
        domain: below which services have their endpoints, such as `amazonaws.com`.
        dual_stack_domain: the domain of endpoints that also accept IPv6.
    """

    id: str
    regions: re.Pattern[str]
    domain: str
    dual_stack_domain: str


@cache
def partitions() -> tuple[Partition, ...]:
    """All partitions, the commercial one first."""
    return tuple(
        Partition(
            each["id"],
            re.compile(each["regionRegex"]),
            each["outputs"]["dnsSuffix"],
            each["outputs"]["dualStackDnsSuffix"],
        )
        for each in create_loader().load_data("partitions")["partitions"]
    )


def _partition(region: str) -> Partition:
    """A region's partition; the commercial one for a region that is not known."""
    return next((each for each in partitions() if each.regions.fullmatch(region)), partitions()[0])


def partition_of(region: str) -> str:
    """The partition of a region, as in ARNs: `us-gov-west-1` -> `aws-us-gov`."""
    return _partition(region).id


def glue_arn(region: str, account: str) -> str:
    """The ARN of an account's Glue catalog in a region, up to what is in it.

    >>> glue_arn("cn-north-1", "111122223333")
    'arn:aws-cn:glue:cn-north-1:111122223333'
    """
    return f"arn:{partition_of(region)}:glue:{region}:{account}"


def domain_of(region: str) -> str:
    """The domain of a region's endpoints.

    >>> domain_of("us-east-1"), domain_of("eusc-de-east-1"), domain_of("us-iso-east-1")
    ('amazonaws.com', 'amazonaws.eu', 'c2s.ic.gov')
    """
    return _partition(region).domain


def domains() -> tuple[str, ...]:
    """The domains of all partitions."""
    return tuple(sorted({name for each in partitions() for name in each[2:]}))
