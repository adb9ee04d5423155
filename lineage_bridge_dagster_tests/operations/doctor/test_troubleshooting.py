"""Each symptom on the page for troubleshooting has checks of the doctor, and these have tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

from lineage_bridge_dagster.operations.doctor.checks import all_checks

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "troubleshooting.md"

#: What integrations with Glue document as troubleshooting and pitfalls.
DOCUMENTED = {
    "EntityNotFoundException",
    "AccessDeniedException",
    "InvalidInputException",
    "wrong resources",
    "wrong region",
    "wrong account",
    "stray keys",
    "name has a dot",
    "description stays empty",
    "might be overwritten",
    "table optimizer",
}
#: Areas of the machine that runs this, which no integration documents.
OF_THIS_MACHINE = {"machine", "network"}


#: The tests of each symptom on the page, in its order.
TESTS: Sequence[Sequence[str]] = [
    [
        "test_a_table_that_is_gone_points_at_region_account_and_lake_formation",
        "test_tables_that_glue_lacks_are_named_with_reason_and_next_step",
    ],
    [
        "test_a_denied_list_does_not_stop_the_reads_of_tables",
        "test_the_simulator_is_asked_for_the_role_behind_the_session",
        "test_a_missing_grant_is_named_with_the_command",
    ],
    [
        "test_a_policy_on_the_wrong_resources_is_told_by_the_resource",
        "test_a_write_that_is_allowed_on_some_resources_only_is_on_the_wrong_ones",
    ],
    [
        "test_a_refused_write_names_its_field_and_the_event_to_look_up",
        "test_an_invalid_input_without_a_field_still_names_the_event",
    ],
    [
        "test_tables_in_another_region_are_counted_and_the_variable_is_named",
        "test_the_region_of_each_bucket_is_asked_for",
    ],
    [
        "test_the_caller_is_named",
        "test_another_accounts_catalog_is_wrong_unless_it_answers",
        "test_credentials_of_another_account_than_the_discoverys_fail",
    ],
    ["test_a_key_that_overrides_a_profile_is_named", "test_keys_that_do_not_belong_together_fail"],
    ["test_names_with_dots_are_shown_in_quotes"],
    ["test_what_the_settings_leave_out_of_pushes_is_named"],
    ["test_parameters_of_others_are_counted_as_kept"],
    ["test_an_optimizer_that_is_on_fails_and_one_that_is_off_does_not"],
    [
        "test_a_mistake_in_the_settings_says_what_to_write",
        "test_a_service_that_requests_are_not_signed_for_is_named",
        "test_a_wrong_clock_is_named",
        "test_a_key_that_tableflows_catalog_refuses_is_named",
        "test_a_token_that_expired_is_named",
    ],
    ["test_a_mistake_in_the_settings_says_what_to_write"],
    ["test_a_catalog_that_takes_no_writes_must_be_read_only_in_the_settings"],
    ["test_what_is_missing_is_named_with_the_command_that_does_it", "test_a_grant_that_was_revoked_is_named"],
    [
        "test_a_key_of_another_plane_is_told_from_a_wrong_one",
        "test_a_key_without_a_role_is_forbidden_and_the_role_is_named",
        "test_missing_and_unused_keys_are_named",
    ],
    ["test_wrong_configuration_and_a_receiver_that_is_down_are_found"],
    ["test_a_source_that_cannot_be_read_is_named"],
    ["test_a_domain_that_refuses_us_is_found_without_a_post"],
    [
        "test_a_call_that_is_refused_is_named",
        "test_a_key_of_ones_own_is_a_warning",
        "test_another_region_than_those_of_the_preview_is_a_warning",
    ],
    [
        "test_a_daemon_with_recent_heartbeats_is_well_and_one_that_stopped_fails",
        "test_a_home_that_is_unset_relative_or_gone_says_what_to_set",
        "test_the_error_of_the_sensors_last_tick_is_shown",
        "test_the_age_of_the_stored_discovery_is_told",
    ],
]


def _rows() -> dict[str, tuple[set[str], set[str]]]:
    """The checks and the tests of each symptom."""
    table = PAGE.read_text().partition("| check |\n")[2].partition("\n\n")[0]
    cells = [row.strip("|").split(" | ") for row in table.splitlines()[1:]]
    return {
        symptom: (_quoted(checks), set(tests)) for (symptom, checks), tests in zip(cells, TESTS, strict=True)
    }


def _quoted(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def test_every_documented_symptom_is_on_the_page() -> None:
    symptoms = " ".join(_rows())
    assert [word for word in sorted(DOCUMENTED) if word not in symptoms] == []


def test_every_symptom_has_checks_that_exist_and_tests_of_them() -> None:
    checks = {check.name: check.run for check in all_checks()}
    tests = {
        node.name
        for file in Path(__file__).parent.glob("test_*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    for symptom, (named, held) in _rows().items():
        assert named, symptom
        assert held, symptom
        assert named <= checks.keys(), symptom
        assert held <= tests, symptom


def test_every_check_of_services_is_on_the_page() -> None:
    """Those of Confluent's planes are one row."""
    named = {check for checks, _ in _rows().values() for check in checks}
    planes = re.compile(r"confluent\.(schema_registry|flink|ksqldb|tableflow)")
    missing = [
        check.name
        for check in all_checks()
        if check.name not in named and check.area not in OF_THIS_MACHINE and not planes.fullmatch(check.name)
    ]
    assert missing == []
