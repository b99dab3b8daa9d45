"""Behind the spaCy component and the bridge to Docs."""
