"""The facts about a kernel's orders: dependences, what a band may do, and whether a schedule is legal."""
