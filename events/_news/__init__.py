"""Behind `events.corpus`: tables, fields, archives."""
