"""RTF, legacy Office and OpenDocument files through the installed LibreOffice."""

from __future__ import annotations

import http.server
import io
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from ingest_svc.document import render
from ingest_svc.parsing import libreoffice, libreoffice_child, libreoffice_profile
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.libreoffice import check_readable, convert, garbled_share
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from ingest_svc.parsing.worker import ParserPool
from radref.errors import DeadlineExceeded, InvalidInput

needs_libreoffice = pytest.mark.skipif(libreoffice.program() is None, reason="LibreOffice is not installed")
CORPUS = Path(__file__).resolve().parents[4] / "shared" / "data" / "corpus"
RUSSIAN = "Рентгенологическое исследование грудной клетки"
# A cold start takes seconds on a busy machine.
LIMITS = ParseLimits(timeout_seconds=300)


def escaped(text: str, encoding: str) -> str:
    return "".join(f"\\'{byte:02x}" for byte in text.encode(encoding))


def rtf(body: str, *, codepage: int = 1251, charset: int = 204) -> bytes:
    fonts = f"{{\\fonttbl{{\\f0\\fcharset{charset} Arial;}}}}"
    return f"{{\\rtf1\\ansi\\ansicpg{codepage}\\deff0{fonts}\\f0 {body}}}".encode("ascii")


def opendocument(kind: str, body: str, manifest: str = "") -> bytes:
    names = "".join(
        f' xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{prefix}:1.0"'
        for prefix in ("office", "text", "table")
    )
    media = f"application/vnd.oasis.opendocument.{kind}"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", media)
        archive.writestr(
            "META-INF/manifest.xml",
            '<?xml version="1.0"?><manifest:manifest '
            'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{media}"/>'
            f'<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">{manifest}'
            "</manifest:file-entry></manifest:manifest>",
        )
        archive.writestr(
            "content.xml",
            f'<?xml version="1.0"?><office:document-content{names} '
            'xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'office:version="1.2"><office:body><office:{kind}>{body}</office:{kind}></office:body>'
            "</office:document-content>",
        )
    return buffer.getvalue()


def markdown(data: bytes, name: str) -> str:
    return render(parse_file(data, name, LIMITS).blocks)[0]


@needs_libreoffice
def test_rtf_in_a_russian_code_page_and_in_unicode_escapes() -> None:
    unicode_escapes = "".join(f"\\u{ord(char)}?" for char in "Доза")
    heading = escaped("Глава 1. Общие положения", "cp1251")
    body = f"{{\\b {heading}}}\\par {escaped(RUSSIAN, 'cp1251')}.\\par {unicode_escapes} 20\\par"
    document = parse_file(rtf(body), "акт.rtf", LIMITS)
    assert render(document.blocks)[0] == f"# Глава 1. Общие положения\n\n{RUSSIAN}.\n\nДоза 20"
    assert document.report.format == "rtf"
    assert document.report.parser == "libreoffice+python-docx"
    # Word writes and opens RTF under .doc.
    assert RUSSIAN in markdown(rtf(body), "акт.doc")


