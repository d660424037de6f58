# SPDX-License-Identifier: BSD-2-Clause
"""What a profile's JSON says, for the shell.

mem_sites.py FILE PREFIX: of the functions whose names begin with PREFIX, a line for each with the sums of its values,
over the stacks in which it is the innermost of them.
mem_sites.py FILE --ledger: "fired N", "kept N", "lost N", "closes 1", and a line for each of its lines.
"""
import json
import sys


def sites(profile, prefix):
    names = [frame.get("name", "") for frame in profile["frames"]]
    sums = {}
    for sample in profile["samples"]:
        for frame in profile["stacks"][sample["stack"]]:
            if names[frame].startswith(prefix):
                values = sums.setdefault(names[frame], [0] * len(sample["values"]))
                for i, value in enumerate(sample["values"]):
                    values[i] += value
                break
    for name in sorted(sums):
        print(name, *sums[name])


def books(ledger):
    print("fired", ledger["fired"])
    print("kept", ledger["kept"])
    print("closes", int(ledger["closes"]))
    print("lost", sum(line["count"] for line in ledger["lines"] if line["fate"] == "lost"))
    for line in ledger["lines"]:
        print(line["name"], line["count"])


with open(sys.argv[1], encoding="utf-8") as f:
    document = json.load(f)
if sys.argv[2] == "--ledger":
    books(document["ledger"])
else:
    sites(document, sys.argv[2])
