"""The sections of the page: each file declares one, as ``SECTION``, and is found here."""
