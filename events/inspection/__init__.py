"""What files hold: checks of documents, rules and lexicons, and why triggers make events."""
