"""The same bytes to Holdfast, nginx and Apache httpd: never split into different requests and accepted by both."""

import pytest

import framings
from framing import Tap, exchange, read_answers
from road import Road
from service import Holdfast, eventually
from webserver import WebServer

MUTATIONS = 250
BROKEN = {400, 408, 413, 414, 417, 431, 501, 505}  # nothing behind it on the connection is read


class Bench:
    """A web server, and Holdfast in front of it with a tap between them."""

    def __init__(self, kind):
        self.server = WebServer(kind).start()
        self.road = Road(self.server.port).open()
        self.tap = Tap(self.road)
        self.holdfast = Holdfast(self.road.url).start()
        self.cases = 0

    def close(self):
        self.holdfast.check_left()
        self.holdfast.close()
        self.road.close()
        self.server.close()

    def send(self, template):
        """The number of the case, and the answers of Holdfast. The web server itself is sent the same bytes."""
        self.cases += 1
        number = b"%04d" % self.cases
        data = (template + framings.AFTER).replace(framings.CASE, number)
        answers = read_answers(exchange(self.holdfast.port, data))
        exchange(self.server.port, data)
        return number, answers

    def forwarded(self, number):
        """What Holdfast sent on of a case: method, the letter that the target goes on with, and the message."""
        mark = b"/" + number + b"/"
        return [(r.start[0], r.start[1][len(mark):][:1], r) for r in self.tap.requests() if r.start[1].startswith(mark)]

    def understood(self, number):
        """What the server itself made of the same bytes, in the same form without the messages."""
        mark = b"/resources/" + number + b"/"
        return [(method, target.split(mark)[1][:1]) for status, method, target in self.server.asked()
                if mark in target and status not in BROKEN]


@pytest.fixture(scope="module", params=["nginx", "apache"])
def bench(request):
    bench = Bench(request.param)
    yield bench
    bench.close()


@pytest.mark.parametrize("name", framings.ACCEPTED)
def test_what_has_one_reading_is_sent_on_as_one_request(bench, name):
    number, answers = bench.send(framings.ACCEPTED[name])
    assert len(answers) == 2 and BROKEN.isdisjoint(status for status, _ in answers)
    (method, letter, first), after = bench.forwarded(number)
    assert (method, letter) == (b"POST", b"f") and after[:2] == (b"GET", b"a")
    assert first.body in (b"ab", framings.HIDDEN.replace(framings.CASE, number))
    assert first.all(b"host") == [b"127.0.0.1:%d" % bench.road.port]
    # A server may close first and write its log then.
    eventually(lambda: bench.understood(number) == [(b"POST", b"f"), (b"GET", b"a")])


@pytest.mark.parametrize("name", framings.REFUSED)
def test_what_has_two_readings_is_refused(bench, name):
    number, answers = bench.send(framings.REFUSED[name])
    assert [status in BROKEN for status, _ in answers] == [True]
    assert not bench.forwarded(number)


@pytest.mark.parametrize("name", framings.BROKEN_BODIES)
def test_nothing_is_read_behind_a_malformed_body(bench, name):
    number, answers = bench.send(framings.BROKEN_BODIES[name])
    assert len(answers) <= 1
    assert all(letter == b"f" and not message.is_whole for _, letter, message in bench.forwarded(number))


def split(answers, forwarded):
    """What Holdfast understood, one for each answer: the request sent on, None where it said no by itself."""
    waiting = list(forwarded)
    read = []
    for status, message in answers:
        is_own = message.all(b"content-type") == [b"application/problem+json"]
        if is_own and (status < 500 or status in BROKEN):
            read.append(None)
        else:
            assert waiting, "an answer without a request"
            read.append(waiting.pop(0))
    # A body that turns out malformed has begun to be sent on, and its client is told no.
    assert len(waiting) <= 1 and (not waiting or not answers or read[-1] is None)
    return read


def test_mutated_framings_are_never_split_in_two_ways(bench):
    sent = [(framings.mutated(seed), *bench.send(framings.mutated(seed))) for seed in range(MUTATIONS)]
    last, _ = bench.send(framings.ACCEPTED["a length"])
    eventually(lambda: len(bench.understood(last)) == 2)
    for template, number, answers in sent:
        forwarded = [(method, letter) for method, letter, _ in bench.forwarded(number)]
        for mine, theirs in zip(split(answers, forwarded), bench.understood(number)):
            assert mine is None or mine == theirs, template
