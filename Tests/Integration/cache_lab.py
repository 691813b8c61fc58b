"""Exchanges of a client with a cache in front of an origin that answers by script, and what each must show.

A case is a name and a list of steps. The steps of a case share one target of its own; each says what the client sends,
what the origin answers if it is asked, and what must come of it. Nothing waits: a stored answer is old because its origin
gave it an Age or a Date of the past.
"""

import email.utils
import http.client
import itertools
import re
import time
from dataclasses import dataclass, field, replace

from service import Answer

FRESH = ["Cache-Control: max-age=3600"]
STALE = ["Cache-Control: max-age=3600", "Age: 7200"]
TO_THE_LETTER = {"defaultPolicy": {"offlineReads": "HONOUR_ORIGIN"}, "targetedFields": ["CDN-Cache-Control"]}
GATEWAY = {502, 503, 504}


def at(seconds):
    """A moment so many seconds from the beginning of the case. It stands in a line until the case runs, since cases are
    collected minutes before."""
    return f"{{at {seconds:.0f}}}"


def filled(lines, beginning, **words):
    """The lines as they are sent: with the moments that `at` stands for, and with a value for each {word}."""
    def moment(found):
        return email.utils.formatdate(beginning + int(found[1]), usegmt=True)

    lines = [re.sub(r"\{at (-?\d+)\}", moment, line) for line in lines]
    for name, value in words.items():
        lines = [line.replace("{%s}" % name, value) for line in lines]
    return lines


@dataclass
class Reply:
    """What the origin says when it is asked. `fields` are lines as they are sent; without a body it is the step's number."""

    fields: list = field(default_factory=list)
    status: int = 200
    body: bytes | None = None
    cut: str | None = None  # "before" the head; "within" the body; "ends" it where no length does
    interim: list = field(default_factory=list)  # (status, lines) of answers before the final one
    trailers: list = field(default_factory=list)  # the body is then sent in chunks


@dataclass
class Step:
    """One request. `expect`: "cache" (the origin hears nothing), "origin" (it is asked, its answer is passed on),
    "confirmed" (it is asked and the stored answer is given), "stale" (it is asked in vain, the stored answer is given),
    "refused" (the answer is Holdfast's own: a problem)."""

    expect: str = "origin"
    reply: Reply = field(default_factory=Reply)
    method: str = "GET"
    sends: list = field(default_factory=list)
    content: bytes | None = None
    target: str = ""  # behind the case's own
    route: str = "/files"
    status: int | None = None
    has: list = field(default_factory=list)  # fields that the answer must have, as `Name: value`, or the name alone
    lacks: list = field(default_factory=list)
    asked: list = field(default_factory=list)  # the same of the request that the origin gets
    unasked: list = field(default_factory=list)
    body: bytes | None = None
    age: range | None = None
    pause: float = 0  # seconds after it


def first(*fields, **more):
    """The answer that fills the cache."""
    step_keys = {name: more.pop(name) for name in list(more) if name in Step.__dataclass_fields__ and name != "body"
                 and name != "status"}
    return Step(reply=Reply(list(fields), **more), **step_keys)


def hit(*sends, **more):
    return Step("cache", sends=list(sends), **more)


def miss(*sends, **more):
    return Step("origin", sends=list(sends), **more)


def confirmed(*fields, **more):
    """The origin says 304 with these fields."""
    return Step("confirmed", reply=Reply(list(fields), status=304), **more)


class Missed(AssertionError):
    """The cache asked for more, or sent more, than it had to: a chance that it left, not an error."""


class Lab:
    def __init__(self, origin, holdfast, is_peer=False):
        """`holdfast`: what has a `port`. `is_peer`: another cache, which has the origin's targets at its root, and for which
        one of 502, 503 and 504 is as good as another."""
        self.origin = origin
        self.holdfast = holdfast
        self.is_peer = is_peer
        self.numbers = itertools.count(1)

    def run(self, steps):
        base = f"/case/{next(self.numbers)}"
        beginning = time.time()
        kept = None
        for number, step in enumerate(steps, 1):
            words = {"base": base, "route": "" if self.is_peer else step.route}
            step = replace(step, **{
                name: filled(getattr(step, name), beginning, **words) for name in ("sends", "has", "asked")})
            reply = replace(step.reply, fields=filled(step.reply.fields, beginning, **words))
            if reply.body is None:
                reply = replace(reply, body=f"body {number}".encode())
            path = base + step.target
            self.origin.script(path, reply)
            before = len(self.origin.seen())
            try:
                answer = self.ask(step, words["route"] + path)
            except http.client.IncompleteRead as error:
                if step.expect == "stale":
                    raise Missed(f"step {number}: {error}") from error
                raise
            asked = [r for r in self.origin.seen()[before:] if r.path == path]
            where = f"step {number}: {answer}, the origin got {asked}"
            kept = self.check(step, reply, answer, asked, kept, where)
            time.sleep(step.pause)

    def ask(self, step, target):
        connection = http.client.HTTPConnection("127.0.0.1", self.holdfast.port, timeout=20)
        try:
            connection.putrequest(step.method, target, skip_accept_encoding=True)
            for line in step.sends:
                name, value = line.split(":", 1)
                connection.putheader(name, value.strip(" ").encode("utf-8"))
            if step.content is not None:
                connection.putheader("Content-Length", str(len(step.content)))
                connection.putheader("Content-Type", "text/plain")
            connection.endheaders(step.content)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def check(self, step, reply, answer, asked, kept, where):
        if step.expect == "cache" and asked:
            raise Missed(where)
        if step.expect == "stale" and answer.status >= 500:
            raise Missed(where)
        if step.expect not in ("cache", "refused"):
            assert asked, where
        if step.expect == "confirmed" and not {"if-none-match", "if-modified-since"} & set(asked[0].headers):
            raise Missed(where)
        if step.expect == "origin":
            kept = reply.body
            status = reply.status
        else:
            status = 200 if step.expect == "confirmed" else None
        status = step.status or status
        if status == 304 and answer.status == 200:
            raise Missed(where)
        if step.expect == "refused" and self.is_peer:
            assert answer.status in (GATEWAY if status in GATEWAY else {status}), where
            return kept
        if status:
            assert answer.status == status, where
        if step.expect == "refused":
            assert answer.headers["Content-Type"] == "application/problem+json", where
        elif step.method == "HEAD" or answer.status in (204, 304):
            assert answer.body == b"", where
        elif answer.status != 416:  # whose content is the server's own
            assert answer.body == (step.body if step.body is not None else kept), where
        for line in step.has:
            name, _, value = line.partition(": ")
            found = answer.headers.get_all(name)
            assert found and (not value or ", ".join(found) == value), f"{line}; {where}"
        for name in step.lacks:
            assert name not in answer.headers, f"{name}; {where}"
        for line in step.asked:
            name, _, value = line.partition(": ")
            assert asked[0].headers.get(name.lower()) == value, f"{line}; {where}"
        for name in step.unasked:
            assert name.lower() not in asked[0].headers, f"{name}; {where}"
        if step.age is not None:
            age = answer.headers["Age"] or ""
            assert age.isdecimal() and int(age) in step.age, where
        return kept
