"""HTML as pages really write it: structure inside structure, and what stands around an article."""

from collections import Counter
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from benchmarks.parsing_quality.compare import compare
from benchmarks.parsing_quality.expected import expected_for
from benchmarks.parsing_quality.markdown_text import read_markdown
from benchmarks.parsing_quality.words import words
from ingest_svc.document import BlockKind, render
from ingest_svc.parsing.html import parse_html
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


def markdown(body: str) -> str:
    return render(parse_html(f"<html><body>{body}</body></html>").blocks)[0]


def test_table_inside_a_list_item_stays_a_table() -> None:
    body = (
        "<ol type=a><li><p>First</p><table><tr><th>Age</th><th>Dose</th></tr><tr><td>3 y</td><td>1 mSv</td>"
        "</tr></table><p>after it</p></li><li>second</li></ol>"
    )
    assert markdown(body) == (
        "a. First\n\n| Age | Dose |\n| --- | --- |\n| 3 y | 1 mSv |\n\nafter it\nb. second"
    )


@pytest.mark.parametrize(
    ("opening", "labels"),
    [
        ("<ol>", ["1.", "2.", "3."]),
        ("<ol start=5>", ["5.", "6.", "7."]),
        ("<ol type=A>", ["A.", "B.", "C."]),
        ("<ol type=i start=9>", ["ix.", "x.", "xi."]),
        ("<ol style='list-style-type: lower-alpha' start=26>", ["z.", "aa.", "ab."]),
        ("<ol style='list-style: upper-roman'>", ["I.", "II.", "III."]),
        ("<ol reversed>", ["3.", "2.", "1."]),
        ("<ol start=x type=7>", ["1.", "2.", "3."]),
    ],
)
def test_items_keep_the_label_a_reader_sees(opening: str, labels: list[str]) -> None:
    lines = markdown(f"{opening}<li>u<li>v<li>w</ol>").split("\n")
    assert [line.split()[0] for line in lines] == labels


def test_order_around_nested_lists_and_stray_text() -> None:
    body = "<ul><li>a<ul><li>b<ol start=4><li>c</li></ol>d</li></ul>e</li>stray<li value=7>f</li></ul>"
    assert markdown(body) == "- a\n  - b\n    4. c\n    d\n  e\n  stray\n- f"


def test_definition_lists() -> None:
    assert markdown("<dl><dt>A</dt><dt>B</dt><dd>both</dd><dd>again</dd><dt>C</dt></dl>") == (
        "- A, B: both\n  again\n- C"
    )
    # Old pages leave end tags out, newer ones group pairs with div.
    assert markdown("<dl><dt>Gray<dd>unit of dose<ul><li>J/kg</ul><dt>Sievert<dd>unit too</dl>") == (
        "- Gray: unit of dose\n  - J/kg\n- Sievert: unit too"
    )
    grouped = "<dl><div><dt>T</dt><dd><p>one</p><p>two</p></dd></div><div><dt>U</dt><dd>three</dd></div></dl>"
    assert markdown(grouped) == "- T: one two\n- U: three"
    with_table = (
        "<dl><dt>T</dt><dd>see<table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table></dl>"
    )
    assert markdown(with_table) == "- T: see\n\n| k | v |\n| --- | --- |\n| 1 | 2 |"


def test_lists_and_tables_in_cells() -> None:
    body = (
        "<table><tr><th>Bird</th><th>Where</th><th>How</th><th>Seen</th></tr><tr><td>Teal</td>"
        "<td><ul><li>Pond</li><li>Marsh</li></ul></td><td><ol><li>Fly</li><li>Build</li></ol></td>"
        "<td><img src=x alt='yes'></td></tr><tr><td>Duck</td><td><table><tr><th>Type</th><th>Sound</th></tr>"
        "<tr><td>Short</td><td>quak</td></tr></table></td><td><p>one</p><p>two</p></td><td></td></tr></table>"
    )
    assert markdown(body) == (
        "| Bird | Where | How | Seen |\n| --- | --- | --- | --- |\n"
        "| Teal | Pond; Marsh | 1. Fly; 2. Build | yes |\n| Duck | Type, Sound; Short, quak | one two |  |"
    )


