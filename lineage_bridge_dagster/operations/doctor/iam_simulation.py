"""Whether IAM lets the caller write: its simulator is asked, as a write cannot be tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, warning
from lineage_bridge_dagster.operations.doctor.refusals import aws_failure, error_code


def simulation_of(context: Context, actions: Sequence[str]) -> str:
    """What is tried, as a phrase.

    Raises:
        ClientError, BotoCoreError: AWS did not say who the caller is.
    """
    return f"iam:SimulatePrincipalPolicy of {', '.join(actions)} for {context.caller().principal}."


def simulated(
    context: Context, actions: Sequence[str], resources: Sequence[str], *, by_hand: str
) -> Mapping[tuple[str, str], str] | Finding:
    """IAM's decision (`allowed`, `implicitDeny` or `explicitDeny`) by action and resource; else why not.

    Args:
        actions: such as `glue:UpdateTable`.
        resources: ARNs, or `*` alone.
        by_hand: how to find out without the simulator, as a clause.
    """
    principal, tried = context.caller().principal, simulation_of(context, actions)
    if principal.endswith(":root"):
        return warning(
            tried,
            "The caller is the account's root user, which IAM cannot simulate; it is allowed everything.",
            "Use a role with a least-privilege policy instead of the root user.",
        )
    try:
        answer = context.client("iam").simulate_principal_policy(
            PolicySourceArn=principal, ActionNames=list(actions), ResourceArns=list(resources)
        )
    except (ClientError, BotoCoreError) as error:
        return _not_simulated(error, tried, actions, by_hand)
    return {
        (result["EvalActionName"], str(one.get("EvalResourceName"))): str(
            one.get("EvalResourceDecision") or one.get("EvalDecision")
        )
        for result in answer["EvaluationResults"]
        for one in result.get("ResourceSpecificResults") or [result]
    }


def _not_simulated(error: Exception, tried: str, actions: Sequence[str], by_hand: str) -> Finding:
    if error_code(error) == "NoSuchEntity":
        return warning(
            tried,
            f"Not verified, because the simulator does not find the caller's role: {error}",
            "The ARN of a role with a path differs from that of its session. Simulate it by hand: `aws iam "
            f"simulate-principal-policy --policy-source-arn ROLE_ARN --action-names {' '.join(actions)}`.",
        )
    found = aws_failure(error, "iam:SimulatePrincipalPolicy on the caller", tried)
    return warning(
        tried,
        f"{', '.join(actions)} cannot be tried without writing, and the simulator gave no answer. "
        f"{found.result}",
        "Allow iam:SimulatePrincipalPolicy to verify it (`lineage-bridge iam-policy --doctor` prints the "
        f"policy), or {by_hand}.",
    )
