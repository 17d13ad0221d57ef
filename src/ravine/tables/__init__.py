"""Tables: read from files of any kind, columns chosen, features prepared for an estimator."""
