"""Benchmarks: each prints its figures and writes JSON to bench/results/."""
