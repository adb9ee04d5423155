"""One-time setup of an AWS account: plan from its current state, apply, record, undo."""
