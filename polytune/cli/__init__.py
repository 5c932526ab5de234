"""The program ``polytune``: one file for each command, on top of the public face and the pipeline."""
