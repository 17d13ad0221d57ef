"""Reading rows from files and other arrays, block by block."""
