"""What the engine knows of a language: a folder of resources each, and which language a document is in."""
