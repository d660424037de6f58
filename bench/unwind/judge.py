#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
judge.py NAME PROFILE.json PERF.txt PERF-BYTES USER.json USER-IDLE.json COST.json IDLE.json FAST.json FAST-IDLE.json
[CODE...]: one row of the table of run.sh.

PROFILE.json	by `rawprof cpu --format json`, while perf record looked at the same run
PERF.txt	what `perf script -F comm,ip,sym` said of what perf wrote, PERF-BYTES of it
COST.json	by rawprof alone, for its own cost
IDLE.json	by a second rawprof at the same time, whose process did nothing: what it costs to say no
USER.json	the same two, without the stacks of the kernel
FAST.json	the same two at many samples a second
CODE		"ADDRESS FILE": code that a JIT made, as it was in memory

judge.py --cost COST.json IDLE.json: frames and cost alone.
judge.py --whole NAME PROFILE.json: a row of the table of more.sh.
"""
import json
import re
import struct
import sys
import zlib

# The outermost function of a process or of a thread, as debug symbols name it.
OUTERMOST = re.compile(r"_start$|__libc_start_(call_)?main|main$|(__)?clone|start_thread$")


def is_call(code, machine):
    """Whether a call instruction ends where these bytes end."""
    if machine == 183:  # EM_AARCH64: bl; blr, and its forms that check a signature
        word = struct.unpack("<I", code[-4:])[0] if len(code) >= 4 else 0
        return word & 0xFC000000 == 0x94000000 or word & 0xFEFFF000 == 0xD63F0000
    if len(code) >= 5 and code[-5] == 0xE8:
        return True
    for length in range(2, min(8, len(code) + 1)):  # ff /2: call r/m64
        if code[-length] == 0xFF and length == 2 + operand_bytes(code[-length + 1 :]):
            return True
    return False


def operand_bytes(rest):
    """Bytes behind the ModR/M byte that rest begins with; -1 if it is none of a call."""
    mod, reg, rm = rest[0] >> 6, rest[0] >> 3 & 7, rest[0] & 7
    if reg != 2:
        return -1
    sib = mod != 3 and rm == 4
    if sib and len(rest) < 2:
        return -1
    wide = mod == 2 or mod == 0 and (rm == 5 or sib and rest[1] & 7 == 5)
    return sib + (4 if wide else mod == 1)


class Code:
    """Bytes of programs: from the files that are mapped, or as a JIT's memory was dumped."""

    def __init__(self, dumps):
        self.files, self.dumps, self.known = {}, [], {}
        for dump in dumps:
            start, path = dump.split(" ", 1)
            with open(path, "rb") as f:
                self.dumps.append((int(start, 16), f.read()))

    def before(self, frame):
        """Up to 7 bytes in front of the address, and the machine; None if it is not known."""
        address = int(frame["address"], 16)
        for start, data in self.dumps:
            if start < address <= start + len(data):
                return data[max(0, address - start - 7) : address - start], 62
        path, place = frame.get("module"), frame.get("map")
        if not path or not place or not path.startswith("/"):
            return None
        if path not in self.files:
            try:
                with open(path, "rb") as f:
                    self.files[path] = f.read()
            except OSError:
                self.files[path] = b""
        data = self.files[path]
        at = address - int(place["start"], 16) + place["offset"]
        if data[:4] != b"\x7fELF" or at > len(data):
            return None
        return data[max(0, at - 7) : at], struct.unpack_from("<H", data, 18)[0]

    def follows_call(self, number, frame):
        if number not in self.known:
            found = self.before(frame)
            self.known[number] = found and is_call(*found)
        return self.known[number]


def is_user(frame):
    return frame["kind"] in ("user", "jit")


