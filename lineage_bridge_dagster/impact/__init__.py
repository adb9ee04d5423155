"""What breaks if this changes: a world and changes -> the affected nodes, to the column. Pure.

`world.py` (what exists), `change.py` (what is to change) and `report.py` (the result) are the interface of
this room, and `analysis.py` is its entry point. Everything else is internal.
"""
