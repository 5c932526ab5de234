"""The tables and figures of the papers that polytune's tuning follows, made again from recordings.

Each paper is a file, which makes items: an item is a table or a figure there, and what polytune has beside it.
"""