@needs_libreoffice
@pytest.mark.parametrize(
    ("data", "name"),
    [
        # The bytes are windows-1251, the header says windows-1252.
        (rtf(escaped(RUSSIAN, "cp1251") + "\\par", codepage=1252, charset=0), "mojibake.rtf"),
        (b"{\\rtf1 ", "cut.rtf"),
        (b"{\\rtf1 \xff\xfe\x00\x01" + bytes(range(256)) * 20, "rubbish.rtf"),
        (b"{\\rtf1\\ansi\\par\\par}", "empty.rtf"),
        (opendocument("text", "<text:p>never closed"), "broken.odt"),
    ],
)
def test_damaged_garbled_and_empty_files_are_refused(data: bytes, name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_file(data, name, LIMITS)
    assert caught.value.reason == "CORRUPT_FILE"
    assert "Save" in caught.value.message or "save" in caught.value.message


@needs_libreoffice
@pytest.mark.parametrize(("suffix", "target"), [("doc", "doc"), ("odt", "odt")])
def test_word_documents_of_other_kinds(
    tmp_path: Path, hand_profile: Path, new_docx: Callable[[], Any], suffix: str, target: str
) -> None:
    document = new_docx()
    document.add_heading("Нормы", 1)
    document.add_paragraph("Предел дозы персонала 20 мЗв в год.")
    document.add_paragraph("первое", style="List Number")
    made = converted_by_hand(tmp_path, hand_profile, document, "docx", suffix)
    parsed = parse_file(made, f"нормы.{suffix}", LIMITS)
    assert render(parsed.blocks)[0] == "# Нормы\n\nПредел дозы персонала 20 мЗв в год.\n\n1. первое"
    assert parsed.report.format == target


@pytest.fixture(scope="module")
def hand_profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One profile for all files that the tests make: the first start in a new one takes the longest."""
    return tmp_path_factory.mktemp("profile")


def converted_by_hand(folder: Path, profile: Path, document: Any, source: str, suffix: str) -> bytes:
    """A file of an old format: nothing but LibreOffice can write it here."""
    document.save(folder / f"given.{source}")
    binary = libreoffice.program()
    assert binary is not None
    command = [
        binary,
        "--headless",
        f"-env:UserInstallation={profile.as_uri()}",
        "--convert-to",
        suffix,
        "--outdir",
        str(folder),
        str(folder / f"given.{source}"),
    ]
    for _ in range(2):
        # The first start in a new profile may only ask to be started again.
        subprocess.run(command, check=False, capture_output=True, timeout=300)
        if (folder / f"given.{suffix}").exists():
            break
    return (folder / f"given.{suffix}").read_bytes()


@needs_libreoffice
@pytest.mark.parametrize("suffix", ["xls", "ods"])
def test_old_workbooks(tmp_path: Path, hand_profile: Path, suffix: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    for row in (["Орган", "мЗв"], ["лёгкие", 0.25]):
        workbook.active.append(row)
    workbook.active["B2"].number_format = "0.00"
    made = converted_by_hand(tmp_path, hand_profile, workbook, "xlsx", suffix)
    assert markdown(made, f"book.{suffix}") == "# Sheet\n\n| Орган | мЗв |\n| --- | --- |\n| лёгкие | 0.25 |"


@needs_libreoffice
@pytest.mark.parametrize("suffix", ["ppt", "odp"])
def test_old_presentations(tmp_path: Path, hand_profile: Path, suffix: str) -> None:
    pptx = pytest.importorskip("pptx")
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Защита"
    slide.placeholders[1].text_frame.text = "время"
    slide.placeholders[1].text_frame.add_paragraph().text = "расстояние"
    made = converted_by_hand(tmp_path, hand_profile, deck, "pptx", suffix)
    parsed = parse_file(made, f"deck.{suffix}", LIMITS)
    assert render(parsed.blocks)[0] == "# Защита\n\n- время\n- расстояние"
    assert parsed.report.pages == 1


@pytest.fixture
def web() -> Iterator[tuple[str, list[str]]]:
    """A web server on loopback and the paths it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"fetched text")

        do_HEAD = do_OPTIONS = do_PROPFIND = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    thread.join()
    server.server_close()


@needs_libreoffice
def test_links_are_followed_neither_to_the_net_nor_to_files(
    tmp_path: Path, web: tuple[str, list[str]]
) -> None:
    address, asked = web
    secret = tmp_path / "secret.txt"
    secret.write_text("a file of the server")
    sections = "".join(
        f'<text:section text:name="s{at}"><text:section-source xlink:type="simple" xlink:href="{link}"/>'
        f"<text:p>kept {at}</text:p></text:section>"
        for at, link in enumerate((f"{address}/text", secret.as_uri()))
    )
    assert markdown(opendocument("text", sections), "linked.odt") == "kept 0\n\nkept 1"
    fields = (
        f'Start {{\\field{{\\*\\fldinst INCLUDEPICTURE "{address}/p.png" \\\\d}}{{\\fldrslt one}}}} '
        f'{{\\field{{\\*\\fldinst INCLUDETEXT "{secret.as_uri()}"}}{{\\fldrslt two}}}} end'
    )
    text = markdown(rtf(fields), "linked.rtf")
    assert "Start" in text
    assert "server" not in text
    cell = (
        '<table:table table:name="T"><table:table-row>'
        f'<table:table-cell table:formula="of:=WEBSERVICE(&quot;{address}/w&quot;)" '
        'office:value-type="string">'
        "<text:p>x</text:p></table:table-cell>"
        '<table:table-cell office:value-type="string"><text:p>plain</text:p></table:table-cell>'
        "</table:table-row></table:table>"
    )
    assert "plain" in markdown(opendocument("spreadsheet", cell), "linked.ods")
    assert asked == []


