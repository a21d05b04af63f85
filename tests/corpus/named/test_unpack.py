"""Archives are not trusted: names that lead out, links, bombs, damage."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from seq2seq.corpus.named import unpack as unpacking
from seq2seq.corpus.named.unpack import unpack
from seq2seq.errors import CorpusError
from tests.corpus.named.archives import tar, zipped

FILES = {"training/a.fr": b"un\n", "./training/a.en": b"one\n", "b.fr": b"deux\n"}


def packed(folder: Path, kind: str, files: Mapping[str, bytes]) -> Path:
    archive = folder / f"x.{kind}"
    archive.write_bytes(zipped(files) if kind == "zip" else tar(files, "gz" if kind == "tgz" else ""))
    return archive


def unpacked(archive: Path, folder: Path, wanted: set[str] | None = None) -> dict[str, bytes]:
    unpack(archive, folder, wanted)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", ["zip", "tgz", "tar"])
def test_what_is_wanted_comes_out_and_nothing_else(tmp_path: Path, kind: str) -> None:
    archive = packed(tmp_path, kind, FILES)
    assert unpacked(archive, tmp_path / "one", {"training/a.en"}) == {"training/a.en": b"one\n"}
    assert unpacked(archive, tmp_path / "all") == {name.removeprefix("./"): text for name, text in FILES.items()}
    message = r"has no file \\x1b\[2Ja.fr \(there are: training/a.fr, training/a.en, b.fr\)"
    with pytest.raises(CorpusError, match=message):
        unpack(archive, tmp_path / "fr", {"\x1b[2Ja.fr"})


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_of_two_files_with_one_name_the_last_one_counts(tmp_path: Path, kind: str) -> None:
    twice = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(twice, "w") as opened:
            opened.writestr("a", b"first")
            opened.writestr("./a", b"2nd")
    else:
        twice.write(tar({"a": b"first"})[:1024] + tar({"./a": b"2nd"}))
    (tmp_path / "x").write_bytes(twice.getvalue())
    assert unpacked(tmp_path / "x", tmp_path / "all") == {"a": b"2nd"}


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "../\x1b[2Joutside"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str, kind: str) -> None:
    with pytest.raises(CorpusError, match="which would lie outside its folder; remove the archive") as caught:
        unpack(packed(tmp_path, kind, {name: b"x"}), tmp_path / "all")
    assert not list(tmp_path.glob("*outside*")) and str(caught.value).isprintable()


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_name_from_the_root_stays_in_the_folder(tmp_path: Path, kind: str) -> None:
    archive = packed(tmp_path, kind, {"/outside": b"x"})
    assert unpacked(archive, tmp_path / "all") == {"outside": b"x"} and not Path("/outside").exists()


def header(kind: bytes, size: int, name: str = "x") -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname = kind, size, "/etc/passwd"
    return member.tobuf(tarfile.GNU_FORMAT)


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
    (tmp_path / "x.tar").write_bytes(b"".join(header(kind, 0) for kind in kinds) + tar({"a": b"a"}))
    link = zipfile.ZipInfo("x")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as opened:
        opened.writestr(link, "/etc/passwd")
        opened.writestr("a", b"a")
    for archive in (tmp_path / "x.tar", tmp_path / "x.zip"):
        assert unpacked(archive, tmp_path / "all") == {"a": b"a"}
        with pytest.raises(CorpusError, match="has no file x "):
            unpack(archive, tmp_path / "all", {"x"})


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_what_becomes_too_large_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(unpacking, "_ALWAYS_ALLOWED", 1000)
    archive = packed(tmp_path, kind, {"a": b"a", "b": bytes(3_000_000)})
    with pytest.raises(CorpusError, match="unpacks to more than 100 times its size, which no text does"):
        unpack(archive, tmp_path / "all")
    assert [path.name for path in (tmp_path / "all").iterdir()] == ["a"]


def sparse() -> tuple[bytes, bytes]:
    """A file with holes whose list of them has no end."""
    member = tarfile.TarInfo("x")
    member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    return member.tobuf(tarfile.PAX_FORMAT) + b"999999999\n".ljust(512, b"7"), b"\n7" * 256


@pytest.mark.parametrize(
    ("begin", "block"),
    [
        *((header(kind, 2_500_000_000), bytes(512)) for kind in (b"L", b"K", b"x", b"g")),
        ((header(b"S", 512)[:482] + b"\1").ljust(512, b"\0"), (b"00000000007\0" * 42).ljust(512, b"\1")),
        sparse(),
    ],
    ids=["long name", "long link", "pax", "global pax", "holes", "pax holes"],
)
def test_headers_without_an_end_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: bytes, block: bytes
) -> None:
    monkeypatch.setattr(unpacking._Bounded, "left", 100_000)
    begin = begin[:148] + b"%06o\0 " % sum(begin[:148] + b" " * 8 + begin[156:512]) + begin[156:]  # its checksum
    (tmp_path / "x.tgz").write_bytes(gzip.compress(begin + block * 1000))
    with pytest.raises(CorpusError, match=r"damaged one \(its list of files takes more than 8,388,608 bytes\)"):
        unpack(tmp_path / "x.tgz", tmp_path / "all")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(unpacking._Bounded, "left", 3000)
    archive = packed(tmp_path, kind, {f"{number:0100}": b"" for number in range(50)})
    with pytest.raises(CorpusError, match=r"damaged one \(its list of files takes more than 8,388,608 bytes\)"):
        unpack(archive, tmp_path / "all")


@pytest.mark.parametrize("kind", ["zip", "gz", "bz2", "xz", "text"])
def test_a_damaged_archive_is_told(tmp_path: Path, kind: str) -> None:
    text = bytes(range(256)) * 400
    others = {"zip": zipped({"a.fr": text}), "text": b"<html>log in</html>"}
    content = others.get(kind) or tar({"a.fr": text}, kind)
    (tmp_path / "x").write_bytes(content[:60] + b"\0\0\0\0" + content[64:] if kind != "text" else content)
    with pytest.raises(CorpusError, match=r"is no archive, or a damaged one \(.*\); remove it, and fetch it again"):
        unpack(tmp_path / "x", tmp_path / "all")
