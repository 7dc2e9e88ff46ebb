"""Problems and answers of public data sets, as `warpgym eval` takes them (docs/guide/datasets.md).

    python3 -m warpgym.convert --problems problems/ --batch batch.jsonl KernelBook/

files.py reads rows, sources.py knows the columns of each data set, command.py writes.
"""
