#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""step.py JSON LOG: holds what `rawprof explain PROGRAM --step --format json` printed against the verifier's log that it
was made from, line by line: each visit in its order, all that the log says of the state there. Says what differs, a line
each; nothing is good."""
import json
import re
import sys


def words(text):
    """What a line says of the state: {frame: {place: value}}, and the frames that it names."""
    out, frame, at, depth = {}, 0, 0, 0
    tokens, begin = [], 0
    for at, c in enumerate(text + " "):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == " " and depth <= 0:
            tokens.append(text[begin:at])
            begin = at + 1
    for token in tokens:
        if re.fullmatch(r"frame\d+:", token):
            frame = int(token[5:-1])
        m = re.fullmatch(r"(R\d+|fp-\d+)(?:_\w+)?=(.+)", token)
        if m:
            out.setdefault(frame, {})[m[1]] = m[2]
    return out


class Walk:
    def __init__(self, j):
        self.j = j
        self.at = -1  # the step that the log is at
        self.wrong = []

    def complain(self, what):
        self.wrong.append(f"step {self.at}: {what}")

    def state(self, number):
        j = self.j
        return [{p: j["values"][v]["raw"] for p, v in j["frames"][f].items() if p != "callsite"} for f in j["states"][number]]

    def advance(self, insn, safe):
        self.at += 1
        if self.at >= len(self.j["steps"]):
            self.complain(f"the log goes on at {insn}")
            return False
        step = self.j["steps"][self.at]
        if step["insn"] != insn or step.get("safe", False) != safe:
            self.complain(f"at {step['insn']}, and the log at {insn}")
            return False
        return True

    def compare(self, number, said, whole):
        """whole: the last frame that is named has nothing else."""
        has = self.state(number)
        for frame, places in said.items():
            if frame >= len(has):
                self.complain(f"no frame {frame}")
                continue
            for place, value in places.items():
                if has[frame].get(place, "").replace("P", "") != value.replace("P", ""):
                    self.complain(f"frame {frame}: {place} is {has[frame].get(place)}, the log says {value}")
            if whole and set(has[frame]) != set(places):
                self.complain(f"frame {frame}: {sorted(set(has[frame]) ^ set(places))}")
        if whole and said and len(has) != max(said) + 1:
            self.complain(f"{len(has)} frames, the log says {max(said) + 1}")


def check(j, log):
    w = Walk(j)
    pending = None
    visits = 0
    for line in log:
        line = line.rstrip("\n")
        visit = re.match(r"(\d+): (\(..\)[^;]*)(?:;(.*))?$", line)
        popped = re.match(r"from (\d+) to (\d+): ?(.*)$", line)
        state = re.match(r"(\d+): ((?:frame\d+: )?(?:R\d+|fp-\d+)\S*=.*)$", line)
        if visit:
            visits += 1
            if not w.advance(int(visit[1]), False):
                return w.wrong
            step = j["steps"][w.at]
            if pending is not None:
                w.compare(step["before"], pending, True)
                pending = None
            if visit[3] and "after" in step:
                w.compare(step["after"], words(visit[3]), False)
        elif popped and popped[3] == "safe":
            if not w.advance(int(popped[2]), True):
                return w.wrong
        elif popped and popped[3]:
            pending = words(popped[3])
        elif re.match(r"\d+: safe$", line):
            if not w.advance(int(line.split(":")[0]), True):
                return w.wrong
        elif state and w.at >= 0 and pending is None and "after" in j["steps"][w.at]:
            w.compare(j["steps"][w.at]["after"], words(state[2]), False)
    if w.at + 1 != len(j["steps"]):
        w.complain(f"{len(j['steps'])} steps, the log has {w.at + 1}")
    for path in j["paths"]:
        if path["end"] != "safe":
            continue
        last = j["steps"][path["last"]]
        if "covered" not in path:
            w.wrong.append(f"step {path['last']}: safe at {last['insn']}, and no state covers it")
            continue
        by = j["steps"][path["covered"]["by"]]
        if by["insn"] != last["insn"] or path["covered"]["by"] >= path["last"]:
            w.wrong.append(f"step {path['last']}: covered by step {path['covered']['by']}, which is elsewhere")
        now, then = w.state(last["before"]), w.state(by["before"])
        for place in path["covered"]["same"]:
            frame, name = (int(place[5:place.index(".")]), place.split(".")[1]) if place.startswith("frame") else (0, place)
            a, b = now[frame].get(name), then[frame].get(name)
            kinds = [re.sub(r"\(.*", "", x or "").lstrip("P") for x in (a, b)]
            if name[0] == "R" and kinds[0] != kinds[1] and not all(re.match(r"-?\d|scalar", k) for k in kinds):
                w.wrong.append(f"step {path['last']}: {place} is {a}, and was {b}")
    return w.wrong


with open(sys.argv[1], encoding="ascii") as text, open(sys.argv[2], encoding="ascii", errors="replace") as log_text:
    print("\n".join(check(json.load(text), log_text)[:20]))
