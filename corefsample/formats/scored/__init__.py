"""Pre-scored mention files: JSON Lines and Parquet."""
