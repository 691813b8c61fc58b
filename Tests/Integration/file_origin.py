"""An origin with one large file: it knows ranges and If-Range, counts what it sends, and can cut, ignore and slow down."""

import hashlib
import random
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileOrigin:
    def __init__(self, length, tag='"1"', **headers):
        self.body = random.Random(length).randbytes(length)
        self.tag = tag
        self.headers = {"Cache-Control": "max-age=60", **headers}
        self.knows_ranges = True
        self.is_gone = False
        self.cut_after = None  # bytes of a body
        self.gate = None  # every body waits until it is set
        self.asked = []  # the Range of each request, None where it had none
        self.conditions = []  # the If-Range of each request
        self.sent = 0  # bytes of bodies
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                origin.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def digest(self):
        return hashlib.sha256(self.body).hexdigest()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler):
        self.asked.append(handler.headers["Range"])
        self.conditions.append(handler.headers["If-Range"])
        fields, length = dict(self.headers), len(self.body)
        if self.tag:
            fields["ETag"] = self.tag
        status, start, end = 200, 0, length
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers["Range"] or "")
        if self.is_gone:
            status, start, end = 404, 0, 0
        elif self.tag and handler.headers["If-None-Match"] == self.tag:
            status, start, end = 304, 0, 0
        elif wanted and self.knows_ranges and handler.headers["If-Range"] in (None, self.tag):
            start, end = int(wanted[1]), min(int(wanted[2] or length), length - 1) + 1
            status = 206
            fields["Content-Range"] = f"bytes {start}-{end - 1}/{length}"
        handler.send_response(status)
        if status != 304:
            fields["Content-Length"] = str(end - start)
        for name, value in fields.items():
            handler.send_header(name, value)
        handler.end_headers()
        if self.gate:
            self.gate.wait(30)
        piece = self.body[start:end][:self.cut_after]
        self.sent += len(piece)
        handler.wfile.write(piece)
        if len(piece) < end - start:
            handler.close_connection = True
