"""Teams of threads, and the context that a version is called with."""
