"""Raw title and content -> canonical text: simplified Chinese, NFKC, without labels, datelines and footers.

Each step is a small str -> str function whose name is its specification; TITLE_STEPS and BODY_STEPS are the
programme. Lines of a cleaned body are its paragraphs. Cleaning is idempotent.
"""

import html
import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

import lxml.html
from lxml import etree
from opencc import OpenCC

Step = Callable[[str], str]

# --- characters -------------------------------------------------------------------------------------------

SURROGATE = re.compile("[\ud800-\udfff]")
# Format and control characters carry no text; line breaks of all kinds become \n.
LINE_BREAK = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE = (
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff"
)
INVISIBLE = re.compile(f"[{_INVISIBLE}]")
# Most texts have none of all that: one look is cheaper than three substitutions.
ODD = re.compile(f"[{_INVISIBLE}\ud800-\udfff\v\f\r\x1c-\x1e\x85\u2028\u2029]")
FULL_WIDTH = re.compile("[\uff01-\uff5e]")
HALF_WIDTH = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
# Nearly all texts have some of these, and few have others: then nothing is left for the slow ways.
USUAL = [(char, unicodedata.normalize("NFKC", char)) for char in "，：；！？（）…\u3000\xa0"]


def drop_invisible(text: str) -> str:
    """Without characters that show nothing; a lone surrogate, which nothing can encode, becomes U+FFFD."""
    if not ODD.search(text):
        return text
    return INVISIBLE.sub("", LINE_BREAK.sub("\n", replace_surrogates(text)))


def replace_surrogates(text: str) -> str:
    return SURROGATE.sub("\ufffd", text)


def normalize_width(text: str) -> str:
    """NFKC: full-width letters, digits and punctuation become the usual ones."""
    for char, usual in USUAL:
        text = text.replace(char, usual)
    text = FULL_WIDTH.sub(lambda char: HALF_WIDTH[char[0]], text)
    return text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)


@cache
def _to_simplified() -> OpenCC:
    return OpenCC("t2s")


@cache
def _traditional_character() -> re.Pattern[str]:
    """A character that simplification changes; most texts have none and skip the conversion."""
    characters = [
        chr(code) for start, end in ((0x3400, 0xA000), (0xF900, 0xFB00)) for code in range(start, end)
    ]
    simplified = _to_simplified().convert("\n".join(characters)).split("\n")
    return re.compile(
        f"[{''.join(old for old, new in zip(characters, simplified, strict=True) if old != new)}]"
    )


def simplify(text: str) -> str:
    """Traditional characters become simplified; what one pass makes may be a word of the next."""
    return _until_stable(text, _simplify_once, limit=4) if _traditional_character().search(text) else text


def _simplify_once(text: str) -> str:
    return _to_simplified().convert(text)


