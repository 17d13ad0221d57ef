"""Messages of `make sanitize`; the target itself is part of `make test-all`."""

import pytest

from support.sanitize import OTHER_BUILDS, ROOT, VARIANTS, find_library


def test_missing_compiler_is_named(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(SystemExit, match=r"needs g\+\+ .*no-such-compiler"):
        find_library("libasan.so")


def test_missing_sanitizer_library_is_named(monkeypatch, tmp_path):
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\necho libasan.so\n")  # as gcc answers for a library that it does not have
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(SystemExit, match=r"libasan\.so"):
        find_library("libasan.so")


def test_all_listed_tests_exist():
    for path in {test.partition("::")[0] for variant in VARIANTS for test in variant.tests}:
        assert (ROOT / path).exists(), path
    assert (ROOT / OTHER_BUILDS).exists()
