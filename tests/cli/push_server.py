#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A server of profiles that takes nothing on trust: Pyroscope's /ingest and push.v1, Parca's
writeraw and OTLP, each held against its rules.

push_server.py PORT DIR: what is below http://127.0.0.1:PORT/NAME is a server of its own.

DIR/NAME.log gets a JSON line for each request: {"to", "ok": true, "profiles": [...]} or {"to",
"bad": why}. DIR/NAME.mode says, at each request, what to do with it: "ok"; "status N [SECONDS]",
with Retry-After; "page", a 200 for people; "nonsense"; "stall"; "close", in the middle of the
answer; "need VALUE", of the head Authorization; "partial N", it takes all of OTLP but N profiles;
"debug WORDS", ok but for debug data: "refuse", it wants none, "elsewhere", not by gRPC, "fails". TLS=CERT:KEY in the environment: https.
"""
import base64
import hashlib
import gzip
import json
import os
import socket
import ssl
import sys
import threading
import time
import urllib.parse
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, directory = int(sys.argv[1]), sys.argv[2]
lock = threading.Lock()


class Bad(Exception):
    pass


def need(condition, why):
    if not condition:
        raise Bad(why)


# ---- protobuf

def varint(b, i):
    value = shift = 0
    while True:
        need(i < len(b), 'a varint ends behind the message')
        byte = b[i]
        i += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, i
        need(shift < 70, 'a varint of more than 10 bytes')


def fields(b):
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        wire = tag & 7
        if wire == 0:
            value, i = varint(b, i)
        elif wire == 1:
            value, i = int.from_bytes(b[i:i + 8], 'little'), i + 8
        elif wire == 2:
            n, i = varint(b, i)
            value, i = b[i:i + n], i + n
        else:
            raise Bad('wire type %d' % wire)
        need(i <= len(b), 'a field ends behind the message')
        need(tag >> 3, 'field 0')
        yield tag >> 3, value


def message(b):
    out = {}
    for number, value in fields(b):
        out.setdefault(number, []).append(value)
    return out


def one(m, number, default=0):
    need(len(m.get(number, [])) <= 1, 'field %d is there twice' % number)
    return m[number][0] if number in m else default


def packed(m, number):
    out = []
    for v in m.get(number, []):
        if isinstance(v, int):
            out.append(v)
            continue
        i = 0
        while i < len(v):
            x, i = varint(v, i)
            out.append(x)
    return out


def text(b):
    return b.decode('utf-8')  # strictly


# ---- pprof, with Parca's rules

def check_times(start, duration):
    need(abs(start / 1e9 - time.time()) < 86400, 'it began at %d ns' % start)
    need(0 < duration < 3600e9, 'it has %d ns' % duration)


def pprof(data):
    need(data[:2] == b'\x1f\x8b', 'no gzip')
    p = message(gzip.decompress(data))
    strings = [text(s) for s in p[6]]
    need(strings[0] == '', 'string 0 is not empty')
    types = []
    for t in p[1]:
        t = message(t)
        types.append((strings[one(t, 1)], strings[one(t, 2)]))
    need(types and types[0][1] == 'count', 'the first type is no count')
    for field, what in ((3, 'mapping'), (4, 'location'), (5, 'function')):
        ids = [one(message(m), 1) for m in p.get(field, [])]
        need(ids == list(range(1, len(ids) + 1)), what + ' ids are not 1, 2, 3')
    mappings, locations, functions = (len(p.get(f, [])) for f in (3, 4, 5))
    for m in p.get(4, []):
        m = message(m)
        need(one(m, 2) <= mappings, 'no such mapping')
        need(one(m, 2) or 4 in m, 'a location with neither mapping nor lines')
        for line in m.get(4, []):
            need(1 <= one(message(line), 1) <= functions, 'no such function')
    for f in p.get(5, []):
        need(strings[one(message(f), 2)], 'a function without a name')
    totals = [0] * len(types)
    labels = set()
    need(p.get(2), 'no samples')
    for s in p[2]:
        s = message(s)
        need(all(1 <= i <= locations for i in packed(s, 1)), 'no such location')
        values = packed(s, 2)
        need(len(values) == len(types), 'a sample has %d values' % len(values))
        totals = [a + b for a, b in zip(totals, values)]
        keys = []
        for l in s.get(3, []):
            l = message(l)
            need(one(l, 1), 'a label without a key')
            need(not (one(l, 2) and one(l, 3)), 'a label with text and number')
            keys.append(strings[one(l, 1)])
        need(len(set(keys)) == len(keys), 'a label twice')
        labels |= set(keys)
    check_times(one(p, 9), one(p, 10))
    return {'start': one(p, 9), 'duration': one(p, 10), 'totals': totals, 'types': types,
            'sample_labels': sorted(labels)}


def check_labels(pairs):
    names = [n for n, _ in pairs]
    need(len(set(names)) == len(names), 'a label twice')
    for name, value in pairs:
        need(name.replace('_', 'a').isalnum() and not name[0].isdigit(), 'the label ' + name)
        need(value, name + ' is empty')
    labels = dict(pairs)
    need('__name__' in labels, 'no __name__')
    need('service_name' in labels, 'no service_name')
    return labels


# ---- the servers

def ingest(handler, query, body):
    args = dict(urllib.parse.parse_qsl(query, strict_parsing=True))
    need(args['format'] == 'pprof', 'another format')
    name, brace, rest = args['name'].partition('{')
    need(name and brace and rest.endswith('}'), 'the name ' + args['name'])
    labels = {'service_name': name}
    for pair in rest[:-1].split(',') if rest != '}' else []:
        key, equals, value = pair.partition('=')
        need(key.replace('_', 'a').isalnum() and equals and value, 'the label ' + pair)
        labels[key] = value
    need(int(args['from']) < int(args['until']), 'from and until')
    kind, _, boundary = handler.headers['Content-Type'].partition('; boundary=')
    need(kind == 'multipart/form-data' and boundary, 'no multipart')
    parts = body.split(b'--' + boundary.encode())
    need(parts[0] == b'' and parts[-1] == b'--\r\n', 'the ends of the multipart')
    form = {}
    for part in parts[1:-1]:
        head, blank, content = part.partition(b'\r\n\r\n')
        need(blank and content.endswith(b'\r\n'), 'a part of the multipart')
        field = head.split(b'name="')[1].split(b'"')[0].decode()
        form[field] = content[:-2]
    p = pprof(form['profile'])
    config = json.loads(form['sample_type_config'])
    need(set(config) == {t for t, _ in p['types']}, 'sample_type_config of other types')
    need(int(args['from']) <= p['start'] // 10**9 < int(args['until']), 'from is another time')
    return [dict(p, labels=labels)]


def push(handler, query, body):
    need(handler.headers['Content-Type'] == 'application/proto', 'the content type')
    out = []
    for number, series in fields(body):
        need(number == 1, 'field %d of PushRequest' % number)
        s = message(series)
        pairs = [(text(one(message(l), 1)), text(one(message(l), 2))) for l in s[1]]
        need(pairs == sorted(pairs), 'labels are not sorted')
        need(len(s[2]) == 1, 'a series has one profile')
        out.append(dict(pprof(one(message(s[2][0]), 1)), labels=check_labels(pairs)))
    return out


def writeraw(handler, query, body):
    need(handler.headers['Content-Type'] == 'application/json', 'the content type')
    request = json.loads(body.decode())
    need(request['normalized'] is False, 'normalized')
    out = []
    for s in request['series']:
        pairs = [(l['name'], l['value']) for l in s['labels']['labels']]
        need(len(s['samples']) == 1, 'a series has one profile')
        raw = base64.b64decode(s['samples'][0]['raw_profile'], validate=True)
        out.append(dict(pprof(raw), labels=check_labels(pairs)))
    return out


def any_value(b):
    m = message(b)
    return text(m[1][0]) if 1 in m else m[3][0]


def otlp(handler, query, body):
    need(handler.headers['Content-Type'] == 'application/x-protobuf', 'the content type')
    request = message(body)
    d = message(one(request, 2))
    tables = [d.get(i, []) for i in range(1, 8)]
    mapping, location, function, _, strings, attribute, stack = tables
    for t in tables:
        need(t and t[0] == b'', 'entry 0 of a table is not the empty one')
        need(len(set(t)) == len(t), 'a table has an entry twice')
    strings = [text(s) for s in strings]
    for l in map(message, location):
        need(one(l, 1) < len(mapping), 'no such mapping')
        for line in l.get(3, []):
            need(0 < one(message(line), 1) < len(function), 'no such function')
        need(all(0 < i < len(attribute) for i in packed(l, 4)), 'no such attribute')
    for s in map(message, stack):
        need(all(0 < i < len(location) for i in packed(s, 1)), 'no such location')
    for a in map(message, attribute[1:]):
        need(strings[one(a, 1)], 'an attribute without key')
    out = []
    for r in map(message, request[1]):
        attributes = {}
        for pair in map(message, message(one(r, 1, b'')).get(1, [])):
            need(text(one(pair, 1)) not in attributes, 'an attribute twice')
            attributes[text(one(pair, 1))] = any_value(one(pair, 2))
        need(attributes.get('service.name'), 'no service.name')
        p = {'totals': [], 'types': [], 'labels': attributes, 'sample_labels': []}
        for profile in map(message, message(one(r, 2))[2]):
            t = message(one(profile, 1))
            p['types'].append((strings[one(t, 1)], strings[one(t, 2)]))
            total = 0
            for s in map(message, profile.get(2, [])):
                need(one(s, 1) < len(stack), 'no such stack')
                need(len(packed(s, 4)) == 1 and 5 not in s, 'a sample has one value')
                total += packed(s, 4)[0]
            p['totals'].append(total)
            p['start'], p['duration'] = one(profile, 3), one(profile, 4)
            check_times(p['start'], p['duration'])
        out.append(p)
    return out


# ---- Parca's debug data: calls of gRPC over HTTP/1.1 (grpc-web)

uploads = {}  # by server and upload id: the build id, hash and size that were announced


def frames(b):
    i = 0
    while i < len(b):
        need(i + 5 <= len(b), 'a frame without its head')
        kind, n = b[i], int.from_bytes(b[i + 1:i + 5], 'big')
        need(i + 5 + n <= len(b), 'a frame ends behind the body')
        need(n <= 64 << 20, 'a message that is too large')
        yield kind, b[i + 5:i + 5 + n]
        i += 5 + n


def debuginfo(method, name, mode, body):
    """The answer's message, and what there is to say of it."""
    got = list(frames(body))
    need(all(kind == 0 for kind, _ in got), 'frames that are no data')
    first = message(got[0][1])
    if method != 'Upload':
        need(len(got) == 1, 'one message')
        build_id = text(one(first, 1))
        need(len(bytes.fromhex(build_id)) > 2, 'the build id')
    if method == 'ShouldInitiateUpload':
        yes = 'refuse' not in mode
        return b'\x08\x01' if yes else b'\x12\x02no', {'build_id': build_id}
    if method == 'InitiateUpload':
        need(one(first, 2) > 0 and text(one(first, 3)), 'size and hash')
        upload_id = 'upload-%d' % len(uploads)
        uploads[name, upload_id] = [build_id, one(first, 2), None]
        strategy = 2 if 'elsewhere' in mode else 1
        inner = b'\x12' + bytes([len(upload_id)]) + upload_id.encode() + b'\x18' + bytes([strategy])
        return b'\x0a' + bytes([len(inner)]) + inner, {'build_id': build_id}
    if method == 'Upload':
        info = message(one(first, 1))
        announced = uploads[name, text(one(info, 2))]
        need(announced[0] == text(one(info, 1)), 'another build id than was announced')
        data = b''.join(one(message(m), 2, b'') for _, m in got[1:])
        need(len(data) == announced[1], '%d bytes, of %d' % (len(data), announced[1]))
        announced[2] = hashlib.sha256(data).hexdigest()
        return b'', {'build_id': announced[0], 'sha256': announced[2], 'size': len(data)}
    need(method == 'MarkUploadFinished', 'no such method')
    announced = uploads[name, text(one(first, 2))]
    need(announced[0] == build_id and announced[2], 'it has not been sent')
    return b'', {'build_id': build_id}


