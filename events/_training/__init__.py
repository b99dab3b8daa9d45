"""Behind `corefsample train`."""