def test_layout_table_around_a_data_table() -> None:
    data = "<table><tr><th>k</th><th>v</th></tr><tr><td>dose</td><td>2 mSv</td></tr></table>"
    expected = "| k | v |\n| --- | --- |\n| dose | 2 mSv |"
    assert markdown(f"<table><tr><td>{data}</td><td>menu</td></tr></table>") == f"{expected}\n\nmenu"


def test_header_rows() -> None:
    only_header = (
        "<table><thead><tr><th colspan=2>Action</th></tr></thead><tr><td>Swim</td><td>well</td></tr></table>"
    )
    assert markdown(only_header) == "| Action | Action |\n| --- | --- |\n| Swim | well |"
    above_header = "<table><tr><td colspan=2>Table 1. Limits<tr><th>a<th>b<tr><td>1<td>2</table>"
    assert markdown(above_header) == "Table 1. Limits\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    corner = (
        "<table><tr><td></td><th>2020</th><th colspan=2>2021</th></tr><tr><th></th><th>n</th><th>n</th>"
        "<th>%</th></tr><tr><th>CT</th><td>1</td><td>2</td><td>3</td></tr></table>"
    )
    assert (
        markdown(corner) == "|  | 2020 / n | 2021 / n | 2021 / % |\n| --- | --- | --- | --- |\n"
        "| CT | 1 | 2 | 3 |"
    )


def test_a_header_cell_over_the_whole_table_names_rows_and_no_column() -> None:
    body = (
        "<table><tr><th>Exam</th><th>mSv</th></tr><tr><th colspan=2>Head</th></tr><tr><td>CT</td>"
        "<td>2</td></tr><tr><th colspan=2>Chest</th></tr><tr><td>CT</td><td>5</td></tr></table>"
    )
    assert markdown(body) == (
        "| Exam | mSv |\n| --- | --- |\n| Head | Head |\n| CT | 2 |\n| Chest | Chest |\n| CT | 5 |"
    )


def test_header_rows_without_header_cells() -> None:
    body = (
        "<table><tr><td colspan=3><b>Table 2. Limits</b></td></tr><tr><td rowspan=2><b>Organ</b></td>"
        "<td colspan=2>Limit</td></tr><tr><td>staff</td><td>public</td></tr><tr><td>Lens</td><td>20</td>"
        "<td>15</td></tr></table>"
    )
    assert markdown(body) == (
        "Table 2. Limits\n\n| Organ | Limit / staff | Limit / public |\n| --- | --- | --- |\n"
        "| Lens | 20 | 15 |"
    )
    # The same shape with numbers is data.
    data = (
        "<table><tr><td rowspan=2>Lens</td><td colspan=2>20</td></tr><tr><td>15</td><td>10</td></tr>"
        "<tr><td>Skin</td><td>500</td><td>50</td></tr></table>"
    )
    assert markdown(data).startswith("| Lens | 20 | 20 |\n| --- | --- | --- |\n| Lens | 15 | 10 |")


def test_chains_of_spans() -> None:
    body = (
        "<table><tr><th>Organ</th><th>Dose</th><th>Unit</th></tr><tr><td rowspan=3>Lung</td>"
        "<td rowspan=2>1</td><td>mSv</td></tr><tr><td>mGy</td></tr><tr><td>2</td><td rowspan=2>Gy</td></tr>"
        "<tr><td>Hip</td><td>3</td></tr></table>"
    )
    assert markdown(body).split("\n")[2:] == [
        "| Lung | 1 | mSv |",
        "| Lung | 1 | mGy |",
        "| Lung | 2 | Gy |",
        "| Hip | 3 | Gy |",
    ]


def test_definition_lists_in_cells() -> None:
    body = (
        "<table><tr><th>Mode</th><th>Set</th></tr><tr><td>CT</td><td>use <dl><dt>kV</dt><dd>120</dd><dt>mAs"
        "<dd>200<dt>alone</dl></td></tr></table>"
    )
    assert markdown(body).split("\n")[2] == "| CT | use kV: 120; mAs: 200; alone |"


def test_headings_without_their_end_tags() -> None:
    body = "<h1>Limits<h2>Staff</h1><p>20 mSv <p>a year<h2>Public<p>1 mSv &micro; &#8804; &no; 5 < 6"
    assert markdown(body) == "# Limits\n\n## Staff\n\n20 mSv\n\na year\n\n## Public\n\n1 mSv µ ≤ &no; 5 < 6"