def squeeze_spaces(text: str) -> str:
    """One space at most, no blank lines."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


def join_lines(text: str) -> str:
    return text.replace("\n", " ")


# --- markup -----------------------------------------------------------------------------------------------

BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd div dl dt fieldset figcaption figure "
    "footer form "
    "h1 h2 h3 h4 h5 h6 header hr html li main nav ol option p pre section table tbody td th tr ul".split()
)
HIDDEN = frozenset(
    "script style noscript template head iframe object svg math textarea select button".split()
)
INLINE = (
    "a abbr b big cite code em embed font i img input ins del kbd label link mark meta o q s small source \
span strike strong sub sup time title tt u var video audio".split()
)
# Only a tag that HTML knows makes a text markup: "P<0.005" and "a<b" are text.
TAG = re.compile(
    rf"</?(?:{'|'.join(sorted(BLOCKS | HIDDEN | set(INLINE), key=len, reverse=True))})\b[^<>]*>", re.I
)
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<!doctype[^<>]*>|<!\[CDATA\[|\]\]>", re.I | re.S)
STRAY_LESS_THAN = re.compile(
    rf"<(?!/?(?:{'|'.join(sorted(BLOCKS | HIDDEN | set(INLINE), key=len, reverse=True))})\b[^<>]*>|!--)", re.I
)
# "&amp;amp;nbsp;" was escaped again and again; one step undoes all.
AMPERSANDS = re.compile(r"&(?:(?:amp|#0*38|#[xX]0*26);)+")
MARKUP_PASSES = 4


def strip_markup(text: str) -> str:
    """HTML -> text by a real parser; blocks become lines. Text that was escaped twice is parsed again."""
    for _ in range(MARKUP_PASSES):
        plain = unescape_entities(_strip_tags(text))
        if plain == text:
            return text
        text = normalize_width(drop_invisible(plain))
    return _drop_brackets(text)


def unescape_entities(text: str) -> str:
    return html.unescape(AMPERSANDS.sub("&", text)) if "&" in text else text


def _strip_tags(text: str) -> str:
    if "<" not in text:
        return text
    text = COMMENT.sub("", text)
    if not TAG.search(text):
        return text
    parser = lxml.html.HTMLParser(remove_comments=True, remove_pis=True, huge_tree=True, encoding="utf-8")
    safe = STRAY_LESS_THAN.sub("&lt;", text).replace("\x00", "")
    root = lxml.html.document_fromstring(f"<body>{safe}</body>".encode(), parser=parser)
    return "".join(_texts(root))


def _texts(root: etree._Element) -> list[str]:
    """The document's text in order, with a line break at each edge of a block."""
    parts: list[str] = []
    hidden: etree._Element | None = None
    for event, element in etree.iterwalk(root, events=("start", "end")):
        tag = element.tag
        if event == "start":
            if hidden is None and tag in HIDDEN:
                hidden = element
            if tag in BLOCKS:
                parts.append("\n")
            if hidden is None and element.text:
                parts.append(element.text)
        else:
            if hidden is element:
                hidden = None
            if tag in BLOCKS:
                parts.append("\n")
            if hidden is None and element.tail:
                parts.append(element.tail)
    return parts


def _drop_brackets(text: str) -> str:
    """Markup nested beyond all sense: what is left of it goes, so that a second cleaning finds nothing."""
    return text.replace("<", " ").replace("&", " ")


# --- titles -----------------------------------------------------------------------------------------------

LABELS = (
    "快讯|最新消息|最新进展|最新|突发|重磅|独家|图文|图片|组图|图集|多图|高清|图|视频|视|直播|关注|转载|"
    "更新|速递|速览|头条|要闻|"
    "即时|滚动|滚动新闻|新闻|热点|聚焦|推荐|原创|公告|提醒|注意|通知|评论|解读|深度|观察|警示|紧急|刚刚|"
    "独家视频|现场|现场直播|"
    "动图|音频|图解|一图读懂|海报|转发|扩散|收藏|辟谣|追踪|跟踪报道|追踪报道|续报|滚动更新|实时更新|财经|"
    "国际|社会|国内|时政|"
    "体育|科技|娱乐|微视频|短视频|长图|快评|热评|早报|晚报|新华社快讯|中新网快讯|7x24快讯|电报|简讯|消息"
)
OPENING_LABEL = re.compile(
    rf"^\s*(?:[\[【(〔〖「『<]\s*(?:{LABELS})\s*[\]】)〕〗」』>]\s*[::]?|(?:{LABELS})\s*[::|丨]+)\s*", re.I
)
CLOSING_LABEL = re.compile(
    rf"\s*(?:[\[【(〔〖]\s*(?:{LABELS}|完|全文|附图|附全文|含视频|有图|图/?视频|\d)\s*[\]】)〕〗])\s*$", re.I
)
MEDIA = (
    r"[\w.·]{0,12}?(?:网|报|报社|社|在线|频道|客户端|资讯|新闻|财经|传媒|电视台|广播|热线|门户|头条|日报|"
    r"晚报|时报|周刊|杂志|"
    r"卫视|台|娱乐|体育|科技|军事|汽车|房产|新浪|搜狐|腾讯|网易|凤凰|澎湃|com|cn|net|数讯|快报|在線)"
)
SITE_SUFFIX = re.compile(rf"\s*(?:[_|丨]+\s*[^_|丨\d]{{1,14}}|(?:\s[-–—]+\s?|[-–—]+\s?){MEDIA})\s*$", re.I)
KEYWORD_SUFFIX = re.compile(r"(?:\|[^|\s]{1,12}){2,}$")
ORIGINAL_TITLE = re.compile(r"^\s*(?:原标题\s*[::]|\d{1,2}版\s*-)\s*")
MIN_TITLE = 6
# A longer one is no headline, and would have to be stripped of label after label.
LONGEST_TITLE = 600


