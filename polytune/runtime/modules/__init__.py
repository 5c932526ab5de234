"""Generated modules: kept on disk, compiled when they are wanted, trusted only where they are one's own."""
