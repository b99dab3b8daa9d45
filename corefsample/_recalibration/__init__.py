"""Behind `corefsample.recalibration`."""
