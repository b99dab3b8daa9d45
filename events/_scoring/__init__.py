"""Behind `corefsample score`."""
