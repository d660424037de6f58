# SPDX-License-Identifier: BSD-2-Clause
"""What a profile's JSON says, for the shell.

mem_sites.py FILE PREFIX: of the functions whose names begin with PREFIX, a line for each with the sums of its values,
over the stacks in which it is the innermost of them.
mem_sites.py FILE --each NAME...: of each of these functions a line, as if its name had been the PREFIX.
mem_sites.py FILE --ledger: "fired N", "kept N", "lost N", "closes 1", and a line for each of its lines.
"""
import json
import sys


def sums_of(profile, prefix):
    names = [frame.get("name", "") for frame in profile["frames"]]
    sums = {}
    for sample in profile["samples"]:
        for frame in profile["stacks"][sample["stack"]]:
            if names[frame].startswith(prefix):
                values = sums.setdefault(names[frame], [0] * len(sample["values"]))
                for i, value in enumerate(sample["values"]):
                    values[i] += value
                break
    return sums


def sites(profile, prefix):
    for name, values in sorted(sums_of(profile, prefix).items()):
        print(name, *values)


def each(profile, names):
    for name in names:
        sums = sums_of(profile, name)
        if name in sums:
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
elif sys.argv[2] == "--each":
    each(document, sys.argv[3:])
else:
    sites(document, sys.argv[2])
