"""Files: paths and globs, lines, and outputs that appear when they are complete."""
