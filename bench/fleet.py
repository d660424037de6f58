#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A fleet on one machine: what a real agent sends, sent again by as many agents as are asked for.

fleet.py RAWPROF [AGENTS [SECONDS [TYPE]]]: as root; 1000 agents, 60 seconds, type otlp (or
pyroscope, pyroscope-ingest, parca).

An agent records this machine for three windows and sends them to a server of this program, which
keeps the requests. Then each player sends these in turn, one a window of ten seconds, beginning at
a moment of its own, as agents that were started at different times do, over a connection that
stays. The server reads each request to its end, unpacks what is packed, and compares it with the
one that was recorded. What is printed: requests and bytes a second, how long answers took, what one
machine sends in a day; anything that was not taken is an error.
"""
import asyncio
import gzip
import random
import subprocess
import sys
import tempfile
import time

WINDOW = 10.0


async def read_head(reader):
    line = (await reader.readline()).decode('latin-1').strip()
    head = {}
    while True:
        text = (await reader.readline()).decode('latin-1')
        if text in ('\r\n', '\n', ''):
            return line, head
        name, _, value = text.partition(':')
        head[name.strip().lower()] = value.strip()


class Server:
    """Keeps requests while it records; afterwards counts those that it knows."""

    def __init__(self):
        self.recording, self.recorded, self.known = True, [], set()
        self.taken = self.strange = self.bytes = 0

    async def serve(self, reader, writer):
        try:
            while True:
                line, head = await read_head(reader)
                if not line:
                    break
                body = await reader.readexactly(int(head['content-length']))
                self.take(line.split()[1], head, body)
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        writer.close()

    def take(self, path, head, body):
        if head.get('content-encoding') == 'gzip':
            gzip.decompress(body)
        if self.recording:
            self.recorded.append((path, head['content-type'], head.get('content-encoding'), body))
            self.known.add(hash(body))
            return
        self.taken += 1
        self.strange += hash(body) not in self.known
        self.bytes += len(body)


def request(path, kind, encoding, body):
    packed = 'Content-Encoding: %s\r\n' % encoding if encoding else ''
    return ('POST %s HTTP/1.1\r\nHost: fleet\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n'
            % (path, kind, packed, len(body))).encode('latin-1') + body


async def play(port, requests, end, took, failed):
    await asyncio.sleep(random.random() * WINDOW)
    at = random.randrange(len(requests))
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    due = time.monotonic()
    while due < end:
        begin = time.monotonic()
        writer.write(requests[at % len(requests)])
        await writer.drain()
        line, head = await read_head(reader)
        await reader.readexactly(int(head.get('content-length', 0)))
        took.append(time.monotonic() - begin)
        failed.append(line) if ' 200 ' not in line else None
        at, due = at + 1, due + WINDOW
        await asyncio.sleep(max(0, due - time.monotonic()))
    writer.close()


async def record(rawprof, kind, port, server):
    with tempfile.TemporaryDirectory() as directory:
        agent = await asyncio.create_subprocess_exec(
            rawprof, 'agent', '--dir', directory, '--window', str(WINDOW), '-d', str(3 * WINDOW),
            '--push', '%s+http://127.0.0.1:%d' % (kind, port), stderr=subprocess.PIPE)
        _, said = await agent.communicate()
    if agent.returncode or not server.recorded:
        sys.exit('fleet: the agent sent nothing: ' + said.decode())
    server.recording = False


async def main():
    rawprof = sys.argv[1]
    agents = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 60
    kind = sys.argv[4] if len(sys.argv) > 4 else 'otlp'
    server, took, failed = Server(), [], []
    listener = await asyncio.start_server(server.serve, '127.0.0.1', 0, backlog=4096)
    port = listener.sockets[0].getsockname()[1]
    await record(rawprof, kind, port, server)
    requests = [request(*r) for r in server.recorded]
    mean = sum(len(r[3]) for r in server.recorded) / len(requests)
    begin, cpu = time.monotonic(), time.process_time()
    await asyncio.gather(*(play(port, requests, begin + seconds, took, failed)
                           for _ in range(agents)))
    wall, cpu = time.monotonic() - begin, time.process_time() - cpu
    took.sort()
    print('%d agents of %s, %.0f s: %d requests, %.1f a second (asked: %.1f), %.2f MB a second'
          % (agents, kind, wall, server.taken, server.taken / wall, agents / WINDOW,
             server.bytes / wall / 1e6))
    print('an answer took %.1f ms, 99 %% at most %.1f ms; this program %.1f s of CPU'
          % (1e3 * took[len(took) // 2], 1e3 * took[len(took) * 99 // 100], cpu))
    print('a request has %.1f KB: %.0f MB a day of a machine; %d failed, %d were not what was sent'
          % (mean / 1e3, mean * 86400 / WINDOW / 1e6, len(failed), server.strange))
    sys.exit(1 if failed or server.strange or server.taken != len(took) else 0)


asyncio.run(main())
