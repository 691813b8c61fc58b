"""A scripted REST origin: it keeps documents with ETags, logs every request and obeys orders."""

import json
import re
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Logged:
    """One request as it arrived, and what was answered (0: the connection was cut)."""

    method: str
    path: str
    headers: dict
    body: bytes
    at: float
    status: int = 0
    is_left: bool = False  # who sent it had gone before it was read


@dataclass
class Order:
    """What the origin does with the next `times` requests that match, instead of or around its usual work."""

    method: str | None = None
    path: str | None = None
    times: int = 1
    status: int | None = None
    headers: dict = field(default_factory=dict)
    body: bytes = b""
    delay: float = 0
    cut: str | None = None  # "before": nothing is done; "after": done, and the answer is lost
    gate: threading.Event | None = None  # the answer waits until it is set
    interim: bytes = b""  # heads of 1xx answers, sent before the final one

    def matches(self, method, path):
        return self.times > 0 and self.method in (None, method) and self.path in (None, path)


@dataclass
class Document:
    body: bytes
    content_type: str
    tag: str


def merge(target, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def has_left(connection):
    """Whether the peer has closed a connection whose bytes have all been read. Not known under TLS."""
    if isinstance(connection, ssl.SSLSocket):
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


class Origin:
    def __init__(self, certificate=None):
        """`certificate`: a PEM file of a key and a certificate, to speak TLS."""
        self.certificate = certificate
        self.lock = threading.RLock()
        self.documents = {}
        self.collections = set()
        self.log = []
        self.orders = []
        self.scripts = {}  # path: the answer to every request for it, sent as it is (see cache_lab.Reply)
        self.headers = {}  # added to every answer to GET
        self.honours_keys = False  # a POST under a known Idempotency-Key gets the first one's answer
        self.answered = {}
        self.version = 0
        self.last_id = 0
        self.running = 0  # requests in work now
        self.peak = 0
        self.server = None
        self.connections = set()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    @property
    def url(self):
        return f"http{'s' if self.certificate else ''}://127.0.0.1:{self.port}"

    def start(self):
        origin = self

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def process_request(self, request, address):
                with origin.lock:
                    origin.connections.add(request)
                super().process_request(request, address)

            def handle_error(self, request, address):
                pass  # a peer that goes away is part of the tests

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_any(self):
                origin.handle(self)

            def __getattr__(self, name):
                if name.startswith("do_"):
                    return self.handle_any
                raise AttributeError(name)

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", self.port), Handler)
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            # The handshake is the business of the connection's own thread.
            self.server.socket = context.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self):
        """Refuses connections from now on and ends those that are open."""
        if self.server is None:
            return
        self.server.shutdown()
        self.server.server_close()
        self.server = None
        with self.lock:
            connections, self.connections = self.connections, set()
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def put(self, path, value, tag=None, content_type="application/json"):
        """Changes a document as another client would. Returns its tag."""
        with self.lock:
            self.version += 1
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.documents[path] = Document(body, content_type, tag or f'"v{self.version}"')
            return self.documents[path].tag

    def json(self, path):
        with self.lock:
            return json.loads(self.documents[path].body)

    def order(self, **order):
        with self.lock:
            self.orders.append(Order(**order))
            return self.orders[-1]

    def script(self, path, reply):
        with self.lock:
            self.scripts[path] = reply

    def seen(self, method=None, path=None):
        with self.lock:
            return [r for r in self.log if method in (None, r.method) and path in (None, r.path)]

    def writes(self):
        with self.lock:
            return [r for r in self.log if r.method not in ("GET", "HEAD", "OPTIONS")]

    # answering

    def handle(self, handler):
        headers = {name.lower(): value for name, value in handler.headers.items()}
        body = self.read_body(handler, headers)
        logged = Logged(handler.command, handler.path, headers, body, time.monotonic(), is_left=has_left(handler.connection))
        with self.lock:
            self.log.append(logged)
            self.running += 1
            self.peak = max(self.peak, self.running)
            order = next((o for o in self.orders if o.matches(handler.command, handler.path)), None)
            if order:
                order.times -= 1
            script = self.scripts.get(handler.path)
        try:
            if order and order.delay:
                time.sleep(order.delay)
            if order and order.gate:
                order.gate.wait(30)
            if script and not order:
                return self.say(handler, logged, script)
            if order and order.cut == "before":
                return self.cut(handler)
            if order and order.status is not None:
                answer = (order.status, dict(order.headers), order.body)
            else:
                with self.lock:
                    answer = self.work(logged)
                if order:
                    answer[1].update(order.headers)
            if order and order.cut == "after":
                return self.cut(handler)
            logged.status = answer[0]
            if order and order.interim:
                handler.wfile.write(order.interim)
            self.send(handler, *answer)
        finally:
            with self.lock:
                self.running -= 1

    def read_body(self, handler, headers):
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while size := int(handler.rfile.readline().split(b";")[0], 16):
                body += handler.rfile.read(size)
                handler.rfile.readline()
            handler.rfile.readline()
            return body
        length = int(headers.get("content-length", 0))
        body = handler.rfile.read(length)
        if len(body) < length:
            raise ConnectionError("the body was cut")
        return body

    def cut(self, handler):
        handler.close_connection = True
        try:
            handler.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def say(self, handler, logged, script):
        """Sends the script's bytes; a length is added where the body needs one and no line gives it."""
        if script.cut == "before":
            return self.cut(handler)
        logged.status = script.status
        head = "".join(f"HTTP/1.1 {status} Interim\r\n" + "".join(line + "\r\n" for line in lines) + "\r\n"
                       for status, lines in script.interim)
        lines = list(script.fields)
        body = b"" if handler.command == "HEAD" or script.status in (204, 304) else script.body
        names = {line.split(":")[0].strip().lower() for line in lines}
        if script.trailers:
            lines.append("Transfer-Encoding: chunked")
            tail = "".join(line + "\r\n" for line in script.trailers)
            body = b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, tail.encode())
        elif script.cut != "ends" and script.status not in (204, 304) and not names & {"content-length", "transfer-encoding"}:
            lines.append(f"Content-Length: {len(script.body)}")
        head += f"HTTP/1.1 {script.status} Scripted\r\n" + "".join(line + "\r\n" for line in lines) + "\r\n"
        if script.cut == "within":
            handler.wfile.write(head.encode("utf-8") + body[:len(body) // 2])
            return self.cut(handler)
        handler.wfile.write(head.encode("utf-8") + body)
        if script.cut == "ends":
            self.cut(handler)

    def send(self, handler, status, headers, body):
        handler.send_response(status)
        if status not in (204, 304) and "Content-Length" not in headers:
            headers["Content-Length"] = str(len(body))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command != "HEAD" and status not in (204, 304):
            handler.wfile.write(body)

    def work(self, request):
        path, method = request.path.split("?")[0], request.method
        document = self.documents.get(path)
        if method in ("GET", "HEAD"):
            return self.read(path, document, request.headers)
        if_match = request.headers.get("if-match")
        if if_match is not None and not self.holds(if_match, document):
            return 412, {"Content-Type": "application/json"}, b'{"error":"changed"}'
        if request.headers.get("if-none-match") == "*" and document is not None:
            return 412, {"Content-Type": "application/json"}, b'{"error":"exists"}'
        if method == "POST":
            key = (request.path, request.headers.get("idempotency-key"))
            if self.honours_keys and key[1] and key in self.answered:
                return self.answered[key]
            target = self.new_target(path)
            try:
                value = json.loads(request.body)
            except ValueError:
                value = {"content": request.body.decode("latin-1")}
            value["id"] = str(self.last_id)
            tag = self.put(target, value)
            self.answered[key] = (201, {"Location": target, "ETag": tag, "Content-Type": "application/json"},
                                  self.documents[target].body)
            return self.answered[key]
        if method == "PUT":
            tag = self.put(path, request.body, content_type=request.headers.get("content-type", "application/json"))
            return 200 if document else 201, {"ETag": tag}, b""
        if document is None:
            return 404, {}, b""
        if method == "DELETE":
            del self.documents[path]
            return 204, {}, b""
        tag = self.put(path, merge(json.loads(document.body), json.loads(request.body)))
        return 200, {"ETag": tag, "Content-Type": "application/json"}, self.documents[path].body

    def new_target(self, path):
        while True:
            self.last_id += 1
            if f"{path}/{self.last_id}" not in self.documents:
                return f"{path}/{self.last_id}"

    def holds(self, condition, document):
        if document is None:
            return False
        return condition.strip() == "*" or document.tag in re.findall(r'(?:W/)?"[^"]*"', condition)

    def read(self, path, document, headers):
        if document is None:
            members = [json.loads(d.body) for p, d in self.documents.items()
                       if p.rsplit("/", 1)[0] == path and d.content_type == "application/json"]
            if not members and path not in self.collections:
                return 404, {"Content-Type": "application/json"}, b'{"error":"absent"}'
            return 200, {"Content-Type": "application/json", **self.headers}, json.dumps(members).encode()
        fields = {"ETag": document.tag, **self.headers}
        if headers.get("if-none-match") == document.tag:
            return 304, fields, b""
        return 200, {"Content-Type": document.content_type, **fields}, document.body
