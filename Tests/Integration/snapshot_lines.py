"""Makes snapshots of many entries."""

import base64
import hashlib
import json
import time


def line(**member):
    """A line of a snapshot."""
    text = json.dumps(member, separators=(",", ":"))[:-1].encode()
    return text + b',"check":"' + hashlib.sha256(text).hexdigest()[:16].encode() + b'"}\n'


def snapshot(count):
    """The lines of a snapshot of that many entries with one body."""
    body = b'{"n":1}'
    copy = {"status": 200, "fields": [["Content-Type", "application/json"]], "length": len(body),
            "sha256": hashlib.sha256(body).hexdigest(), "requestTime": time.time(), "responseTime": time.time()}
    all_before = hashlib.sha256()
    lines = [line(holdfast={"snapshot": 1, "createdAt": "2026-01-01T00:00:00Z"})]
    for number in range(count):
        lines += [line(entry={"target": f"/items/{number}", "copies": [copy]}), line(body=base64.b64encode(body).decode())]
    for text in lines:
        all_before.update(text)
    return lines + [line(end={"entries": count, "sha256": all_before.hexdigest()})]