def test_xhtml_with_empty_elements() -> None:
    page = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title/>'
        '<script src="a.js"/></head><body><h1>Доза</h1><a id="x"/><div/><p>5&#160;мЗв<br/>в год</p>'
        "<textarea/><p>end</p></body></html>"
    )
    blocks = parse_file(page.encode(), "page.xhtml", ParseLimits()).blocks
    assert render(blocks)[0] == "# Доза\n\n5 мЗв в год\n\nend"


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ("windows-1251", "cp1251", "Доза 5 мЗв"),
        ("koi8-r", "koi8-r", "Доза"),
        ("ibm866", "cp866", "Предел дозы"),
        ("iso-8859-5", "iso8859-5", "Предел дозы для персонала"),
        ("windows-1250", "cp1250", "Dawka promieniowania, ciąża, źródło"),
        ("gbk", "gbk", "吸收剂量"),
        # Says utf-8 and is not.
        ("utf-8", "cp1252", "Größe der Dosis für Ärzte"),
    ],
)
def test_encodings_by_meta_tag(declared: str, encoding: str, text: str) -> None:
    page = f"<html><head><meta charset={declared}></head><body><p>{text}</p></body></html>"
    assert render(parse_file(page.encode(encoding), "page.html", ParseLimits()).blocks)[0] == text


def test_sections_of_a_table_are_in_the_order_they_are_shown_in() -> None:
    body = (
        "<table><thead><tr><th>k</th><th>v</th></tr></thead><tfoot><tr><td>sum</td><td>9</td></tr></tfoot>"
        "<tbody><tr><td rowspan=9>a</td><td>1</td></tr><tr><td>2</td></tr></tbody>"
        "<tbody><tr><td>b</td><td>6</td></tr></tbody></table>"
    )
    assert markdown(body) == ("| k | v |\n| --- | --- |\n| a | 1 |\n| a | 2 |\n| b | 6 |\n| sum | 9 |")


def test_struck_out_text_does_not_read_like_text_in_force() -> None:
    assert markdown("<p>The limit is <del>50 mSv</del> <ins>20 mSv</ins>.</p>") == (
        "The limit is ~~50 mSv~~ 20 mSv."
    )


def test_formulas() -> None:
    body = (
        "<p>I = <math><msub><mi>I</mi><mn>0</mn></msub><msup><mi>e</mi>"
        "<mrow><mo>-</mo><mi>μ</mi><mi>x</mi></mrow></msup></math>, "
        "<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math></p>"
    )
    assert markdown(body) == "I = I_0e^(-μx), a/b"


def test_words_that_a_style_sheet_separates() -> None:
    assert markdown("<div><strong>Perforation</strong><span>Pneumoperitoneum</span></div>") == (
        "Perforation Pneumoperitoneum"
    )
    assert markdown("<p><i>p</i><b>H</b> Na<b>Cl</b> <b>radio</b><i>logy</i></p>") == "pH NaCl radiology"


def test_quotation_that_indents_a_section_is_walked() -> None:
    body = "<blockquote><h2>Scope</h2><ul><li>one</li></ul></blockquote><blockquote>Said.</blockquote>"
    assert markdown(body) == "## Scope\n\n- one\n\n> Said."


def test_headings_by_role_and_on_buttons() -> None:
    body = (
        "<div role=heading aria-level=3>Zones</div><h4><button aria-controls=p>Which implants?</button></h4>"
        "<div id=p hidden><p>All active ones.</p></div><button>Print</button>"
    )
    assert markdown(body) == "### Zones\n\n#### Which implants?\n\nAll active ones."


def test_what_is_shown_on_demand_is_content_and_what_never_is_shown_is_not() -> None:
    body = (
        "<details><summary>More</summary>Details here.</details><div role=tabpanel hidden>Second tab.</div>"
        "<p hidden=until-found>Found by search.</p>"
        "<div style='display:none'><label>Side <select><option>left</option></select></label></div>"
        "<div style='display:none'>secret</div><span aria-hidden=true>icon</span>"
    )
    assert markdown(body) == "More\n\nDetails here.\n\nSecond tab.\n\nFound by search.\n\n- Side\n  - left"


