"""Error of rules: what is known of other rules that readers have checked, and what it means for a count."""