class Profile:
    def __init__(self, path):
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            profile = json.load(f)
        self.frames, self.cost = profile["frames"], profile["cost"]
        self.kept = profile["ledger"]["kept"]
        self.note = profile["info"].get("note", "")
        self.stacks = {}
        for sample in profile["samples"]:
            stack = [i for i in profile["stacks"][sample["stack"]] if is_user(self.frames[i])]
            if stack:
                stack = tuple(stack)
                self.stacks[stack] = self.stacks.get(stack, 0) + sample["values"][0]
        self.total = sum(self.stacks.values())

    def whole(self):
        """Samples whose walk ended at a rule that says so: all but those that the note lists."""
        rest = re.findall(r", (\d+) ([a-z][^,]*)", self.note)
        return self.total - sum(int(n) for n, _ in rest), "; ".join(f"{n} {why}" for n, why in rest)

    def own_us(self, idle):
        """BPF time for each sample that was kept, in us; that of the others is taken off."""
        other = idle.cost["bpf_ns"] / max(1, idle.cost["bpf_runs"])
        others = self.cost["bpf_runs"] - self.kept
        return (self.cost["bpf_ns"] - other * others) / max(1, self.kept) / 1000

    def depth(self):
        return sum(len(s) * n for s, n in self.stacks.items()) / max(1, self.total)

    def calls(self, code):
        """Return addresses seen, those not behind a call, and those whose code is not known."""
        seen = wrong = unknown = 0
        places = {}
        for stack, n in self.stacks.items():
            for at, number in enumerate(stack):
                frame = self.frames[number]
                # The innermost was left by a system call, if at all. A frame that a signal interrupted
                # is no return address; what is below it returns into the trampoline, which nobody called.
                if at == 0 or not frame["return"]:
                    continue
                if at + 1 < len(stack) and not self.frames[stack[at + 1]]["return"]:
                    continue
                behind = code.follows_call(number, frame)
                seen += n
                if behind is None:
                    unknown += n
                elif not behind:
                    wrong += n
                    where = f"{frame.get('name')} {frame['address']} of {frame.get('module')}"
                    places[where] = places.get(where, 0) + n
        for where, n in sorted(places.items(), key=lambda item: -item[1])[:5]:
            print(f"judge: {n} times no call before {where}", file=sys.stderr)
        return seen, wrong, unknown


def perf_share(path):
    """Samples of perf with user frames, and how many of them reach the outermost function."""
    total = whole = 0
    with open(path, encoding="utf-8", errors="replace") as f:
        for block in f.read().split("\n\n"):
            lines = block.strip("\n").split("\n")
            frames = [line.split(None, 1) for line in lines[1:] if line.startswith("\t")]
            names = [f[1] if len(f) > 1 else "" for f in frames if not f[0].startswith("ffff")]
            if names:
                total += 1
                whole += any(OUTERMOST.match(n.split("+")[0]) for n in names[-3:])
    return whole, total


def main(name, profile_path, perf_path, perf_bytes, user_path, user_idle_path, cost_path, idle_path, fast_path, fast_idle_path, *dumps):
    profile, user, cost, fast = Profile(profile_path), Profile(user_path), Profile(cost_path), Profile(fast_path)
    seen, wrong, unknown = profile.calls(Code(dumps))
    whole, why = profile.whole()
    perf_whole, perf_total = perf_share(perf_path)
    perf = f"{100 * perf_whole / perf_total:.2f}" if perf_total else "-"
    with open(profile_path, "rb") as f:
        text = f.read()
    packed = len(zlib.compress(text))
    print(
        f"| {name} | {profile.total:,} | {100 * whole / max(1, profile.total):.2f} | {perf} "
        f"| {profile.depth():.1f} | {seen:,} | {wrong:,} | {unknown:,} "
        f"| {user.own_us(Profile(user_idle_path)):.2f} | {user.depth():.1f} "
        f"| {cost.own_us(Profile(idle_path)):.2f} | {cost.depth():.1f} "
        f"| {fast.own_us(Profile(fast_idle_path)):.2f} | {fast.depth():.1f} "
        f"| {len(text) / 1000:,.0f} | {packed / 1000:,.0f} | {int(perf_bytes) / 1000:,.0f} "
        f"| {int(perf_bytes) / packed:,.0f} | {why or '-'} |"
    )


if __name__ == "__main__":
    if sys.argv[1] == "--cost":
        run, idle = Profile(sys.argv[2]), Profile(sys.argv[3])
        print(f"| {run.depth():.1f} | {run.own_us(idle):.2f} |")
    elif sys.argv[1] == "--whole":
        one = Profile(sys.argv[3])
        reached, others = one.whole()
        seen, wrong, unknown = one.calls(Code([]))
        print(
            f"| {sys.argv[2]} | {one.total:,} | {100 * reached / max(1, one.total):.1f} "
            f"| {seen:,} | {wrong:,} | {unknown:,} | {others or '-'} |"
        )
    else:
        main(*sys.argv[1:])
