# SPDX-License-Identifier: BSD-2-Clause
"""server.py PORT: a web server with a thread a connection, that sorts, matches, packs and hashes."""
import hashlib
import http.server
import json
import re
import string
import sys


def items(n):
    rows = [{"name": "item %d" % i, "price": i * 7919 % 1000 / 10} for i in range(n)]
    return json.dumps(json.loads(json.dumps(sorted(rows, key=lambda row: row["price"]))))


def match(n):
    return str(len(re.sub("(a+)b", lambda m: m.group(1)[::-1], "aaab" * n)))


def page(n):
    row = string.Template("<li>$name: $number</li>")
    return "".join(row.substitute(name="n%d" % i, number=i) for i in range(n))


def digest(n):
    return hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", n).hex()


ANSWERS = {"/items": lambda: items(200), "/match": lambda: match(300), "/page": lambda: page(100),
           "/digest": lambda: digest(500)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = ANSWERS[self.path]().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
