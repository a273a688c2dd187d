"""Does a copy still say whose report it is? Raw title and text, as readers saw them -> Attribution.

A name counts where an outlet gives credit: a dateline (江城日报江城12月1日电), 据…报道, 来源：…, 转自…,
(…记者), a headline's suffix, a line of its own. A name that the story merely speaks of is no credit.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from articles.dedup.clean import DAY, drop_invisible, normalize_width, simplify

# Credits stand at either end of a text; what is longer is cut in the middle.
ENDS = 4_000

OWN, SOURCE, AGENCY, OTHER, ITSELF = "own", "source", "agency", "other", "itself"
DROPPED, UNKNOWN = "dropped", "unknown"

# One house under many names.
HOUSES = (
    ("新华社", "新华网", "新华视点", "新华每日电讯"),
    ("中新社", "中新网", "中国新闻社", "中国新闻网"),
    ("人民日报", "人民网"),
    ("央视", "央视新闻", "央视网", "中央广播电视总台", "总台", "CCTV"),
)
# What an outlet's channels add to its name.
CHANNEL = re.compile(r"(?:官方)?(?:客户端|微信公众号|公众号|微信|微博|视频号|APP)$", re.I)
MEDIA = r"(?:社|报|周刊|杂志|广播|卫视|台|新闻网|网|客户端|公众号|新闻|财经|在线|传媒)"
OUTLET = rf"[^\W\d_][\w·]{{0,13}}?{MEDIA}"
# 本报 is whoever prints it; 外媒 is nobody.
NOBODY = re.compile(
    r"^(?:本|我|该|外|官|境外|当地|多家|有关|相关|其他|各)\w{0,2}?(?:报|台|网|社|刊|媒体|新闻)$"
)
VERB = r"(?:电|讯|消息|报道|报导)"
LABEL = (
    r"(?:(?<!图片)(?<!图)(?<!数据)(?<!资料)(?:来源|稿源)|转载自|转自|摘自|转载|原载于?|首发于?|本文来自|"
    r"(?<!\w)来自|(?<!\w)出处)"
)
QUOTE = r"[《\"“「]?"
# Of one line: a search over lines would start again at each of them.
BLANK = r"[^\S\n]"
# Within one clause, and no further than a place and a date need.
GAP = r"[^\n。!?,;:()]"

# A dateline, or 本报讯: whoever has it signs the report as his own. A footer that claims rights does not.
SIGNED = re.compile(
    rf"^{BLANK}*[(【\[]?{BLANK}*(?:(?P<own>本(?:报|台|网|刊|社)\w{{0,4}}?(?:{VERB}|记者))"
    rf"|(?P<name>{OUTLET}){GAP}{{0,12}}?(?:{DAY})?\s?{VERB}(?!局|视|力|影))",
    re.M,
)

# The credits of anybody, with the name as their group.
CREDITS = (
    re.compile(rf"^{BLANK}*[(【\[]?{BLANK}*({OUTLET}){GAP}{{0,12}}?(?:{DAY})?\s?{VERB}(?!局|视|力|影)", re.M),
    re.compile(rf"据{QUOTE}({OUTLET})[》\"”」]?{GAP}{{0,14}}?(?:{VERB}|援引)"),
    re.compile(rf"{LABEL}\s*[:/|]{BLANK}*{QUOTE}([^\s\"”」》,。;()]{{2,20}})"),
    re.compile(rf"(?:转载自|转自|摘自|原载于?|本文来自){QUOTE}({OUTLET})"),
    re.compile(rf"[(【\[]({OUTLET})[^()【】\[\]\n]{{0,20}}[)】\]]{BLANK}*$", re.M),
)


@dataclass(frozen=True, slots=True)
class Article:
    """What readers saw of an article: its outlet, headline and text without markup."""

    source: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Attribution:
    """What a copy says of its origin.

    Attributes:
        kind: OWN the lead's outlet printed it itself; SOURCE the lead's outlet is named; AGENCY the agency
            is named that the lead names; OTHER only somebody else is; ITSELF it signs the report as its
            own; DROPPED nobody is named; UNKNOWN the lead has no name to give.
        phrase: the words that name it, '' where there are none.
    """

    kind: str
    phrase: str = ""


def attribute(lead: Article, copy: Article) -> Attribution:
    """What a copy says of the lead's outlet, or of the agency that the lead itself names.

    >>> lead = Article("江城日报", "渡口复航", "江城日报江城12月1日电 渡口今晨恢复通航。")
    >>> attribute(lead, Article("北岸网", "渡口复航", "据江城日报报道，渡口今晨恢复通航。"))
    Attribution(kind='source', phrase='据江城日报报道')
    >>> attribute(lead, Article("北岸网", "渡口复航", "渡口今晨恢复通航。"))
    Attribution(kind='dropped', phrase='')
    """
    if lead.source and _same(lead.source, copy.source):
        return Attribution(OWN)
    agencies = [name for name, _ in credits(lead) if not _same(name, lead.source)]
    if not lead.source and not agencies:
        return Attribution(UNKNOWN)
    prepared = _prepare(copy)
    if lead.source and (phrase := _credit_of(lead.source, prepared)):
        return Attribution(SOURCE, phrase)
    for name in agencies:
        if _same(name, copy.source):
            return Attribution(OWN)
        if phrase := _credit_of(name, prepared):
            return Attribution(AGENCY, phrase)
    return signature(copy) or Attribution(DROPPED)


def signature(article: Article) -> Attribution | None:
    """Whose report an article says it is, without a lead to compare: another's, its own, or nobody's."""
    others = [phrase for name, phrase in credits(article) if not _same(name, article.source)]
    if others:
        return Attribution(OTHER, others[0])
    own = SIGNED.search(_prepare(article))
    if own and (own["own"] or _same(own["name"], article.source)):
        return Attribution(ITSELF, own[0].strip(" \n(【["))
    return None


def credits(article: Article) -> list[tuple[str, str]]:
    """Whom an article gives credit, as (name, phrase), each name once, in the order of the patterns."""
    text = _prepare(article)
    found: dict[str, str] = {}
    for pattern in CREDITS:
        for match in pattern.finditer(text):
            name = _stem(match[1])
            if len(name) > 1 and not NOBODY.match(name):
                found.setdefault(name, match[0].strip())
    return list(found.items())


def _credit_of(name: str, text: str) -> str:
    """The first phrase that gives credit to this outlet, under any of its names."""
    match = _pattern(_stem(normalize_width(name))).search(text)
    return match[0].strip(" \n-_|丨—–()【】[]") if match else ""


@lru_cache(maxsize=512)
def _pattern(stem: str) -> re.Pattern[str]:
    names = "|".join(map(re.escape, sorted(_house(stem), key=len, reverse=True)))
    name = rf"(?:{names})"
    return re.compile(
        rf"(?:据|{LABEL}){GAP}{{0,12}}?[:/|]?{BLANK}*{QUOTE}{name}[》\"”」]?(?:{GAP}{{0,14}}?{VERB})?"
        rf"|{name}{GAP}{{0,20}}?(?:{VERB}(?!局|视|力|影)|记者|通讯员|供稿|版权)"
        rf"|[(【\[][^()【】\[\]\n]{{0,20}}{name}[^()【】\[\]\n]{{0,30}}[)】\]]"
        rf"|^{BLANK}*{name}{BLANK}*$"
        rf"|[-_|丨—–]{BLANK}*{name}{BLANK}*$",
        re.M | re.I,
    )


def _prepare(article: Article) -> str:
    """Title and both ends of the text in simplified, half-width characters; a line each."""
    text = article.text
    if len(text) > 2 * ENDS:
        text = f"{text[:ENDS]}\n{text[-ENDS:]}"
    return simplify(normalize_width(drop_invisible(f"{article.title}\n{text}")))


def _same(one: str, other: str) -> bool:
    """Whether two names are of one house; an unknown name is that of nobody."""
    if not one or not other:
        return False
    stems = [_stem(simplify(normalize_width(name))) for name in (one, other)]
    return stems[0] == stems[1] or stems[1] in _house(stems[0])


def _stem(name: str) -> str:
    """The outlet without its channel: 江城日报客户端 -> 江城日报; 晨光客户端 has no other name."""
    name = name.strip()
    stem = CHANNEL.sub("", name)
    return stem if len(stem) > 2 else name


def _house(stem: str) -> tuple[str, ...]:
    return next((house for house in HOUSES if stem in house), (stem,))
