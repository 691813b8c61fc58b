"""The program as it is started from a shell."""

import subprocess

import pytest
from service import BINARY, eventually, free_port, request


@pytest.mark.parametrize("folder", ["d", "a/b", "./c"])
def test_a_relative_data_folder_is_made_where_the_program_was_started(tmp_path, folder):
    port = free_port()
    process = subprocess.Popen(
        [BINARY, "--origin", "http://127.0.0.1:9", "--listen", f"127.0.0.1:{port}", "--data", folder],
        cwd=tmp_path, stderr=subprocess.DEVNULL)

    def is_ready():
        assert process.poll() is None, f"ended with {process.returncode}"
        try:
            return request(port, "GET", "/health/ready").status == 200
        except OSError:
            return False

    try:
        eventually(is_ready)
        assert (tmp_path / folder / "holdfast.sqlite").is_file()
    finally:
        process.terminate()
        process.wait(20)


def test_a_file_of_certificates_that_cannot_be_read_is_told_at_the_start(tmp_path):
    ended = subprocess.run(
        [BINARY, "--origin", "https://127.0.0.1:9", "--ca-file", "missing.pem", "--data", "d"], cwd=tmp_path,
        capture_output=True, text=True, timeout=20)
    assert ended.returncode != 0
    assert "caFile: missing.pem can't be read: No such file or directory" in ended.stderr
