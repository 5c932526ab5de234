"""Array expressions as loops: whole arrays, slices, and NumPy's functions of them, before anything polyhedral.

An expression of arrays is a shape, with extents that are affine in sizes and loop variables, and a function from the
subscripts of an element to its value (``values``).  Assignments make loops over the shape (``stores``); what is needed
several times, as a sum, is computed into a local array first (``temporaries``).  Shapes whose agreement isl cannot
prove become conditions that each call is checked for (``sizes``).
"""