def strip_frame(text: str) -> str:
    """Without what outlets put around a headline, 【快讯】 and "_搜狐网": one may stand behind the other."""
    if len(text) > LONGEST_TITLE:
        return text
    return _until_stable(text, lambda title: strip_site_suffix(strip_labels(title)))


def strip_labels(text: str) -> str:
    """【快讯】, 【最新】, (图): an outlet's label is not part of the headline, unless it is all there is."""
    shorter = CLOSING_LABEL.sub("", OPENING_LABEL.sub("", ORIGINAL_TITLE.sub("", text)))
    return shorter.strip() or text


def strip_site_suffix(text: str) -> str:
    """ "_搜狐网", " - 中新网", "|tag|tag": only where a headline is left before it."""
    shorter = SITE_SUFFIX.sub("", KEYWORD_SUFFIX.sub("", text))
    return shorter if len(shorter) >= MIN_TITLE else text


def _until_stable(text: str, step: Step, limit: int = LONGEST_TITLE) -> str:
    for _ in range(limit):
        shorter = step(text)
        if shorter == text:
            return text
        text = shorter
    return text


# --- bodies -----------------------------------------------------------------------------------------------

REPORTER = r"(?:\s*[(\[【][^()\[\]【】\n]{0,50}[)\]】])"
DAY = r"(?:\d{4}年)?\d{1,2}月\d{1,2}日\s?(?:凌晨|早间|早上|上午|中午|下午|晚间|晚)?"
DATELINE = re.compile(
    r"^(?:"
    rf"[^\W\d_][\w·/ ]{{1,24}}?\s?{DAY}(?:电|讯|消息|报道)"
    rf"|[“\"][^“”\"\n]{{2,12}}[”\"]\w{{0,8}}?{DAY}(?:电|讯|消息|报道)"
    rf"|[^\W\d_]\w{{1,9}}(?:网|报|台|社|客户端|新闻)\w{{0,6}}?{DAY}(?=\s*[(\[【](?:记者|通讯员|编辑))"
    r"|(?:本报|本台|本网|本刊|本社)\w{0,6}?(?:讯|消息|电|报道)"
    r"|[^\W\d_]\w{1,9}(?:网|报|台|社|客户端|新闻|财经)(?:记者)?(?:讯|消息|电)(?=\s*[::(\s])"
    rf"){REPORTER}*\s*[::,]?\s*"
    r"|^据\w{2,12}?(?:\d{4}年)?(?:\d{1,2}月)?(?:\d{1,2}日)?(?:报道|消息)\s*[,:]\s*"
    rf"|^[(\[【](?:记者|本报记者|通讯员|特约记者|见习记者|实习记者)[^()\[\]【】\n]{{0,40}}[)\]】]\s*[::,]?\s*"
    r"|^[(\[【]原标题\s*:[^\n]{0,100}?[)\]】]\s*"
)
# A caption or the headline may stand before the dateline; further down it belongs to another report.
HEAD_LINES = 5
HEAD_LINE = re.compile(
    r"^(?:原标题|来源|文章来源|稿源|信息来源|作者|文|记者|本报记者|编辑|责编|责任编辑|发布时间|时间|摘要|"
    r"核心提示|导读)\s*[::/／|]\s*[^\n]{0,60}$"
)
FOOT_WORDS = (
    r"(?:责任编辑|责编|本文编辑|值班编辑|执行编辑|实习编辑|新媒体编辑|网络编辑|本版编辑|编辑|编审|审核|"
    r"审校|校对|终审|监制|统筹|策划|制作|制图|"
    r"来源|文章来源|稿源|信息来源|消息来源|图片来源|图源|供图|摄影|摄像|作者|撰文|文/图|文|记者|本报记者|"
    r"本版采写|采写|通讯员|"
    r"原标题|原文链接|阅读原文|延伸阅读|相关阅读|相关新闻|推荐阅读|更多新闻|更多精彩|版权声明|免责声明|"
    r"特别声明|声明|更新时间戳)"
)
FOOT_LINE = re.compile(
    rf"^[\s(\[【<*—\-]*(?:{FOOT_WORDS}\s*[::/／|][^\n]{{0,120}}"
    r"|(?:扫码|扫一扫|扫描(?:上方|下方)?二维码|长按|关注(?:我们|公众号|微信|官方)|微信扫|用微信扫描|"
    r"点击(?:下载|关注|查看|阅读|进入)|下载(?:客户端|app)|欢迎关注|"
    r"更多(?:精彩|资讯|内容|新闻)|分享(?:到|至)|转载请注明|未经(?:授权|许可|书面)|版权所有|本文(?:来自|"
    r"来源|系|由|仅)|"
    r"以上(?:内容|信息)(?:仅|不)|投资有风险|广告|推广|返回搜狐|查看更多|举报|打印|关闭)[^\n]{0,100}"
    r"|(?:end|完|全文完|未完待续|-{3,}|={3,}|\*{3,}|#+))[\s)\]】>]*$",
    re.I,
)
FOOT_GROUP = re.compile(
    rf"\s*[(\[【](?:{FOOT_WORDS}\s*[::/／|\s][^()\[\]【】\n]{{0,60}}(?:[(][^()\n]{{0,20}}[)])?"
    r"|完|全文完|end|[^()\[\]【】\n]{0,12}(?:网|报|社|台|客户端|晨报|晚报|"
    r"日报)(?:[-—·/ ][^()\[\]【】\n]{0,14})?"
    r"|(?:[^()\[\]【】\n]{0,8}记者|本报|文字?/|图/|作者)[^()\[\]【】\n]{1,40})[)\]】]\s*$",
    re.I,
)
# A bound on a bracketed note: a pattern that ends a text is else tried at every bracket of it.
FOOT_LENGTH = 160
# After the last full stop: 责任编辑：孙潇(EN060)
FOOT_TAIL = re.compile(
    r"(?<=[。!?!?”\"])\s*(?:责任编辑|责编|编辑|校对|本文来源|文章来源|来源|记者)\s*[::]\s*[^\n。]{1,40}$"
)


