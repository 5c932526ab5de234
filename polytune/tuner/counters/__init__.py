"""What a configuration does, counted: names of counters, what they say of bottlenecks, and models of them."""