@needs_libreoffice
def test_time_limit_ends_the_whole_group() -> None:
    with pytest.raises(DeadlineExceeded) as caught:
        convert(rtf("x\\par" * 1000), FileFormat.RTF, ParseLimits(timeout_seconds=0.05))
    assert caught.value.reason == "PARSE_TIMEOUT"
    assert not [child for child in psutil.Process().children(recursive=True) if "soffice" in child.name()]
    # The profile is made anew and works.
    assert markdown(rtf("later\\par"), "later.rtf") == "later"


@needs_libreoffice
async def test_converts_in_a_worker_under_its_memory_limit() -> None:
    pool = ParserPool(LIMITS)
    try:
        document = await pool.parse(rtf(escaped(RUSSIAN, "cp1251") + "\\par"), "a.rtf")
    finally:
        await pool.close()
    assert render(document.blocks)[0] == RUSSIAN


def test_a_child_dies_with_its_parent() -> None:
    """The parent is a process of its own that starts a sleeper through the launcher and is killed."""
    launcher = [sys.executable, "-I", "-S", libreoffice_child.__file__]
    script = (
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen([*{launcher!r}, str(os.getpid()), str(1 << 32), '1000', "
        "sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    while "time.sleep" not in " ".join(child.cmdline()):
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    # Whoever adopts it may leave it unreaped for a while.
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.02)


def test_profiles_of_dead_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libreoffice_profile.tempfile, "gettempdir", lambda: str(tmp_path))
    abandoned = tmp_path / "radref-libreoffice-1-gone"
    abandoned.mkdir()
    (abandoned / "owner.lock").touch()
    other = tmp_path / "radref-libreoffice-2-being-made"
    other.mkdir()
    profile = libreoffice_profile._profile_of.__wrapped__(os.getpid())
    second = libreoffice_profile._profile_of.__wrapped__(os.getpid())
    try:
        assert not abandoned.exists()
        assert other.exists()
        assert profile.folder.exists()
        settings = (profile.installation / "user" / "registrymodifications.xcu").read_text()
        assert "DisableMacrosExecution" in settings
    finally:
        os.close(profile.lock)
        os.close(second.lock)


def test_missing_libreoffice_is_an_unsupported_format_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for data, name, advice in (
        (rtf("x"), "a.rtf", ".docx"),
        (opendocument("text", "<text:p>x</text:p>"), "a.odt", ".docx"),
        (opendocument("spreadsheet", ""), "a.ods", ".xlsx"),
        (opendocument("presentation", ""), "a.odp", ".pptx"),
    ):
        with pytest.raises(InvalidInput, match=advice) as caught:
            parse_file(data, name, ParseLimits())
        assert caught.value.reason == "UNSUPPORTED_FORMAT"


def test_encrypted_opendocument_is_told_before_any_conversion() -> None:
    locked = opendocument("text", "", "<manifest:encryption-data/>")
    with pytest.raises(InvalidInput) as caught:
        parse_file(locked, "a.odt", ParseLimits())
    assert caught.value.reason == "PASSWORD_PROTECTED"


def test_garbled_text_is_told_from_languages_with_accents() -> None:
    for good in (RUSSIAN, "Größe, Überschrift, naïve façade, cœur, señor, œdème aiguë", "", "Why??? 20 mSv"):
        check_readable(good)
    for bad in (RUSSIAN.encode("cp1251").decode("cp1252"), "????? ??????????? 20"):
        assert garbled_share(bad) > 0.5
        with pytest.raises(InvalidInput):
            check_readable(bad)


@needs_libreoffice
@pytest.mark.data
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared data folder is absent")
@pytest.mark.parametrize("pattern", ["*.rtf", "*.doc"])
def test_russian_acts_come_out_whole(pattern: str) -> None:
    files = sorted(CORPUS.glob(pattern), key=lambda path: path.stat().st_size)
    assert files
    for path in dict.fromkeys((files[0], files[-1])):
        document = parse_file(path.read_bytes(), path.name, LIMITS)
        text, _ = render(document.blocks)
        assert document.report.language == "ru"
        assert document.report.unreadable_share == 0
        assert garbled_share(text) == 0
        assert "\ufffd" not in text
