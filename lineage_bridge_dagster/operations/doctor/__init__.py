"""`lineage-bridge doctor`: checks of credentials, permissions, keys, tables and this machine.

A check reads and changes nothing. It yields findings, each with what was tried, what came back and what to
do; the runner runs all checks concurrently, and none can stop the others.
"""