def strip_dateline(text: str) -> str:
    """新华社北京6月9日电（记者…）: where and when a text was filed is no part of the story."""
    return _until_stable(text, _strip_datelines)


def _strip_datelines(text: str) -> str:
    lines = text.split("\n", HEAD_LINES)
    kept = [
        DATELINE.sub("", line, count=1).strip()
        for line in lines[:HEAD_LINES]
        if len(lines) == 1 or not HEAD_LINE.match(line)
    ]
    return "\n".join(line for line in (*kept, *lines[HEAD_LINES:]) if line) or text


def strip_footer(text: str) -> str:
    """责任编辑, 来源, 扫码关注, advertisements: lines and bracketed notes at the end, all of them."""
    while text:
        head, _, last = text.rpartition("\n")
        if head and FOOT_LINE.match(last.strip()):
            text = head.strip()
            continue
        body, end = text[:-FOOT_LENGTH], text[-FOOT_LENGTH:]
        shorter = (body + FOOT_TAIL.sub("", FOOT_GROUP.sub("", end))).strip()
        if not shorter or shorter == text:
            return text
        text = shorter
    return text


CHARACTER_STEPS: tuple[Step, ...] = (drop_invisible, normalize_width)
TITLE_STEPS: tuple[Step, ...] = (
    *CHARACTER_STEPS,
    strip_markup,
    simplify,
    normalize_width,
    join_lines,
    squeeze_spaces,
    strip_frame,
)
BODY_STEPS: tuple[Step, ...] = (
    *CHARACTER_STEPS,
    strip_markup,
    simplify,
    normalize_width,
    squeeze_spaces,
    strip_dateline,
    strip_footer,
)


