"""Work in parts: a store of finished parts, engines that compute missing ones, and the two jobs that use them."""
