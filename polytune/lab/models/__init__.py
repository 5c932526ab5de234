"""The models that the searches of recordings learn."""
