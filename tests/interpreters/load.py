# SPDX-License-Identifier: BSD-2-Clause
"""load.py PORT SECONDS PATH...: asks a server of this machine for these paths, three at a time,
until the time is over. Prints how many answers it got."""
import http.client
import sys
import threading
import time

port, end, paths = int(sys.argv[1]), time.monotonic() + float(sys.argv[2]), sys.argv[3:]
answers = [0, 0, 0]


def ask(number):
    server = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    i = number
    while time.monotonic() < end:
        try:
            server.request("GET", paths[i % len(paths)])
            answers[number] += server.getresponse().read() != b""
        except (OSError, http.client.HTTPException):
            server.close()
            time.sleep(0.01)
        i += 1


threads = [threading.Thread(target=ask, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sum(answers))
