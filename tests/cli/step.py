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


def bounds(raw):
    """What the kernel's text lets a number be: (umin, umax, smin, smax, bits known to be 1, bits not known); None: no number."""
    raw = raw.lstrip("P")
    m = re.fullmatch(r"(-?(?:0x)?[0-9a-f]+)", raw)
    if m:
        n = int(m[1], 0)
        u = n % 2**64
        return u, u, u - 2**64 if u >> 63 else u, u - 2**64 if u >> 63 else u, u, 0
    if not raw.startswith("scalar("):
        return None
    said = {"umin": 0, "umax": 2**64 - 1, "smin": -(2**63), "smax": 2**63 - 1}
    text = re.sub(r"var_off=\([^)]*\)", "", raw[7:-1])
    for names, number in re.findall(r"((?:[a-z0-9]+=)+)(-?(?:0x[0-9a-f]+|\d+))", text):
        for name in names.rstrip("=").split("="):
            if name in said:
                n = int(number, 0)
                said[name] = n - 2**64 if name[0] == "s" and n >> 63 > 0 else n
    m = re.search(r"var_off=\((0x[0-9a-f]+); (0x[0-9a-f]+)\)", raw)
    known, unknown = (int(m[1], 16), int(m[2], 16)) if m else (0, 2**64 - 1)
    return said["umin"], said["umax"], said["smin"], said["smax"], known, unknown


def within(now, then):
    """May all that it is now have been then? Of what is no number: is it of the same kind."""
    a, b = bounds(now), bounds(then)
    if (a is None) != (b is None):
        return False
    if a is None:
        ids = r"(ref_obj_)?id=\d+,?"
        return re.sub(ids, "", now) == re.sub(ids, "", then) or "[" in now or ("smin" in then or "umax" in then)
    return a[0] >= b[0] and a[1] <= b[1] and a[2] >= b[2] and a[3] <= b[3] and not a[5] & ~b[5] and a[4] & ~b[5] == b[4]


class Subsumption:
    """Does the state that a step is said to be covered by cover it? By the rules of the verifier, from its log alone: which
    registers are read later, which numbers had to be exact."""

    def __init__(self, j, log):
        self.j = j
        self.live, self.slots = {}, {}
        for line in log:
            m = re.match(r" *(?:\d+ +)?(\d+): ([.0-9]{10}) \(", line)
            if m:
                self.live[int(m[1])] = m[2]
            m = re.match(r"\(.*\) frame (\d+) insn (\d+) \+live (.*)", line)
            if m:
                self.slots.setdefault((int(m[1]), int(m[2])), set()).update(f"fp{s}" for s in m[3].strip().split(","))
        self.exact = {}
        for chain in j["precise"]:
            for mark in chain["marks"]:
                self.exact.setdefault(mark[0] + 1, set()).update(mark[1:])

    def reads(self, frames, frame, place, insn):
        """Is it read from there on? Frames below the last go on behind their calls."""
        at = insn if frame + 1 == len(frames) else frames[frame + 1].get("callsite", insn)
        if place[0] == "R":
            return place == "R10" or at not in self.live or self.live[at][int(place[1:])] != "."
        return place in self.slots.get((frame, at), ())

    def wrong(self, last, by, covered):
        steps, j = self.j["steps"], self.j
        frames = [j["frames"][f] for f in j["states"][steps[last]["before"]]]
        old = [j["frames"][f] for f in j["states"][steps[by]["before"]]]
        if len(frames) != len(old):
            return f"{len(old)} frames, now {len(frames)}"
        said = {place: how for how in ("same", "within", "imprecise", "unused") for place in covered[how]}
        for f, has in enumerate(old):
            for place, value in has.items():
                if place == "callsite":
                    if frames[f].get("callsite") != value:
                        return f"frame {f} was called from elsewhere"
                    continue
                name = place if not f else f"frame{f}.{place}"
                then, how = j["values"][value]["raw"], said.get(name)
                now = j["values"][frames[f][place]]["raw"] if place in frames[f] else None
                if how is None:
                    return f"{name} is not accounted for"
                if how == "unused" and self.reads(frames, f, place, steps[last]["insn"]):
                    return f"{name} is said not to be needed, and is read"
                if how == "imprecise" and (now is None or (place[0] == "R" and None in (bounds(now), bounds(then)))):
                    return f"{name} is no number: {then}, now {now}"
                if how == "imprecise" and name in self.exact.get(by, ()):
                    return f"{name} had to be exact"
                if how in ("same", "within") and place[0] == "R" and (now is None or not within(now, then)):
                    return f"{name} was {then}, and is {now}"
        return None


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
    subsumption = Subsumption(j, log)
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
        wrong = subsumption.wrong(path["last"], path["covered"]["by"], path["covered"])
        if wrong:
            w.wrong.append(f"step {path['last']}: step {path['covered']['by']} does not cover it: {wrong}")
    return w.wrong


with open(sys.argv[1], encoding="ascii") as text, open(sys.argv[2], encoding="ascii", errors="replace") as log_text:
    print("\n".join(check(json.load(text), list(log_text))[:20]))
