"""SCoP to schedules: dependences, candidate schedules, regions, counts."""
