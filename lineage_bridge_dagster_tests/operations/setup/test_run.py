"""Setups of an account that answers in the shapes of botocore's service models."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.operations.setup.aws import SetupError
from lineage_bridge_dagster.operations.setup.run import Record
from lineage_bridge_dagster_tests.operations.setup.conftest import Setup
from lineage_bridge_dagster_tests.operations.setup.fake_aws import ACCOUNT, FakeAws, Refused
from lineage_bridge_dagster_tests.operations.setup.targets import CATALOG, PRINCIPAL, target

TABLE = {"Table": {"CatalogId": f"{CATALOG}/metrics", "DatabaseName": "sales", "Name": "orders"}}
EXTERNAL = "AllowFullTableExternalDataAccess"


def refuse(code: str, message: str = "refused", status: int = 400) -> Callable[[object], None]:
    def hook(_parameters: object) -> None:
        raise Refused(code, message, status)

    return hook


def test_showing_the_plan_changes_nothing(fake: FakeAws, setup: Setup) -> None:
    before = fake.snapshot()
    assert len(setup.needed()) == 5
    assert fake.snapshot() == before
    assert fake.changes() == []


def test_all_that_is_needed_is_done_once(fake: FakeAws, setup: Setup) -> None:
    setup.apply()
    assert setup.needed() == []
    done = fake.changes()
    assert done == [
        "CreateCatalog",
        "PutDataLakeSettings",
        "GrantPermissions",
        "GrantPermissions",
        "GrantPermissions",
    ]
    setup.apply()
    assert fake.changes() == done


def test_rollback_leaves_the_account_as_it_was(fake: FakeAws, setup: Setup) -> None:
    fake.namespaces.clear()
    fake.grant(PRINCIPAL, {"Database": {"CatalogId": f"{CATALOG}/metrics", "Name": "other"}}, "DESCRIBE")
    before = fake.snapshot()
    setup.apply(target(data_access_role=f"arn:aws:iam::{ACCOUNT}:role/tables"))
    assert fake.snapshot() != before
    setup.outcomes.clear()
    assert setup.rollback()
    assert fake.snapshot() == before
    assert not setup.path.exists()
    assert {outcome.status for outcome in setup.outcomes} == {"undone"}


def test_rollback_keeps_what_was_there_before(fake: FakeAws, setup: Setup) -> None:
    setup.apply()
    setup.path.unlink()
    fake.grants = []
    fake.grant(PRINCIPAL, TABLE, "SELECT", "DESCRIBE")
    before = fake.snapshot()
    setup.apply()
    assert setup.rollback()
    assert fake.snapshot() == before


def test_settings_of_others_are_written_as_they_were_read(fake: FakeAws, setup: Setup) -> None:
    before = dict(fake.settings)
    setup.apply()
    assert fake.settings == {**before, EXTERNAL: True}


def test_settings_are_read_again_before_they_are_written(fake: FakeAws, setup: Setup) -> None:
    fake.after["CreateCatalog"] = lambda: fake.settings.update(TrustedResourceOwners=["777788889999"])
    setup.apply()
    assert fake.settings["TrustedResourceOwners"] == ["777788889999"]
    assert fake.settings[EXTERNAL] is True


def test_setting_that_another_writer_undoes_is_set_again_and_said(fake: FakeAws, setup: Setup) -> None:
    others = iter([{**fake.settings, "TrustedResourceOwners": []}])

    def overwrite() -> None:
        fake.settings = next(others, fake.settings)

    fake.after["PutDataLakeSettings"] = overwrite
    setup.apply()
    assert fake.settings[EXTERNAL] is True
    assert fake.settings["TrustedResourceOwners"] == []
    assert any("at the same time" in outcome.reason for outcome in setup.outcomes)


def test_setting_that_never_stays_fails_and_names_where_to_look(fake: FakeAws, setup: Setup) -> None:
    fake.after["PutDataLakeSettings"] = lambda: fake.settings.update({EXTERNAL: False})
    with pytest.raises(SetupError, match="did not stay") as caught:
        setup.apply()
    assert "CloudTrail" in caught.value.hint


def test_setting_that_somebody_set_meanwhile_is_not_undone(fake: FakeAws, setup: Setup) -> None:
    fake.after["CreateCatalog"] = lambda: fake.settings.update({EXTERNAL: True})
    setup.apply()
    assert setup.rollback()
    assert fake.settings[EXTERNAL] is True


def test_catalog_that_somebody_made_meanwhile_is_not_undone(fake: FakeAws, setup: Setup) -> None:
    def made(parameters: object) -> None:
        fake.catalogs[CATALOG] = {"Name": "s3tablescatalog"}

    fake.before["CreateCatalog"] = made
    setup.apply()
    assert setup.outcomes[0].status == "skipped"
    assert setup.rollback()
    assert CATALOG in fake.catalogs


def test_grant_waits_until_the_new_catalog_is_visible(fake: FakeAws, setup: Setup) -> None:
    refusals = iter([Refused("EntityNotFoundException"), Refused("EntityNotFoundException")])

    def not_yet(_parameters: object) -> None:
        for refusal in refusals:
            raise refusal

    fake.before["GrantPermissions"] = not_yet
    setup.apply()
    assert len(setup.slept) == 2
    assert setup.needed() == []


def test_denied_step_names_the_action_and_keeps_what_is_done(fake: FakeAws, setup: Setup) -> None:
    fake.before["GrantPermissions"] = refuse(
        "AccessDeniedException", "Insufficient Lake Formation permission(s)"
    )
    with pytest.raises(SetupError, match="lakeformation:GrantPermissions") as caught:
        setup.apply()
    assert "data lake administrator" in caught.value.hint
    assert [change.undo.command("r").split()[2] for change in setup.record] == [
        "delete-catalog",
        "put-data-lake-settings",
    ]
    del fake.before["GrantPermissions"]
    setup.apply()
    assert setup.needed() == []
    assert len(setup.record) == 5


def test_change_that_may_have_been_made_stays_in_the_record(fake: FakeAws, setup: Setup) -> None:
    def cut() -> None:
        raise Refused("InternalServiceException", status=500)

    fake.after["CreateCatalog"] = cut
    with pytest.raises(SetupError):
        setup.apply()
    assert CATALOG in fake.catalogs
    assert setup.rollback()
    assert fake.catalogs == {}


def test_change_that_a_retry_finds_made_is_undone(fake: FakeAws, setup: Setup) -> None:
    """botocore sent the request again after a cut connection: `AlreadyExists` is about its own first one."""

    def retried() -> None:
        raise Refused("AlreadyExistsException", retries=1)

    fake.after["CreateCatalog"] = retried
    setup.apply()
    assert setup.outcomes[0].status == "done"
    assert setup.rollback()
    assert fake.catalogs == {}


def test_killed_process_leaves_no_change_unrecorded(fake: FakeAws, make_setup: Callable[[], Setup]) -> None:
    def killed() -> None:
        raise KeyboardInterrupt

    fake.after["CreateCatalog"] = killed
    with pytest.raises(KeyboardInterrupt):
        make_setup().apply()
    assert make_setup().rollback()
    assert fake.catalogs == {}


def test_namespace_with_tables_of_others_is_kept_and_stays_in_the_record(fake: FakeAws, setup: Setup) -> None:
    fake.namespaces.clear()
    setup.apply()
    fake.namespaces["sales"] = ["made_later"]
    assert not setup.rollback()
    assert fake.namespaces == {"sales": ["made_later"]}
    assert [change.undo.command("r").split()[2] for change in setup.record] == ["delete-namespace"]
    fake.namespaces["sales"] = []
    assert setup.rollback()
    assert fake.namespaces == {}


def test_grant_that_somebody_revoked_is_no_failure(fake: FakeAws, setup: Setup) -> None:
    setup.apply()
    fake.grants.clear()
    assert setup.rollback()
    assert "skipped" in {outcome.status for outcome in setup.outcomes}


def test_table_made_later_is_granted_by_the_next_run(fake: FakeAws, setup: Setup) -> None:
    setup.apply()
    fake.namespaces["sales"].append("refunds")
    (needed,) = setup.needed()
    assert "sales.refunds" in needed
    setup.apply()
    assert len(setup.record) == 6


def test_missing_table_bucket_is_named_with_how_to_create_it(setup: Setup) -> None:
    with pytest.raises(SetupError, match="no table bucket other") as caught:
        setup.steps(target(bucket="other"))
    assert "create-table-bucket --name other" in caught.value.hint


def test_partial_grant_on_columns_is_not_one_on_the_table(fake: FakeAws, setup: Setup) -> None:
    setup.apply()
    fake.grants = [grant for grant in fake.grants if grant["Resource"] != TABLE]
    fake.grant(PRINCIPAL, TABLE, "DESCRIBE", "ALTER", "DELETE", "INSERT")
    (needed,) = setup.needed()
    assert "sales.orders" in needed


def test_record_of_another_place_is_refused(setup: Setup) -> None:
    setup.apply()
    with pytest.raises(ConfigurationError, match="records the setup of here"):
        Record(setup.path, "elsewhere")
    setup.path.write_text("[]")
    with pytest.raises(ConfigurationError, match="not a record"):
        Record(setup.path, "here")
