"""Behind `corefsample.metrics`."""
