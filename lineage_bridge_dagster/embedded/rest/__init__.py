"""Iceberg REST catalogs: Apache Iceberg's own servlet in a JVM, behind gates that check who asks.

`catalogs` hosts the catalogs, which check neither signatures nor tokens; `gate` is the only way to them, in
the shape of Glue's Iceberg endpoint (SigV4) and of Tableflow's catalog (OAuth2).
"""
