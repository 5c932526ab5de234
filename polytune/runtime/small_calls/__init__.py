"""NumPy's functions on small arrays in compiled code, where a call of NumPy costs many times what it computes.

Each form takes the row of words by which ``polytune.runtime.intrinsics.library`` describes a call, and returns 1 where
it has written the results.  Where it returns 0 nothing is written and NumPy makes the call: of arrays that are not
small or not all of one type, of singular matrices, of which NumPy's exception tells, of numbers that are infinite or
NaN where NumPy's results depend on how it computes, and of what can be sorted in several ways.

``rows`` reads and writes the words and the arrays, ``matrices`` and ``sorting`` are the forms, ``calls`` makes them.

A form is compiled when it is first called, and kept on disk.  Compiled code has its address from a table, which has a
word for each type of elements, 0 as long as there is no form.
"""
