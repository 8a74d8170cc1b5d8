import pytest

from ingest_svc.document import render
from ingest_svc.parsing.html import declared_encoding, parse_html
from ingest_svc.parsing.scripts import superscript
from radref.errors import InvalidInput


def markdown(body: str) -> str:
    return render(parse_html(f"<html><head><title>T</title></head><body>{body}</body></html>").blocks)[0]


def test_headings_lists_and_definitions() -> None:
    body = (
        "<h2>Bones</h2><ul><li>long<ul><li>femur</li></ul></li><li>short</li></ul>"
        "<ol start=3><li>three</li><li>four</li></ol><dl><dt>os</dt><dd>bone</dd></dl>"
        "<blockquote>said</blockquote><pre>a  b</pre>text<br>goes on"
    )
    assert markdown(body) == (
        "## Bones\n\n- long\n  - femur\n- short\n\n"
        "3. three\n4. four\n\n- os: bone\n\n> said\n\n```\na  b\n```\n\n"
        "text goes on"
    )


def test_table_spans_are_expanded_and_headers_joined() -> None:
    body = (
        "<table><caption>Limits</caption><thead><tr><th rowspan=2>Who</th><th colspan=2>Dose</th></tr>"
        "<tr><th>year</th><th>month</th></tr></thead>"
        "<tr><td rowspan=2>staff</td><td>20</td><td>2</td></tr><tr><td>a|b</td><td></td></tr></table>"
    )
    assert markdown(body) == (
        "Limits\n\n| Who | Dose / year | Dose / month |\n| --- | --- | --- |\n"
        "| staff | 20 | 2 |\n| staff | a\\|b |  |"
    )


def test_hostile_spans_are_bounded() -> None:
    cells = "<td colspan=1000 rowspan=100000>x</td>" * 900
    assert "x" in markdown(f"<table>{'<tr>' + cells + '</tr>'}<tr><td>y</td></tr></table>")


def test_page_chrome_is_dropped_and_content_kept() -> None:
    body = (
        "<header><nav>Menu</nav><h1>Act</h1></header><div class='cookie-banner'>We use cookies</div>"
        "<main><p>Rule one.</p><aside>Note inside.</aside><div class='share-buttons'>Tweet</div>"
        "<form><input type=search placeholder=Search></form></main><aside>Ads</aside>"
        "<p hidden>secret</p><div style='display: none'>x</div><footer>Imprint</footer><script>1</script>"
    )
    assert markdown(body) == "# Act\n\nRule one.\n\nNote inside."


def test_wrapper_that_looks_like_chrome_is_kept_when_it_is_the_page() -> None:
    page = "<div class='sidebar-layout'><p>Rule one is long enough.</p><nav>Menu</nav></div>"
    assert markdown(page) == "Rule one is long enough."


def test_form_fields_show_what_a_reader_sees() -> None:
    body = (
        "<label><span>Modality</span>"
        "<select><option>–</option><option>CT</option><option>MRT</option></select></label>"
        "<label>Size <input type=number placeholder='mm'></label>"
        "<label><input type=radio> accepted</label>"
        "<label>Free <textarea placeholder='e.g. none'></textarea></label>"
    )
    assert markdown(body) == "- Modality\n  - CT\n  - MRT\n- Size\n  - mm\n- accepted\n- Free\n  - e.g. none"


def test_exponents_do_not_melt_into_numbers() -> None:
    assert markdown(
        "<p>10<sup>3</sup> Bq, cm<sup>2</sup>, Na<sup>+</sup>, H<sub>2</sub>O, 5<sup>-2</sup></p>"
    ) == ("10^3 Bq, cm2, Na+, H2O, 5^-2")
    assert superscript("2", "nd") == "nd"


def test_soft_hyphens_and_inline_tags() -> None:
    assert markdown("<p>ra\u00addio<b>logy</b>\u00a0\u00a0x</p>") == "radiology x"


def test_layout_table_is_walked() -> None:
    assert (
        markdown("<table><tr><td><h2>A</h2><p>one</p></td><td><p>two</p></td></tr></table>")
        == "## A\n\none\n\ntwo"
    )


def test_declared_encoding() -> None:
    assert declared_encoding(b'<html><meta charset="windows-1251">') == "windows-1251"
    assert declared_encoding(b'<meta http-equiv=x content="text/html; charset=koi8-r">') == "koi8-r"
    assert declared_encoding(b"<html>") == ""


def test_deep_nesting_is_no_crash() -> None:
    assert parse_html("<div>" * 150 + "deep" + "</div>" * 150).blocks[0].text == "deep"
    with pytest.raises(InvalidInput) as caught:
        parse_html("<div>" * 5000 + "deep" + "</div>" * 5000)
    assert caught.value.reason == "CORRUPT_FILE"
