"""Metrics: pure functions from outcomes and records to estimates with intervals."""
