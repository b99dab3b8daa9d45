"""Rules and lexicons matched with the parse of a document: described mentions, and mentions that fill roles."""
