"""What a web page shows around its content: navigation, banners, share bars."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, Comment, Tag

_NEVER_TEXT = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio", "video",
    "button", "dialog", "map", "annotation",
)  # fmt: skip
_CHROME_TAGS = ("nav", "footer", "aside", "header", "menu")
_CHROME_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "search", "complementary", "dialog", "menu"}
)
# Whole words of class names and ids ("cookie-banner" -> cookie, banner).
_CHROME_WORDS = frozenset(
    "cookie cookies cookiebar cookiebanner consent gdpr breadcrumb breadcrumbs share sharing social socials "
    "sidebar navbar navigation newsletter advert advertisement ads pagination skiplink skip related popup "
    "modal toolbar editsection printfooter catlinks noprint jumplinks jump comments".split()
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
# Never drop what holds most of the page: some sites wrap everything into <div class="sidebar-page">.
_MAX_SHARE = 0.5
_MIN_FARM = 10
_MAX_FARM_ITEM = 30


def drop_noise(soup: BeautifulSoup) -> None:
    """Removes scripts, hidden parts and page chrome from the tree, in place."""
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for tag in soup.find_all(_NEVER_TEXT):
        tag.decompose()
    root = soup.body or soup
    total = len(root.get_text())
    # Tag.decomposed would say it too, but searches the whole subtree for each tag (quadratic on real pages).
    gone: set[int] = set()
    for tag in root.find_all(True):
        if id(tag) in gone or not (_is_noise(tag) or _is_link_farm(tag)):
            continue
        title = tag.find("h1") if tag.name == "header" else None
        if title is None and len(tag.get_text()) > _MAX_SHARE * total:
            continue
        gone.update(id(inner) for inner in tag.find_all(True))
        if title is None:
            tag.extract()
        else:
            tag.replace_with(title.extract())


def _is_noise(tag: Tag) -> bool:
    if tag.has_attr("hidden") or _HIDDEN_STYLE.search(_attribute(tag, "style")):
        return True
    if _attribute(tag, "role").lower() in _CHROME_ROLES:
        return True
    if tag.name in {"nav", "menu"}:
        return True
    if tag.name in _CHROME_TAGS:
        # Notes and section heads inside an article are content.
        inside = tag.find_parent(["article", "main", "section"]) is not None
        return not inside or tag.name == "footer" or bool(_words(tag) & _CHROME_WORDS)
    if tag.name == "form":
        return tag.find("input", attrs={"type": ["search", "password", "email"]}) is not None
    if tag.name in {"div", "section", "ul", "ol", "p", "span", "table"}:
        return bool(_words(tag) & _CHROME_WORDS)
    return False


def _is_link_farm(tag: Tag) -> bool:
    """A long list of nothing but short links: language switches, menus without a class name."""
    if tag.name not in {"ul", "ol"}:
        return False
    items = tag.find_all("li")
    text = tag.get_text(strip=True)
    if len(items) < _MIN_FARM or len(text) > _MAX_FARM_ITEM * len(items):
        return False
    linked = sum(len(link.get_text(strip=True)) for link in tag.find_all("a", href=True))
    return linked >= 0.95 * len(text)


def _attribute(tag: Tag, name: str) -> str:
    value = tag.get(name, "")
    return " ".join(value) if isinstance(value, list) else value or ""


def _words(tag: Tag) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", f"{_attribute(tag, 'class')} {_attribute(tag, 'id')}".lower()))
