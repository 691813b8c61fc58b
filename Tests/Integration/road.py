"""Passes TCP connections on: road.py PORT TARGET_PORT. Killing it takes the way to a service away."""

import socket
import sys
import threading


def pump(source, sink):
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    near, _ = listener.accept()
    far = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for ends in ((near, far), (far, near)):
        threading.Thread(target=pump, args=ends, daemon=True).start()
