"""The commands of the program, a module for those of a kind; each parses, calls one function, and prints."""
