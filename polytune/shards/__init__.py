"""Shards: kernels called with arrays in chunks, cut at the chunks' borders into tasks of Dask.

A *shard* is a part of a region between limits along the leading members of its band, as a part for a platform is. The
compiler has said, as functions of the limits, which boxes of each array it reads and writes; so a shard is a task that
takes these boxes, runs the region's compiled code on them and gives what it has written.  Nothing here is imported
before a kernel is called with such an array.
"""
