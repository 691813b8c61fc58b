"""Other caches in front of the scripted origin, each with what it offers for HTTP caching turned on."""

import contextlib
import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass, replace

from service import eventually, free_port, request

NGINX = """
    daemon off; pid {folder}/pid; error_log stderr crit; worker_processes 1;
    events {{ worker_connections 256; }}
    http {{
        access_log off; default_type text/plain;
        client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
        uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
        proxy_cache_path {folder}/cache keys_zone=cache:16m use_temp_path=off;
        large_client_header_buffers 8 128k; proxy_buffer_size 128k; proxy_buffers 8 128k; proxy_busy_buffers_size 256k;
        server {{
            listen 127.0.0.1:{port};
            location / {{
                proxy_pass http://127.0.0.1:{origin}; proxy_http_version 1.1; proxy_set_header Connection "";
                proxy_cache cache; proxy_cache_key $request_uri; proxy_cache_revalidate on; proxy_cache_lock on;
                proxy_cache_background_update on; proxy_force_ranges on;
                proxy_cache_valid 200 203 204 300 301 308 404 405 410 414 501 10m;
            }}
        }}
    }}"""

VARNISH = """
    vcl 4.1;
    backend default {{ .host = "127.0.0.1"; .port = "{origin}"; }}
    sub vcl_recv {{
        if (req.method !~ "^(GET|HEAD|PUT|POST|TRACE|OPTIONS|DELETE|PATCH)$") {{ return (pass); }}
    }}
    sub vcl_backend_response {{
        set beresp.keep = 1d;
        if (bereq.method !~ "^(GET|HEAD|TRACE|OPTIONS|PROPFIND)$" && beresp.status < 400) {{
            ban("req.url == " + bereq.url);
            if (beresp.http.Location ~ "^/") {{ ban("req.url == " + beresp.http.Location); }}
            if (beresp.http.Content-Location ~ "^/") {{ ban("req.url == " + beresp.http.Content-Location); }}
        }}
    }}"""
VARNISH_SETTINGS = {"default_grace": "0", "http_gzip_support": "off", "http_resp_hdr_len": "128k", "http_resp_size": "256k", "http_max_hdr": "256", "workspace_backend": "1m",
                  "workspace_client": "1m"}


WINDOW = re.compile(r"(stale-while-revalidate|stale-if-error)=(\d+)")
LIFETIME = re.compile(r"(max-age|s-maxage)=(\d+)")


def really_aged(steps):
    """The same case with answers that grow old by waiting, for caches that look at no Age. A window of stale answers that is over
    is one of no length then; an open one stays."""
    return [aged_by_waiting(step) for step in steps]


def aged_by_waiting(step):
    ages = [int(line[5:]) for line in step.reply.fields if re.fullmatch(r"Age: \d+", line)]
    lifetimes = [int(found[1]) for line in step.reply.fields for found in LIFETIME.findall(line)]
    if not ages or not lifetimes or max(lifetimes) > ages[0]:
        return step
    staleness = ages[0] - max(lifetimes)

    def window(found):
        return found[0] if int(found[2]) > staleness else f"{found[1]}=0"

    fields = [WINDOW.sub(window, LIFETIME.sub(r"\1=1", line)) for line in step.reply.fields if not line.startswith("Age: ")]
    return replace(step, reply=replace(step.reply, fields=fields), pause=2.1)


@dataclass
class Peer:
    port: int
    title: str


@contextlib.contextmanager
def nginx(origin):
    with running("nginx", origin, NGINX, lambda folder, _: ["nginx", "-e", "stderr", "-c", folder / "configuration"],
                 ["nginx", "-v"]) as peer:
        yield peer


@contextlib.contextmanager
def varnish(origin):
    def command(folder, port):
        settings = [word for pair in VARNISH_SETTINGS.items() for word in ("-p", "=".join(pair))]
        return ["varnishd", "-F", "-n", folder / "work", "-a", f"127.0.0.1:{port}", "-f", folder / "configuration", *settings]

    with running("Varnish", origin, VARNISH, command, ["varnishd", "-V"]) as peer:
        yield peer


@contextlib.contextmanager
def running(name, origin, configuration, command, asks_version):
    """A cache in front of the origin, until the block ends."""
    told = subprocess.run(asks_version, capture_output=True, text=True, check=True)
    version = next(word for word in (told.stdout + told.stderr).replace("/", " ").replace("-", " ").split() if "." in word)
    with tempfile.TemporaryDirectory(prefix="holdfast-peer-") as path:
        folder, port = pathlib.Path(path), free_port()
        folder.chmod(0o755)  # it may go on as another user
        (folder / "configuration").write_text(configuration.format(folder=folder, port=port, origin=origin.port))
        process = subprocess.Popen(
            list(map(str, command(folder, port))), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            eventually(lambda: process.poll() is not None or answers(port))
            assert process.poll() is None, f"{name} does not start"
            yield Peer(port, f"{name} {version}")
        finally:
            process.terminate()
            process.wait(60)


def answers(port):
    try:
        return request(port, "GET", "/").status > 0
    except OSError:
        return False
