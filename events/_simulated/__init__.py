"""Behind `events.simulate`: story, text, parse notation, countries."""
