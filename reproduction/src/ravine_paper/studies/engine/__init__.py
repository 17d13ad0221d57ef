"""Machinery shared by all studies: tasks in processes, stored results, tables and figures."""
