"""Fuzzing: thousands of generated inputs, each a short Python script that is also its own reproducer.

    make fuzz FUZZ="--inputs 10000 --seed 0 --minutes 20"

`targets` writes the scripts, `child` runs them in processes with limits, `judge` decides which outcomes are findings,
and `report` prints them. docs/fuzzing.md describes the inputs and the findings.
"""
