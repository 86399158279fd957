"""The paper, executable: ``python -m benchmarks.paper --help``.

One module an experiment, with public names of the library only; `printed.json` holds the numbers
that the paper prints, with table and row.
"""
