"""Simulated news whose true events are known."""
