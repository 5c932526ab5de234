"""Counts of what a kernel computes, touches and reuses, as exact functions of its parameters."""
