"""What the searches of recordings learn."""
