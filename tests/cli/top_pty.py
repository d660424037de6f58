# SPDX-License-Identifier: BSD-2-Clause
"""top_pty.py COLUMNS ROWS STEP... -- COMMAND...: runs a command in a terminal of its own.

A step is keys ("=q"), a pause in seconds ("0.5"), a text that the screen has to show within 30 s ("?CPU"), a size
("@120x40"), a signal ("!TERM"), or "close": the terminal goes away. Prints "missing TEXT" of what did not come; at the
end "status N", "modes same" or "modes differ", and the screens' bytes to the file in $TOP_BYTES."""
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

split = sys.argv.index("--")
columns, rows = int(sys.argv[1]), int(sys.argv[2])
steps, command = sys.argv[3:split], sys.argv[split + 1:]
master, slave = pty.openpty()


def resize(c, r):
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", r, c, 0, 0))


resize(columns, rows)
before = termios.tcgetattr(slave)
pid = os.fork()
if not pid:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.close(master)
    os.execvp(command[0], command)
seen, cells = b"", {}


def draw(data):
    """Only what rawprof sends: places, styles, texts."""
    global at
    for place, text in re.findall(rb"\x1b\[([0-9;?]*[A-Za-z])|([^\x1b\r\n]+)", data):
        if place.endswith(b"H"):
            at = [int(n) - 1 for n in place[:-1].split(b";")] if len(place) > 1 else [0, 0]
        elif place == b"2J":
            cells.clear()
        elif text:
            for ch in text.decode(errors="replace"):
                cells[tuple(at)] = ch
                at[1] += 1


at = [0, 0]


def take(seconds):
    global seen
    end = time.time() + seconds
    while time.time() < end:
        if select.select([master], [], [], max(0, min(0.1, end - time.time())))[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                return
            seen += data
            draw(data)


def screen():
    lines = {}
    for (row, column), ch in cells.items():
        lines.setdefault(row, {})[column] = ch
    return "\n".join("".join(l.get(c, " ") for c in range(max(l) + 1)) for _, l in sorted(lines.items()))


for step in steps:
    if step[0] == "=":
        os.write(master, step[1:].encode().decode("unicode_escape").encode())
    elif step[0] == "?":
        end = time.time() + 30
        while not re.search(step[1:], screen()) and time.time() < end:
            take(0.2)
        if not re.search(step[1:], screen()):
            print("missing", step[1:])
            print(screen())
    elif step[0] == "@":
        resize(*map(int, step[1:].split("x")))
    elif step[0] == "!":
        os.kill(pid, getattr(signal, "SIG" + step[1:]))
    elif step == "close":
        os.close(slave)
        os.close(master)
    else:
        take(float(step))
end, status = time.time() + 20, None
while time.time() < end:
    if "close" not in steps:
        take(0.1)
    else:
        time.sleep(0.1)
    done, how = os.waitpid(pid, os.WNOHANG)
    if done:
        status = os.waitstatus_to_exitcode(how)
        break
else:
    os.kill(pid, signal.SIGKILL)
print("status", status)
if "close" not in steps:
    take(0.2)
    print("modes", "same" if termios.tcgetattr(slave) == before else "differ")
if os.environ.get("TOP_BYTES"):
    open(os.environ["TOP_BYTES"], "wb").write(seen)
