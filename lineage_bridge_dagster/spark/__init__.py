"""The data pipeline: sessions, chains at scale, DataFrames of topics, tables and chains.

Importing this package starts no JVM; a session starts when an asset first needs one.
"""