def test_hidden_text_of_some_length_is_reported() -> None:
    draft = parse_html(f"<p>Visible.</p><div style='visibility: hidden'>{'unseen words ' * 30}</div>")
    assert [block.text for block in draft.blocks] == ["Visible."]
    assert draft.warnings == ("Hidden text of 389 characters was left out.",)


PROSE = (
    "Pregnant staff must not enter zone IV during the scan, and they tell the safety officer as soon as they "
    "know about it. This holds for visitors too."
)


@pytest.mark.parametrize(
    "kept",
    [
        f"<div class=sidebar><p>{PROSE}</p></div>",
        f"<aside><p>{PROSE}</p></aside>",
        f"<div role=complementary>{PROSE}</div>",
        "<div class='has-sidebar'>Short.</div>",
        "<div role=note class='hatnote navigation-not-searchable'>See also: Zones.</div>",
        "<div class='related-terms'><table><tr><th>a</th><th>b</th><tr><td>1</td><td>2</td></table></div>",
        f"<article><p>x</p><footer><p>{PROSE}</p></footer></article>",
        "<main><ul>" + "".join(f"<li><a href='/t{n}'>Term {n}</a></li>" for n in range(12)) + "</ul></main>",
    ],
)
def test_content_in_elements_that_look_like_chrome(kept: str) -> None:
    text = markdown(f"<p>{'Body text. ' * 60}</p>{kept}")
    assert len(text) > 662


@pytest.mark.parametrize(
    "dropped",
    [
        f"<div id=cookie-consent><p>{PROSE}</p></div>",
        "<div class='share-buttons'><a href=x>Tweet</a></div>",
        "<aside>Ads</aside>",
        f"<footer>{PROSE}</footer>",
        "<a class='skip-link' href='#main'>Skip to content</a>",
        "<ul class=breadcrumb><li><a href=/>Home</a></li></ul>",
        "<ul>" + "".join(f"<li><a href='/t{n}'>Menu {n}</a></li>" for n in range(12)) + "</ul>",
        "<main><ul>"
        + "".join(f"<li><a href=x hreflang=l{n}>L {n}</a></li>" for n in range(12))
        + "</ul></main>",
        "<div role=search><input></div>",
        "<dialog open>Subscribe</dialog>",
    ],
)
def test_chrome_is_dropped(dropped: str) -> None:
    body = ("Body text. " * 60).strip()
    assert markdown(f"<p>{body}</p>{dropped}") == body


def test_fence_inside_preformatted_text() -> None:
    (block,) = parse_html("<pre>```\nx\n```</pre>").blocks
    assert block.kind is BlockKind.CODE
    assert block.text == "````\n```\nx\n```\n````"


@pytest.mark.data
@pytest.mark.parametrize("name", ["wiki_duck.html", "html_rich_table_cells.html"])
def test_real_pages_against_their_expected_output(name: str) -> None:
    file = SHARED / "parsers/docling/html" / name
    expectation = expected_for(file) if file.is_file() else None
    if expectation is None:
        pytest.skip("the shared data folder is not there")
    found = read_markdown(render(parse_html(file.read_text("utf-8")).blocks)[0])
    assert compare(found, expectation).shortfalls() == ()


@pytest.mark.data
def test_pages_of_the_corpus_keep_their_words_headings_and_tables() -> None:
    files = sorted((SHARED / "corpus").glob("*.html"))
    if not files:
        pytest.skip("the shared data folder is not there")
    for file in files:
        source = file.read_text("utf-8")
        soup = BeautifulSoup(source, "lxml").body
        assert soup is not None
        chrome = [*soup.find_all(["header", "footer", "nav", "script", "style", "svg", "annotation"])]
        for tag in chrome:
            tag.extract()
        blocks = parse_html(source).blocks
        shown = words(soup.get_text(" "))
        # Letters of one word in several elements ("<b>P</b>atm") are apart in the source's text only.
        missing = Counter("".join(shown)) - Counter("".join(words(render(blocks)[0])))
        assert missing.total() <= 0.01 * len("".join(shown)), file.name
        assert sum(block.kind is BlockKind.TABLE for block in blocks) == len(soup.find_all("table")), (
            file.name
        )
