"""What the benchmarks share: the report, the problems and the processes."""
