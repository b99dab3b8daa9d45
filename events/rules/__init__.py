"""Rules: triggers, how a mention is described as an actor, and which mentions fill which role."""