paths = {'ingest': ingest, 'push.v1.PusherService/Push': push,
         'api/profiles/writeraw': writeraw, 'v1development/profiles': otlp}


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def answer(self, status, body=b'', kind='application/json', **heads):
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        for name, value in heads.items():
            self.send_header(name.replace('_', '-'), value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, mode):
        """What it does instead of a proper answer."""
        words = mode.split()
        if words[0] == 'status':
            heads = {'Retry_After': words[2]} if len(words) > 2 else {}
            self.answer(int(words[1]), b'{"message": "as it was told"}', **heads)
        elif words[0] == 'page':
            self.answer(200, b'<html>Log in first</html>', 'text/html')
        elif words[0] == 'nonsense':
            self.connection.sendall(b'\x00\x01SSH-2.0-none\r\n\r\n' * 20)
            self.close_connection = True
        elif words[0] == 'stall':
            time.sleep(20)
            self.close_connection = True
        elif words[0] == 'close':
            self.connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"a')
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def log(self, name, **line):
        with lock, open('%s/%s.log' % (directory, name), 'a') as f:
            f.write(json.dumps(line) + '\n')

    def take_call(self, name, mode, method, body):
        try:
            need(self.headers['Content-Type'] == 'application/grpc-web+proto', 'the content type')
            answer, said = debuginfo(method, name, mode, body)
            self.log(name, to=method, ok=True, **said)
            status = 5 if 'fails' in mode and method == 'Upload' else 0
        except (Bad, KeyError, IndexError, ValueError) as e:
            self.log(name, to=method, bad='%s: %s' % (type(e).__name__, e))
            answer, status = b'', 3
        trailers = b'grpc-status: %d\r\ngrpc-message: none\r\n' % status
        data = b'' if status else b'\0' + len(answer).to_bytes(4, 'big') + answer
        self.answer(200, data + b'\x80' + len(trailers).to_bytes(4, 'big') + trailers,
                    'application/grpc-web+proto')

    def do_POST(self):
        path, _, query = self.path.partition('?')
        _, name, path = path.split('/', 2)
        with open('%s/%s.mode' % (directory, name)) as f:
            mode = f.read().strip()
        body = self.rfile.read(int(self.headers['Content-Length']))
        to = path.split('/')[-1]
        head = {n.lower(): v for n, v in self.headers.items()}
        sent = len(body)
        if mode.startswith('need '):
            if head.get('authorization') != mode[5:]:
                self.log(name, to=to, mode=mode, got=head.get('authorization'))
                self.answer(401)
                return
        elif 'DebuginfoService' in path and mode.startswith(('ok', 'debug')):
            self.take_call(name, mode, to, body)
            return
        elif mode != 'ok' and not mode.startswith(('partial ', 'debug')):
            self.log(name, to=to, mode=mode)
            self.refuse(mode)
            return
        try:
            need(path in paths, 'no such path: ' + path)
            need(head.get('content-encoding') == ('gzip' if to == 'profiles' else None),
                 'the content encoding')
            if to == 'profiles':
                body = gzip.decompress(body)
            profiles = paths[path](self, query, body)
        except (Bad, KeyError, IndexError, ValueError, EOFError, OSError, zlib.error) as e:
            self.log(name, to=to, bad='%s: %s' % (type(e).__name__, e))
            self.answer(400, json.dumps({'message': str(e)}).encode())
            return
        self.log(name, to=to, ok=True, profiles=profiles, head=head, bytes=sent)
        if mode.startswith('partial '):
            why = b'some are too old\x1b[31m'
            inner = b'\x08' + bytes([int(mode[8:])]) + b'\x12' + bytes([len(why)]) + why
            self.answer(200, b'\x0a' + bytes([len(inner)]) + inner, 'application/x-protobuf')
            return
        self.answer(200, b'{}' if to == 'writeraw' else b'')


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


server = Server(('127.0.0.1', port), Handler)
if os.environ.get('TLS'):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*os.environ['TLS'].split(':'))
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