def clean_title(raw: str) -> str:
    """A raw headline -> its canonical text in one line, without labels and site suffixes."""
    return _run(TITLE_STEPS, raw)


def clean_body(raw: str) -> str:
    """A raw body, HTML or text -> its canonical text, one paragraph a line."""
    return _run(BODY_STEPS, raw)


def clean_news(text: str) -> str:
    """Clean the text of an article, HTML or plain.

    >>> clean_news("<p>江城日报江城12月1日电（记者 林越）央行宣布降准。</p><p>（责任编辑：何平）</p>")
    '央行宣布降准。'
    >>> clean_news("差异显著（P<0.005）。")
    '差异显著(P<0.005)。'
    """
    return clean_body(text)


def _run(steps: tuple[Step, ...], text: str) -> str:
    for step in steps:
        text = step(text)
    return text


# A sentence ends at its mark and what closes a quotation after it, or with its line.
SENTENCE_END = re.compile(r"(?<=[。!?;])(?=[^”’」』)\]])|\n")
# The same with the mark, where marks do not matter: a look behind at each character takes twice as long.
MARK_AND_END = re.compile(r"[。!?;](?=[^”’」』)\]])|\n")

# --- what is compared ---------------------------------------------------------------------------------------

THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Punctuation is no feature, but 0.5, 3:2 and -3 are: a mark between digits and a minus before one stay.
# Most runs are of Han characters: to test a range is cheaper than to ask what a character is.
KEPT = re.compile(r"[\u4e00-\u9fff]+|[^\W\d_]+|-?\d+(?:[.,:/\-]\d+)*|%")


def skeleton(text: str) -> str:
    """The letters and digits of a cleaned text, lower case: what is hashed and compared.

    >>> skeleton("央行：下调 0.5 个百分点！")
    '央行下调0.5个百分点'
    """
    return "".join(skeletons(text)) if len(text) > SENTENCE else _skeleton(text)


def _skeleton(text: str) -> str:
    bare = "".join(KEPT.findall(text.lower()))
    return THOUSANDS.sub("", bare) if "," in bare else bare


def skeletons(text: str) -> tuple[str, ...]:
    """The skeletons of a text's sentences and lines, empty ones too: quicker than one by one.

    >>> skeletons("央行:下调!幅度1,000。")
    ('央行下调', '幅度1000')
    """
    return (_skeletons_of_body if SENTENCE < len(text) <= REMEMBERED else _skeletons)(text)


def _skeletons(text: str) -> tuple[str, ...]:
    bare = "".join(KEPT_OR_END.findall(MARK_AND_END.sub(END, text.lower())))
    return tuple((THOUSANDS.sub("", bare) if "," in bare else bare).split(END))


# A sign that no cleaned text has: cleaning takes control characters out.
END = "\x1f"
KEPT_OR_END = re.compile(f"{KEPT.pattern}|{END}")

# A body is searched for furniture, fingerprinted and then judged. Sentences are not worth being remembered,
# and long texts would take memory (characters).
SENTENCE, REMEMBERED = 200, 4_000
_skeletons_of_body = lru_cache(1_024)(_skeletons)
