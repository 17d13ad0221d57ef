"""Study of the data set S1 from many random starts: SQP in (v, b) against projection pursuit."""
