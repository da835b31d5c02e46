"""Makes the files and records that the tests use, in code: nothing is stored, nothing is copied from elsewhere."""
