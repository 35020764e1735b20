"""Following a folder: nothing is read half, nothing twice, silence is said."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from spectra.streams import watch
from spectra.streams.files import Inputs
from spectra.streams.quarantine import Quarantine
from spectra.streams.source import read
from spectra.streams.watch import Watch
from spectra.views.summary import Summary
from tests.unit.streams.conftest import Noting, events_of

A = "<urn:a> <urn:p> <urn:o> .\n"

needs_leases = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who has a file open")


@pytest.fixture
def look(tmp_path):
    watcher = Watch(Inputs(tmp_path))
    return lambda: [file.path.name for file in watcher.look()]


def test_a_file_is_handed_out_once_at_the_second_look(tmp_path, write, look, monkeypatch):
    monkeypatch.setattr(watch, "_is_open_for_writing", lambda path: False)
    write("1.nt", A)
    assert look() == []
    write("2.nt", A)
    assert look() == ["1.nt"]
    assert look() == ["2.nt"]
    (tmp_path / "1.nt").write_text(A + A)
    assert look() == look() == []


def test_a_file_that_grows_is_waited_for(write, look, monkeypatch):
    monkeypatch.setattr(watch, "_is_open_for_writing", lambda path: False)
    for lines in range(1, 4):
        write("1.nt", A * lines)
        assert look() == []
    assert look() == ["1.nt"]


@needs_leases
def test_a_file_that_is_open_for_writing_is_waited_for(tmp_path, look, monkeypatch):
    monkeypatch.setattr(watch, "SETTLED", 0.0)
    path = tmp_path / "1.nt"
    script = f"f = open({str(path)!r}, 'w'); f.write({A!r}); f.flush(); print('written', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "written\n"
        if watch._is_open_for_writing(path) is None:
            writer.communicate("\n")
            pytest.skip("this file system does not say who has a file open")
        for _ in range(3):
            assert look() == []
        writer.communicate("\n")
    assert look() == ["1.nt"]


@pytest.mark.parametrize(("text", "opened"), [(A, None), (A + "<urn:a> <ur", False), ("", False)])
def test_doubtful_files_must_settle(write, look, monkeypatch, text, opened):
    monkeypatch.setattr(watch, "_is_open_for_writing", lambda path: opened)
    write("1.nt", text)
    assert [look() for _ in range(3)] == [[], [], []]
    monkeypatch.setattr(watch, "SETTLED", 0.0)
    assert look() == ["1.nt"]


def test_unfinished_names_are_read_when_they_are_renamed(tmp_path, write, look):
    for name in ("1.nt.tmp", ".2.nt", "3.nt.part"):
        write(name, A)
    assert look() == look() == []
    (tmp_path / "1.nt.tmp").rename(tmp_path / "1.nt")
    look()
    deadline = time.monotonic() + 10
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert found == ["1.nt"]


def test_a_file_that_vanishes_is_forgotten(tmp_path, write, look, monkeypatch):
    monkeypatch.setattr(watch, "_is_open_for_writing", lambda path: False)
    write("1.nt", A)
    look()
    (tmp_path / "1.nt").unlink()
    assert look() == []
    write("1.nt", A)
    assert look() == []
    assert look() == ["1.nt"]


def test_following_gives_new_events_and_says_silence(tmp_path, write, monkeypatch):
    monkeypatch.setattr(watch, "POLL", 0.02)
    write("2.nt", A)
    write("1.nt", A)
    quarantine = Noting()
    batches = read(tmp_path).batches(Summary.everything(), quarantine, follow=True, idle=0.2)
    first = next(batch for batch in batches if batch is not None)
    assert [event.time for event in events_of(first)] == [1, 2]
    assert next(batches) is None
    writer = threading.Timer(0.05, lambda: (write("3.nt", A), write("9.rdfp", "")))
    writer.start()
    later = next(batch for batch in batches if batch is not None)
    writer.join()
    assert [event.time for event in events_of(later)] == [3]
    while not quarantine.bad:
        next(batches)
    assert [(line, reason) for _, line, reason, _ in quarantine.bad] == [(0, "not of the stream's form, .nt")]


def test_an_empty_folder_can_be_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "POLL", 0.01)
    assert next(read(tmp_path).batches(Summary.everything(), Quarantine(), follow=True, idle=0.05)) is None
