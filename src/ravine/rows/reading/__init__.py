"""Reading of rows from files and from arrays of other libraries, chunk by chunk."""
