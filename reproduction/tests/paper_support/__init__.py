"""What the tests of the paper share."""
