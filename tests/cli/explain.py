#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain.py FILE: looks at what `rawprof explain PROGRAM --xlated --format json` printed, and says
what is wrong with it, a line each; nothing is good."""
import json
import re
import sys


def complain(what):
    print(what)


def reached_statically(insns):
    """Slots that jumps and falling through lead to from the beginning, calls and callbacks included."""
    by_slot = {i["insn"]: i for i in insns}
    todo, seen = [insns[0]["insn"]], set()
    while todo:
        at = todo.pop()
        if at in seen or at not in by_slot:
            continue
        seen.add(at)
        text = by_slot[at]["text"]
        code = int(text[1:3], 16)
        behind = at + len(by_slot[at]["bytes"]) // 16
        jump = re.search(r"goto(?:l)? pc([+-]\d+)", text)
        call = re.search(r"call pc([+-]\d+)", text)
        if jump:
            todo.append(at + 1 + int(jump.group(1)))
        if call:
            todo.append(at + 1 + int(call.group(1)))
        if code == 0x18 and int(by_slot[at]["bytes"][2:4], 16) >> 4 == 4:  # LD_FUNC
            imm = int.from_bytes(bytes.fromhex(by_slot[at]["bytes"][8:16]), "little", signed=True)
            todo.append(at + 1 + imm)
        if code != 0x95 and not (jump and code in (0x05, 0x06)):
            todo.append(behind)
    return seen


def check(program):
    insns = program["instructions"]
    name = program["program"]
    steps = sum(i["visits"] + i.get("pruned", 0) for i in insns)
    if steps != program["verifier"]["processed"]:
        complain(f"{name}: {steps} steps at its instructions, {program['verifier']['processed']} counted by the kernel")
    reached = reached_statically(insns)
    for i in insns:
        where = f"{name}, instruction {i['insn']}: {i['text']}"
        if i["insn"] in reached and not i["visits"] and i.get("xlated"):
            complain(f"{where}: no state, though it is kept in the program")
        if i["visits"] and i.get("before", {}).get("R10") != "fp0":
            complain(f"{where}: no state")
        if i["visits"] and i["insn"] and not i["from"]:
            complain(f"{where}: came from nowhere")
        for value in list(i.get("before", {}).values()) + list(i.get("after", {}).values()):
            if not value or value.count("(") != value.count(")"):
                complain(f"{where}: '{value}'")
        if not i.get("file") or not i.get("line") or not i.get("source"):
            complain(f"{where}: no source line")
    for m in program["maps"]:
        for part in ("key", "value"):
            at = 0
            for f in m.get(part, {}).get("fields", []):
                if f["offset"] < at:
                    complain(f"{name}, map {m['name']}: {f['name']} lies before its neighbour")
                at = f["offset"] + f["size"]
            if at > m[part + "_size"]:
                complain(f"{name}, map {m['name']}: {part} of {at} bytes in {m[part + '_size']}")


with open(sys.argv[1], encoding="ascii") as text:
    check(json.load(text))
