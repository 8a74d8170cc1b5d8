import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_svc.parsing.encoding import decode
from radref.errors import InvalidInput

RUSSIAN = (
    "Статья 13. Соблюдение врачебной тайны. Сведения о факте обращения гражданина за оказанием медицинской "
    "помощи, состоянии его здоровья и диагнозе составляют врачебную тайну. "
    "ПРИКАЗ МИНИСТЕРСТВА № 107н. Доза 5 мЗв."
)
GERMAN = "Größter Durchmesser ≥ 10 mm über der Höhe; Fläche in m², Maß für Übelkeit – “geprüft”.".replace(
    "≥ ", ""
)
ENGLISH = "The patient’s dose — 5 mSv ± 0.5 — “shall not” exceed 20 µSv/h at 25 °C."


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"]
)
@pytest.mark.parametrize("text", [RUSSIAN, GERMAN, ENGLISH, "plain ASCII text, nothing more"])
def test_unicode_encodings(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)).text == text


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "cp866"])
@pytest.mark.parametrize(
    "text", [RUSSIAN, RUSSIAN.upper(), "Доза облучения", "ЗАКЛЮЧЕНИЕ: норма", "<p>Норма дозы</p>"]
)
def test_cyrillic_code_pages(encoding: str, text: str) -> None:
    data = text.replace("—", "-").encode(encoding, errors="replace").replace(b"\xb9", b"N")
    expected = data.decode(encoding)
    assert decode(data).text == expected


SHORT = [
    "organ;мЗв\nlung;2,5\n",
    "Орган;Доза, мЗв\nЛёгкие;2,5\n",
    "Доза 5 мЗв",
    "КТ;мГр·см\nгрудь;420\n",
    "study,dose (мЗв)\nchest,0.1\n",
    "kV;мАс\n120;200\n",
    "ФИО;Год\nX;2020\n",
]


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "cp866"])
@pytest.mark.parametrize("text", SHORT)
def test_a_few_cyrillic_words_are_enough(encoding: str, text: str) -> None:
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding) == (text, encoding)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        # One word may be Russian by chance in a code page that it is not written in.
        ("дозы", "cp866"),
        ("מינון", "cp1255"),
        ("το όριο", "cp1253"),
        ("δόση;mSv\n", "cp1253"),
        ("جرعة", "cp1256"),
        ("ÄÖÜ", "cp1252"),
        ("线量和有效剂量", "gbk"),
        ("被ばく線量", "euc-jp"),
        ("Доза облучения", "iso8859-5"),
        ("Zażółć", "cp1250"),
    ],
)
def test_too_few_letters_or_another_code_page_are_refused(text: str, encoding: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode(text.encode(encoding))
    assert caught.value.reason == "UNDECODABLE_TEXT"


HEADERS = st.sampled_from(
    "Орган Доза дозы мЗв мГр·см лёгкие КТ МРТ УЗИ мА "
    "исследование грудь голова возраст лет кВ мАс чёткость".split()
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(HEADERS, min_size=1, max_size=6).map(";".join), st.sampled_from(["cp1251", "koi8-r", "cp866"])
)
def test_short_tables_are_decoded_right_or_refused(line: str, encoding: str) -> None:
    text = f"{line}\n1;2,5\n"
    try:
        decoded = decode(text.encode(encoding)).text
    except InvalidInput:
        return
    assert decoded == text


@pytest.mark.parametrize("text", [GERMAN, ENGLISH, "Élève à l’hôpital, où ça fonctionne déjà"])
def test_western_code_page(text: str) -> None:
    decoded = decode(text.encode("cp1252"))
    assert decoded.text == text
    assert decoded.encoding == "cp1252"


@pytest.mark.parametrize(
    "data",
    [
        "Zażółć gęślą jaźń, stwierdzono obecność złogów".encode("cp1250"),  # Polish: unsupported page
        RUSSIAN.encode("utf-8")[:60] + b"\xd0\x28\xff" + RUSSIAN.encode("utf-8")[60:],  # damaged UTF-8
        bytes(range(256)) * 4,
        b"\xff\xfe" + b"\x00\xd8\x00\x00",  # UTF-16 mark, lone surrogate
        "Η ακτινοβολία είναι επικίνδυνη".encode("cp1253"),
    ],
)
def test_refused_rather_than_garbled(data: bytes) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode(data)
    assert caught.value.reason == "UNDECODABLE_TEXT"


def test_declared_encoding_is_used_only_when_plausible() -> None:
    assert decode("Größe".encode("cp1252"), "iso-8859-1").text == "Größe"
    # A page that says koi8-r and is windows-1251 is read as what it is.
    assert decode(RUSSIAN.replace("№", "N").encode("cp1251"), "koi8-r").text == RUSSIAN.replace("№", "N")
    assert decode("Größe".encode("cp1252"), "no-such-codec").text == "Größe"


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    try:
        decoded = decode(data)
    except InvalidInput as exc:
        reason = exc.reason
    else:
        reason = "UNDECODABLE_TEXT"
        assert "\ufffd" not in decoded.text or b"\xef\xbf\xbd" in data
    assert reason == "UNDECODABLE_TEXT"


@settings(max_examples=100, deadline=None)
@given(
    st.text(
        st.characters(min_codepoint=32, max_codepoint=0x4FF, exclude_categories=["Cc", "Cn"]), max_size=200
    )
)
def test_utf8_round_trip(text: str) -> None:
    assert decode(text.encode("utf-8")).text == text
