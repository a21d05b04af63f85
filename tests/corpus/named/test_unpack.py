"""Archives are not trusted: names that lead out, links, bombs, damage."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from seq2seq.corpus.named import unpack as unpacking
from seq2seq.corpus.named.unpack import unpack, unpack_all
from seq2seq.errors import CorpusError
from tests.corpus.named.archives import tar, zipped

FILES = {"training/a.fr": b"un\n", "training/a.en": b"one\n", "b.fr": b"deux\n"}


@pytest.fixture(params=["zip", "tgz", "tar"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"x.{request.param}"
    path.write_bytes(zipped(FILES) if request.param == "zip" else tar(FILES, "gz" if request.param == "tgz" else ""))
    return path


def test_members_are_written_and_joined_in_their_order(archive: Path, tmp_path: Path) -> None:
    unpack(archive, [["training/a.fr", "b.fr"], ["training/a.en"]], [tmp_path / "fr", tmp_path / "en"])
    assert (tmp_path / "fr").read_bytes() == b"un\ndeux\n"
    assert (tmp_path / "en").read_bytes() == b"one\n"


def test_all_files_keep_their_places(archive: Path, tmp_path: Path) -> None:
    unpack_all(archive, tmp_path / "all")
    found = {path.relative_to(tmp_path / "all").as_posix() for path in (tmp_path / "all").rglob("*") if path.is_file()}
    assert found == set(FILES)


def test_a_member_that_is_missing_is_named_with_those_that_are_there(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"has no file a.fr \(there are: training/a.fr, training/a.en, b.fr\)"):
        unpack(archive, [["a.fr"]], [tmp_path / "fr"])


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside", "a\\..\\..\\outside", "C:outside"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str, kind: str) -> None:
    archive = tmp_path / "x"
    archive.write_bytes(zipped({name: b"x"}) if kind == "zip" else tar({name: b"x"}))
    with pytest.raises(CorpusError, match="which would lie outside its folder; remove the archive"):
        unpack_all(archive, tmp_path / "all")
    assert not list(tmp_path.glob("*outside*")) and not Path("/outside").exists()


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as opened:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            member = tarfile.TarInfo(f"link{kind!r}")
            member.type, member.linkname = kind, "/etc/passwd"
            opened.addfile(member)
    (tmp_path / "x.tar").write_bytes(buffer.getvalue())
    unpack_all(tmp_path / "x.tar", tmp_path / "all")
    assert not (tmp_path / "all").exists()
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as opened_zip:
        opened_zip.writestr(link, "/etc/passwd")
    unpack_all(tmp_path / "x.zip", tmp_path / "all")
    assert not (tmp_path / "all").exists()
    with pytest.raises(CorpusError, match="has no file link"):
        unpack(tmp_path / "x.zip", [["link"]], [tmp_path / "fr"])


def test_what_becomes_too_large_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "_ALWAYS_ALLOWED", 1000)
    (tmp_path / "x.zip").write_bytes(zipped({"a.fr": bytes(3_000_000)}))
    with pytest.raises(CorpusError, match="unpacks to more than 100 times its size, which no text does"):
        unpack(tmp_path / "x.zip", [["a.fr"]], [tmp_path / "fr"])
    assert (tmp_path / "fr").stat().st_size < 2_000_000


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "_MOST_MEMBERS", 2)
    for archive, content in (("x.zip", zipped(FILES)), ("x.tar", tar(FILES))):
        (tmp_path / archive).write_bytes(content)
        with pytest.raises(CorpusError, match="has more than 2 members"):
            unpack_all(tmp_path / archive, tmp_path / "all")


@pytest.mark.parametrize("kind", ["zip", "tgz", "text"])
def test_a_damaged_archive_is_told(tmp_path: Path, kind: str) -> None:
    text = bytes(range(256)) * 400
    content = {"zip": zipped({"a.fr": text}), "tgz": tar({"a.fr": text}, "gz"), "text": b"<html>log in</html>"}[kind]
    (tmp_path / "x").write_bytes(content[:60] + b"\0\0\0\0" + content[64:] if kind != "text" else content)
    with pytest.raises(CorpusError, match=r"is no archive, or a damaged one \(.*\); remove it with `python -m"):
        unpack(tmp_path / "x", [["a.fr"]], [tmp_path / "fr"])
