"""How each contestant is configured. The configurations are fair on purpose: no access log, keep-alive without a limit, one
worker for each core, caches in memory or in the page cache."""

import json

from harness import ALONE, LOAD_CORE, ask, free_port

NGINX = """
worker_processes {workers};
daemon off;
pid nginx.pid;
error_log error.log crit;
events {{ worker_connections 16384; }}
http {{
  access_log off;
  default_type application/octet-stream;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  client_body_temp_path body_temp; proxy_temp_path proxy_temp;
  fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  client_max_body_size 0;
  open_file_cache max=10000; open_file_cache_valid 600s;
  {http}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    {server}
  }}
}}
"""

SMALL = "sendfile off; tcp_nopush off;"
LARGE = "sendfile on; tcp_nopush on;"


def nginx(space, name, server, http=SMALL, cores=ALONE):
    port = free_port()
    prefix = space.folder / f"nginx-{port}"
    prefix.mkdir()
    (prefix / "nginx.conf").write_text(NGINX.format(port=port, server=server, http=http, workers=len(cores)))
    return space.start(name, ["nginx", "-p", prefix, "-c", "nginx.conf"], port, cores=cores)


def nginx_static(space, root, http=SMALL, cores=ALONE):
    return nginx(space, "nginx static", f"root {root};", http, cores)


def nginx_cache(space, origin, http=SMALL, cores=ALONE, folder="nginx-cache", keys="64m"):
    http += f"""
  proxy_cache_path {folder} levels=1:2 keys_zone=cache:{keys} max_size=20g inactive=600m use_temp_path=off;
  upstream origin {{ server 127.0.0.1:{origin.port}; keepalive 256; }}"""
    return nginx(space, "nginx proxy_cache", """
    location / {
      proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_cache cache; proxy_cache_valid 200 600m; proxy_cache_revalidate on;
    }""", http, cores)


def nginx_proxy(space, origin, name="nginx proxy_pass"):
    http = SMALL + f"upstream origin {{ server 127.0.0.1:{origin.port}; keepalive 256; }}"
    return nginx(space, name, """
    location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; }""", http)


def nginx_origin(space, root=None):
    """The origin of the other contestants, on the load generator's core. Anything but GET and HEAD: 204; what is under
    /any/ has the content of /1024."""
    files = f"root {root};" if root else ""
    return nginx(space, "origin", f"""
    {files}
    add_header Cache-Control max-age=86400;
    location / {{ if ($request_method !~ ^(GET|HEAD)$) {{ return 204; }} }}
    location /any/ {{ rewrite ^ /1024 break; }}""", cores=(LOAD_CORE,))


def nginx_no_content(space, cores=ALONE):
    return nginx(space, "nginx return 204", "location / { return 204; }", cores=cores)


def varnish(space, origin, cores=ALONE):
    port = free_port()
    folder = space.folder / f"varnish-{port}"
    server = space.start("varnish", [
        "varnishd", "-F", "-n", folder, "-a", f"127.0.0.1:{port}", "-b", f"127.0.0.1:{origin.port}",
        "-s", "malloc,1g", "-p", "vsl_mask=-ReqStart", "-p", "timeout_idle=600",
        "-p", "thread_pools=1", "-p", "thread_pool_min=64"], port, cores=cores)
    return server


def redis(space):
    port = free_port()
    folder = space.folder / f"redis-{port}"
    folder.mkdir()
    return space.start("Redis, appendfsync always", [
        "redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", "",
        "--appendonly", "yes", "--appendfsync", "always"], port)


def bare_loop(space, answer):
    """A libevent loop that writes the same bytes as `answer`."""
    port = free_port()
    file = space.folder / "answer"
    file.write_bytes(answer)
    return space.start("bare libevent loop", [space.peers / "bare_loop", port, file], port)


def slow_origin(space, milliseconds):
    port = free_port()
    return space.start(f"origin of {milliseconds} ms", [space.peers / "slow_origin", port, milliseconds], port,
                       cores=(LOAD_CORE,))


def holdfast(space, origin, name="Holdfast", data=None, cores=ALONE, wait=True, **config):
    """The product with a loop thread for each of `cores` and a configuration file of the given keys; `origin` is a server,
    `data` a folder to go on with."""
    port = free_port()
    file = space.folder / f"{name}.json"
    file.write_text(json.dumps({"origin": f"http://127.0.0.1:{origin.port}", **config}))

    def is_ready():
        try:
            return ask(port, "GET", "/health/ready", timeout=2)[0] == 200
        except OSError:
            return False

    return space.start(name, [
        space.binary, "--config", file, "--listen", f"127.0.0.1:{port}", "--threads", len(cores),
        "--data", data or space.folder / f"{name}-data"], port, cores=cores, ready=is_ready if wait else lambda: True)
