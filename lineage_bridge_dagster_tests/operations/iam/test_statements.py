"""A policy holds each permission once, and its size is what IAM counts."""

from __future__ import annotations

import json

from lineage_bridge_dagster.operations.iam.statements import allow, policy, size


def sids(*statements: object) -> list[str]:
    return [statement["Sid"] for statement in policy(statements)["Statement"]]  # type: ignore[arg-type]


def test_statement_that_adds_nothing_is_left_out_in_any_order() -> None:
    small, large = (
        allow("A", ["s3:GetObject"], ["x"]),
        allow("B", ["s3:GetObject", "s3:PutObject"], ["x", "y"]),
    )
    assert sids(small, large) == sids(large, small) == ["B"]


def test_conditional_statement_does_not_replace_an_unconditional_one() -> None:
    always = allow("A", ["s3:ListBucket"], ["x"])
    sometimes = allow("B", ["s3:ListBucket"], ["x"], {"StringLike": {"s3:prefix": ["p/*"]}})
    assert sids(always, sometimes) == sids(sometimes, always) == ["A"]


def test_overlapping_statements_are_both_kept() -> None:
    one, other = allow("A", ["s3:GetObject"], ["x"]), allow("B", ["s3:PutObject"], ["x"])
    assert sids(one, other) == ["A", "B"]


def test_size_counts_no_white_space() -> None:
    document = policy([allow("A", ["s3:GetObject"], ["arn:aws:s3:::b/*"])])
    assert size(document) == len("".join(json.dumps(document, indent=4).split()))
