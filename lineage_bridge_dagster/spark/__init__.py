"""The data pipeline: sessions, chains at scale, DataFrames of topics, tables and chains.

Importing this package starts no JVM; a session starts when one is first asked for.
"""
