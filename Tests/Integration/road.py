"""The way to a service: passes TCP connections on, well or badly, as its attributes say at each moment."""

import socket
import struct
import threading
import time

from service import free_port


class Road:
    def __init__(self, target):
        """`target`: the port of the service on this machine."""
        self.target = target
        self.port = free_port()
        self.listener = None
        self.lock = threading.Lock()
        self.ends = set()
        self.forgotten = set()
        self.heard = None  # called with the connection and each piece of requests on it
        self.smooth()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def smooth(self):
        """No faults from now on."""
        self.latency = 0  # seconds before each piece
        self.rate = None  # bytes a second
        self.piece = 65536  # bytes of a piece
        self.cut_after = None  # bytes of answers on a connection, after which it ends
        self.resets = False  # what ends is reset
        self.swallows = False  # connections stay open, and nothing passes
        self.garbage = None  # comes in place of every answer

    def open(self):
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()
        return self

    def close(self):
        """Refuses connections from now on and ends those that are open."""
        if self.listener:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        self.sever()

    def sever(self):
        """Ends the connections that are open."""
        with self.lock:
            ends = list(self.ends)
        for end in ends:
            self.end(end)

    def forget(self):
        """Passes nothing on any more between the connections that are open, and does not end them."""
        with self.lock:
            self.forgotten |= self.ends

    def end(self, end):
        with self.lock:
            self.ends.discard(end)
        try:
            if self.resets:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                # A thread that reads holds the connection open, and nothing is sent before that has let go.
                end.shutdown(socket.SHUT_RD)
                end.close()
            else:
                end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.ends |= {near, far}
            for source, sink, is_answer in ((near, far, False), (far, near, True)):
                threading.Thread(target=self.pump, args=(source, sink, is_answer), daemon=True).start()

    def pump(self, source, sink, is_answer):
        passed = 0
        try:
            while piece := source.recv(self.piece):
                if self.heard and not is_answer:
                    self.heard(source, piece)
                if self.swallows or source in self.forgotten:
                    continue
                if is_answer and self.garbage is not None:
                    sink.sendall(self.garbage)
                    break
                time.sleep(self.latency + (len(piece) / self.rate if self.rate else 0))
                if is_answer and self.cut_after is not None and passed + len(piece) >= self.cut_after:
                    sink.sendall(piece[:self.cut_after - passed])
                    break
                sink.sendall(piece)
                passed += len(piece)
        except OSError:
            pass
        for end in (source, sink):
            self.end(end)
