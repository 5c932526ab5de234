"""The searches of a finite space, one a file, which is called as the search is."""
