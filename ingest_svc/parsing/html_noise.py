"""What a web page shows around its content: navigation, banners, share bars."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, Comment, Tag

_NEVER_TEXT = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio", "video",
    "dialog", "map", "annotation", "annotation-xml",
)  # fmt: skip
# The ARIA accordion pattern puts the title of a section on a button.
_TITLE_TAGS = ["h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary", "legend", "caption"]
_CHROME_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu"})
# Words of class names and ids ("cookie-banner" -> cookie, banner). Elements named so are never content.
_CHROME_WORDS = frozenset(
    "cookie cookies cookiebar cookiebanner consent gdpr breadcrumb breadcrumbs navbar newsletter advert "
    "advertisement ads pagination skiplink skip editsection printfooter catlinks jumplinks".split()
)
# Elements named so are mostly chrome, but "sidebar" may also hold the key points of an article: what reads
# like prose stays.
_LIKELY_CHROME_WORDS = frozenset(
    "share sharing social socials sidebar navigation related popup modal toolbar noprint jump "
    "comments".split()
)
# "has-sidebar", "navigation-not-searchable" say what an element has or lacks, not what it is.
_QUALIFIERS = frozenset("has have with without no not non hide show is".split())
_NAMED_TAGS = frozenset({"div", "section", "ul", "ol", "p", "span", "table", "a"})
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
# Never drop what holds most of the page: some sites wrap everything into <div class="sidebar-page">.
_MAX_SHARE = 0.5
_MIN_FARM = 10
_MAX_FARM_ITEM = 30
# Characters outside links that make two lines of running text.
_PROSE = 120
_SENTENCE = re.compile(r"\w{2}[.!?…](?:\s|$)")


def drop_noise(soup: BeautifulSoup) -> int:
    """Removes scripts, hidden parts and page chrome from the tree, in place.

    Returns:
        Characters of hidden text that were left out; readers of the page do not see it.
    """
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for tag in soup.find_all(_NEVER_TEXT):
        tag.decompose()
    opened = _opened_by_controls(soup)
    for button in soup.find_all("button"):
        if button.find_parent(_TITLE_TAGS) is None and button.find(_TITLE_TAGS) is None:
            button.extract()
        else:
            button.unwrap()
    root = soup.body or soup
    total = len(root.get_text())
    # Tag.decomposed would say it too, but searches the whole subtree for each tag (quadratic on real pages).
    gone: set[int] = set()
    hidden_characters = 0
    for tag in root.find_all(True):
        if id(tag) in gone:
            continue
        hidden = _is_hidden(tag, opened)
        if not (hidden or _is_noise(tag) or _is_link_farm(tag)):
            continue
        title = tag.find("h1") if tag.name == "header" and not hidden else None
        if title is None and not hidden and len(tag.get_text()) > _MAX_SHARE * total:
            continue
        gone.update(id(inner) for inner in tag.find_all(True))
        if title is None:
            tag.extract()
        else:
            tag.replace_with(title.extract())
        if hidden:
            hidden_characters += len(tag.get_text(" ", strip=True))
    return hidden_characters


def _opened_by_controls(soup: BeautifulSoup) -> frozenset[str]:
    """Ids of the panels that buttons, tabs and links of the page open."""
    named = [
        part
        for tag in soup.find_all(["a", "button", "summary", "div", "span", "li", "h2", "h3", "h4", "label"])
        for name in ("aria-controls", "href", "data-target", "data-bs-target")
        for part in _attribute(tag, name).split()
        if name != "href" or part.startswith("#")
    ]
    return frozenset(part.lstrip("#") for part in named if part != "#")


def _is_hidden(tag: Tag, opened: frozenset[str]) -> bool:
    """Never shown. Tabs, panels that a control opens and form fields that a choice brings up are shown."""
    if tag.has_attr("hidden") or _HIDDEN_STYLE.search(_attribute(tag, "style")):
        if tag.get("role") == "tabpanel" or _attribute(tag, "hidden").lower() == "until-found":
            return False
        if _attribute(tag, "id") in opened:
            return False
        labelled = tag.find("label") is not None and tag.find(["input", "select", "textarea"]) is not None
        return not labelled
    # Icons, and the drawn twin of a formula; hidden blocks are often closed panels.
    return tag.name in {"span", "i"} and _attribute(tag, "aria-hidden").lower() == "true"


def _is_noise(tag: Tag) -> bool:
    role = _attribute(tag, "role").lower()
    if role in _CHROME_ROLES:
        return True
    if role == "note":
        return False
    if tag.name in {"nav", "menu"}:
        return True
    words = _words(tag)
    if tag.name in {"footer", "aside", "header"} or role == "complementary":
        if words & _CHROME_WORDS:
            return True
        # Notes and section heads inside an article are content, and so is running text beside it.
        inside = tag.find_parent(["article", "main", "section"]) is not None
        if tag.name == "footer":
            return not (inside and _is_prose(tag))
        return bool(words & _LIKELY_CHROME_WORDS or not inside) and not _is_prose(tag)
    if tag.name == "form":
        return tag.find("input", attrs={"type": ["search", "password", "email"]}) is not None
    if tag.name in _NAMED_TAGS:
        return bool(words & _CHROME_WORDS) or (bool(words & _LIKELY_CHROME_WORDS) and not _is_prose(tag))
    return False


def _is_prose(tag: Tag) -> bool:
    """Running text outside links, or a table."""
    if tag.find("table") is not None:
        return True
    text = tag.get_text(" ", strip=True)
    linked = sum(len(link.get_text(" ", strip=True)) for link in tag.find_all("a", href=True))
    return len(text) - linked >= _PROSE and _SENTENCE.search(text) is not None


def _is_link_farm(tag: Tag) -> bool:
    """A long list of nothing but short links: language switches, menus without a class name.

    Inside an article only links to other languages and places of the page: a list of linked terms is content.
    """
    if tag.name not in {"ul", "ol"}:
        return False
    items = tag.find_all("li")
    text = tag.get_text(strip=True)
    if len(items) < _MIN_FARM or len(text) > _MAX_FARM_ITEM * len(items):
        return False
    links = tag.find_all("a", href=True)
    if sum(len(link.get_text(strip=True)) for link in links) < 0.95 * len(text):
        return False
    if tag.find_parent(["article", "main"]) is None:
        return True
    away = sum(link.has_attr("hreflang") or _attribute(link, "href").startswith("#") for link in links)
    return away >= 0.8 * len(links)


def _attribute(tag: Tag, name: str) -> str:
    value = tag.get(name, "")
    return " ".join(value) if isinstance(value, list) else value or ""


def _words(tag: Tag) -> frozenset[str]:
    names = f"{_attribute(tag, 'class')} {_attribute(tag, 'id')}".lower().split()
    parts = [frozenset(re.findall(r"[a-z]+", name)) for name in names]
    return frozenset(word for words in parts if not words & _QUALIFIERS for word in words)
