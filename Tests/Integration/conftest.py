import pytest

import contract
import service
from cache_lab import TO_THE_LETTER, Lab
from faults import Faults
from file_origin import FileOrigin
from origin import Origin
from service import Holdfast


@pytest.fixture(autouse=True)
def statuses(monkeypatch):
    """No test gets an answer with a status that the contract does not name."""
    plain = service.request

    def request(port, method, path, *arguments, **more):
        answer = plain(port, method, path, *arguments, **more)
        assert contract.is_named(method, path, answer.status), f"{method} {path}: {answer} is not in openapi.yaml"
        return answer

    monkeypatch.setattr(service, "request", request)


@pytest.fixture
def origin():
    origin = Origin().start()
    yield origin
    origin.stop()


@pytest.fixture
def holdfast_with(origin, request):
    """Makes services in front of the scripted origin, with the given configuration keys."""
    made = []

    def make(**config):
        made.append(Holdfast(config.pop("origin", origin.url), **config).start())
        return made[-1]

    yield make
    failed = getattr(request.node, "failed", False)
    for service in made:
        try:
            if failed:
                print(service.log_text()[-4000:])
            else:
                service.check_left()
        finally:
            service.close()


@pytest.fixture
def file_origin():
    made = []

    def make(length, **more):
        made.append(FileOrigin(length, **more))
        return made[-1]

    yield make
    for origin in made:
        origin.stop()


@pytest.fixture
def holdfast(holdfast_with):
    return holdfast_with()


@pytest.fixture(scope="session")
def shared_cache():
    """One service under RFC 9111 to the letter, for cases that each have a target of their own."""
    origin = Origin().start()
    service = Holdfast(origin.url, **TO_THE_LETTER).start()
    yield Lab(origin, service)
    service.check_left()
    service.close()
    origin.stop()


@pytest.fixture(scope="session")
def kernel():
    """Faults of the kernel for all services that get its environment."""
    faults = Faults()
    yield faults
    faults.remove()


@pytest.fixture
def faults(kernel):
    kernel.set()
    yield kernel
    kernel.set()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    item.failed = getattr(item, "failed", False) or outcome.get_result().failed
