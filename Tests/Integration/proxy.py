"""A small forwarding HTTP proxy (RFC 9112 3.2.2): it logs what it was asked for and passes it on."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Proxy:
    def __init__(self):
        self.asked = []  # request targets as they arrived
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self):
                proxy.asked.append(self.path)
                url = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                far = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
                far.request(self.command, url._replace(scheme="", netloc="").geturl(), body, dict(self.headers))
                answer = far.getresponse()
                content = answer.read()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    if name.lower() not in ("connection", "transfer-encoding"):
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(content)
                far.close()

            do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = forward

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
