"""nginx and Apache httpd with DAV, as Debian packages them, on loopback with a configuration of their own and no privileges."""

import http.client
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

from service import eventually, free_port

NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
  log_format asked "$status $request_method $request_uri";
  access_log {folder}/access.log asked;
  types {{ text/plain txt; image/png png; }}
  default_type application/octet-stream;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_max_body_size 0;
  server {{
    listen 127.0.0.1:{port};
    root {folder}/files;
    location / {{ dav_methods PUT DELETE MKCOL; create_full_put_path on; }}
  }}
}}
"""

APACHE = """
ServerRoot {folder}
DefaultRuntimeDir {folder}
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
LogFormat "%>s %m %U%q" asked
CustomLog {folder}/access.log asked
ServerName localhost
Listen 127.0.0.1:{port}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule mime_module {modules}/mod_mime.so
LoadModule dav_module {modules}/mod_dav.so
LoadModule dav_fs_module {modules}/mod_dav_fs.so
TypesConfig {folder}/mime.types
AddType text/plain txt
AddType image/png png
DocumentRoot {folder}/files
DavLockDB {folder}/locks
<Directory {folder}/files>
  Require all granted
  Dav On
</Directory>
"""


class WebServer:
    def __init__(self, kind):
        self.kind = kind
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-web-"))
        self.files = self.folder / "files"
        self.files.mkdir()
        (self.folder / "mime.types").touch()
        self.port = free_port()
        self.process = None
        template = NGINX if kind == "nginx" else APACHE
        self.config = self.folder / "conf"
        self.config.write_text(template.format(
            folder=self.folder, port=self.port, modules="/usr/lib/apache2/modules"))
        # Started by root they run as a user without rights.
        self.user = "nobody" if os.getuid() == 0 else None
        self.own(self.folder, self.files)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def own(self, *paths):
        if self.user:
            user = pwd.getpwnam(self.user)
            for path in paths:
                os.chown(path, user.pw_uid, user.pw_gid)

    def start(self):
        command = (["nginx", "-e", str(self.folder / "error.log"), "-c", str(self.config)] if self.kind == "nginx"
                   else ["apache2", "-DFOREGROUND", "-f", str(self.config)])
        group = pwd.getpwnam(self.user).pw_gid if self.user else None
        self.process = subprocess.Popen(
            command, user=self.user, group=group, extra_groups=[] if self.user else None, cwd=self.folder,
            env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"})
        eventually(self.answers, 10)
        return self

    def answers(self):
        assert self.process.poll() is None, (self.folder / "error.log").read_text()
        try:
            return self.get("/").status
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(10)

    def close(self):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def put(self, name, body, modified=1_700_000_000):
        """Changes a file as another client would; long ago, so that its tag is strong."""
        path = self.files / name
        path.write_bytes(body)
        os.utime(path, (modified, modified))
        self.own(path)

    def asked(self):
        """Status, method and target of each request so far, as the server understood it; `-` where it did not."""
        lines = (self.folder / "access.log").read_bytes().splitlines()
        return [(int(status), method, target) for status, method, target in (line.split(b" ", 2) for line in lines)]

    def get(self, target, **headers):
        """Asks the server itself."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            answer.content = answer.read()
            return answer
        finally:
            connection.close()
