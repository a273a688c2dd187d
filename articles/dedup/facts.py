"""The facts in which near-identical texts differ: numbers, dates, ordinals, negations, opposites, names.

A fact differs where one is *put in place of* another: inside sentences that are otherwise alike, a short
stretch stands where the other text has another short stretch. A paragraph more or less, a sentence told in
other words or a name that the other text mentions elsewhere is no difference in facts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from articles.dedup import numerals, tokens
from articles.dedup.clean import skeleton
from articles.dedup.evidence import Text

# Bounds: changed sentences looked at per side, characters of a sentence, differences reported.
MAX_SENTENCES = 60
MAX_LENGTH = 400
MAX_DIFFERENCES = 12
# Likeness (0..100) from which two sentences are one sentence, changed.
ALIKE = 55
# A replaced stretch: more tokens or characters on a side are another way of telling it.
SHORT_TOKENS = 4
SHORT_CHARACTERS = 12
# Sentences of each body that count as its opening.
OPENING = 2

NEGATIONS = frozenset(
    "不 没 没有 未 无 非 并非 并未 并不 未能 不会 不再 不能 不得 不是 不予 否认 拒绝 无法 尚未 从未 勿 "
    "未必 无需 禁止 不可 "
    "不存在 不构成 不曾 不用 不必 不应 不准 不许 不宜 没能 毫无 绝不 决不 绝非 从不 无意 不愿 不肯 "
    "不同意 不批准 不支持".split()
)
OPPOSITES = (
    "上调/下调 上涨/下跌 上涨/下降 上涨/回落 上涨/下滑 上升/下降 上升/下滑 增长/下降 增长/下滑 增长/减少 "
    "增加/减少 增多/减少 "
    "提高/降低 提升/降低 提升/下降 调高/调低 涨/跌 涨/降 升/降 升/跌 增/减 增/降 走高/走低 走强/走弱 "
    "高开/低开 收涨/收跌 "
    "大涨/大跌 暴涨/暴跌 涨停/跌停 扩大/缩小 扩张/收缩 加快/放缓 加速/放缓 加速/减速 回升/回落 反弹/下挫 "
    "胜/负 胜/败 赢/输 战胜/不敌 击败/负于 战胜/负于 击败/不敌 获胜/失利 获胜/落败 胜利/失败 晋级/出局 "
    "夺冠/失冠 领先/落后 "
    "有罪/无罪 有效/无效 有害/无害 有关/无关 通过/否决 同意/拒绝 同意/反对 支持/反对 赞成/反对 批准/驳回 "
    "批准/否决 承认/否认 "
    "肯定/否定 证实/否认 接受/拒绝 胜诉/败诉 "
    "开放/关闭 开启/关闭 开通/关闭 恢复/暂停 启动/暂停 启动/终止 开始/结束 开工/停工 复工/停工 复产/停产 "
    "上市/退市 上线/下线 "
    "开馆/闭馆 开幕/闭幕 开业/停业 开业/歇业 开/闭 开/关 开盘/收盘 买入/卖出 买进/卖出 增持/减持 加息/降息 "
    "升息/降息 升准/降准 盈利/亏损 盈余/赤字 增收/减收 增产/减产 "
    "进口/出口 逮捕/释放 收紧/放松 收紧/放宽 加强/削弱 升值/贬值 就任/卸任 上任/卸任 当选/落选 入选/落选 "
    "入职/离职 "
    "男/女 东/西 南/北 东部/西部 南部/北部 上午/下午 左/右 前/后 内/外 大/小 新/旧 "
    "合法/非法 安全/危险 成功/失败 利好/利空 流入/流出 升级/降级 上行/下行 净买入/净卖出 顺差/逆差 "
    "生还/遇难 获救/遇难 "
    "生还/死亡 活着/死亡 合格/不合格 解除/发布 解除/启动 取消/恢复 延长/缩短 提前/推迟 多/少 高/低 "
    "高于/低于 多于/少于 强/弱 "
    "以上/以下 正式/暂缓 允许/禁止 阳性/阴性 正/负 快/慢 增幅/降幅 涨幅/跌幅 阳转阴/阴转阳 真/假 属实/不实 "
    "好转/恶化 改善/恶化 "
    "之内/之外 上台/下台 入境/出境 入院/出院 加入/退出 进入/退出 起飞/降落 上车/下车 生产/停产 购买/出售 "
    "收购/出售"
)
# Antonyms of one character are facts only where nothing else of the word changed.
OPPOSITE_OF: dict[str, frozenset[str]] = {}
for _pair in OPPOSITES.split():
    _one, _other = _pair.split("/")
    OPPOSITE_OF[_one] = OPPOSITE_OF.get(_one, frozenset()) | {_other}
    OPPOSITE_OF[_other] = OPPOSITE_OF.get(_other, frozenset()) | {_one}

LONG_OPPOSITES = re.compile(
    "|".join(sorted((word for word in OPPOSITE_OF if len(word) > 1), key=len, reverse=True))
)
NEGATING = re.compile("[不没未无非否拒莫勿禁]")
# Changes up to which two texts count as one text with something put in another's place.
FEW_CHANGES = 3
NOT_NOMINAL = frozenset("v vd vi a ad c p u uj ul uv uz ud ug y r m q t f number date".split())
# 第一次 and 首次 are often said for emphasis alone.
FIRST = ("ordinal", 1)
NAME_TAGS = ("nr", "ns", "nt", "nz", "eng")
NO_UNITS = frozenset({"nr", "ns", "nt", "number"})
SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章苏潘葛奚范彭郎鲁韦昌马"
    "苗凤"
    "花方俞任袁柳鲍史唐费廉岑薛雷贺倪汤殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟平黄和穆萧尹姚邵汪祁毛狄米贝"
    "明臧计成戴宋庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万柯管卢莫房"
    "解应宗丁宣邓郁单洪包左石崔吉龚程邢裴陆翁荀羊惠甄曲家封储靳井段富巫乌焦巴弓牧隗山谷车侯全班仰仲伊宫宁仇栾"
    "甘祖武符刘景詹束龙叶幸司黎白蒲从鄂索赖卓蔺屠蒙池乔阴闻莘党翟谭贡劳姬申冉宰桑桂牛寿通边燕冀尚农温庄晏柴"
    "瞿阎"
    "连习艾鱼容向古易慎戈廖终步都耿满弘匡文寇广欧师巩聂晁敖冷辛阚那简饶空曾沙养丰关游权盖益桓公肖闫付代岳"
)
# What may follow a name without making it another one.
TITLES = re.compile(
    r"(?:(?:先生|女士|小姐|同志|某|氏)+"
    r"|(?<=..)(?:主席|总统|总理|部长|书记|市长|省长|局长|院长|教授|博士|市|省|县|区|州|镇|乡|村|国|"
    r"集团|公司|股份|有限|控股|企业|方面|官方|科技|方)+)$"
)
DATE = re.compile(
    r"\d{2,4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|\d{1,2}月(?:\d{1,2}[日号]|份)?|\d{1,2}[日号](?!线|楼|院|机|"
    r"舰|令|文|台风|店|馆|门|房)"
)
DATE_PART = re.compile(r"(\d+)([年月日号])")
TOKEN = re.compile(
    rf"(?P<date>{DATE.pattern})"
    rf"|(?P<ordinal>第\s?(?:\d+|{numerals.HAN_NUMBER})|首(?=[次个批轮例届款条家位场架艘座]))"
    r"|(?P<score>\d+\s?[:比]\s?\d+(?!\d))"
    rf"|(?P<percent>百分之(?:{numerals.HAN_NUMBER}|\d+(?:\.\d+)?))"
    rf"|(?P<number>-?(?:{numerals.ARABIC})(?:\s?[十百千万亿兆]+)?%?)"
    r"|(?P<unit>个百分点|个基点)"
    rf"|(?P<han>(?:(?!百分之|第[\d{numerals.HAN_DIGITS}十]|"
    rf"首[次个批轮例届款条家位场架艘座])[{tokens.HAN}])+)|(?P<ascii>[a-z]+)",
    re.I,
)
# Not within 1,000 or 3:2.
CLAUSE_END = re.compile(r"(?<=[,:;、])(?!\s?\d)")
HAN_NUMBER = re.compile(numerals.HAN_NUMBER)
# Taken out before the segmenter, which cuts 一万亿元 into 一 and 万亿元.
LONG_NUMBER = re.compile(
    f"([{numerals.HAN_DIGITS}十](?:[十百千万亿]|(?<=[十百千万亿])[{numerals.HAN_DIGITS}])+)"
)


class Token(NamedTuple):
    """kind: number, date, ordinal, or a part of speech; tokens with equal keys say the same."""

    kind: str
    text: str
    key: object


class Date(NamedTuple):
    """Year, month and day, None where not said; two digits of a year are read as of this century."""

    year: int | None
    month: int | None
    day: int | None

    def agrees(self, other: "Date") -> bool:
        """12月1日 and 1日 agree: nothing that both say differs, and they share something."""
        pairs = list(zip(self, other, strict=True))
        return all(a is None or b is None or a == b for a, b in pairs) and any(a == b and a for a, b in pairs)


class Change(NamedTuple):
    """A stretch of tokens and what the other text has in its place, between equal tokens."""

    left: Sequence[Token]
    right: Sequence[Token]
    before: Token | None
    after: Token | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that differs, as each side states it.

    kind: number, date, ordinal, negation, opposite, name. `prominent`: in the headline or opening.
    """

    kind: str
    left: str
    right: str
    prominent: bool = False

    def mirrored(self) -> "Difference":
        return Difference(self.kind, self.right, self.left, self.prominent)


def differences(left: Text, right: Text) -> list[Difference]:
    """Facts in which two articles differ, headline first; symmetric but for the sides' order."""
    if (left.title, left.body) > (right.title, right.body):
        return [found.mirrored() for found in differences(right, left)]
    aligned = _aligned(left, right)
    pairs = [(*_tokenized(one, other, prominent), prominent) for one, other, prominent in aligned]
    changed = [(change, prominent) for one, other, prominent in pairs for change in changes(one, other)]
    few = len({(_joined(change.left), _joined(change.right)) for change, _ in changed}) <= FEW_CHANGES
    facts = [
        Difference(kind, ours, theirs, prominent)
        for change, prominent in changed
        for kind, ours, theirs in _facts(change, left, right, prominent, few)
    ]
    facts += [found for one, other, prominent in pairs if prominent for found in _moved_dates(one, other)]
    return _merged(facts)[:MAX_DIFFERENCES]


def _merged(facts: list[Difference]) -> list[Difference]:
    """Each difference once, as it is first met."""
    return list({(fact.kind, fact.left, fact.right): fact for fact in reversed(facts)}.values())[::-1]


# --- alignment --------------------------------------------------------------------------------------------


def _aligned(left: Text, right: Text) -> Iterator[tuple[str, str, bool]]:
    """Pairs of sentences that say the same thing in other words or with other facts."""
    if left.bare_title != right.bare_title and fuzz.ratio(left.bare_title, right.bare_title) >= ALIKE:
        yield left.title, right.title, True
    openings = {*list(left.sentences)[:OPENING], *list(right.sentences)[:OPENING]}
    for one, other in align(left.sentences, right.sentences):
        yield left.sentences[one], right.sentences[other], one in openings or other in openings


def align(left: dict[str, str], right: dict[str, str]) -> list[tuple[str, str]]:
    """Changed sentences of one text beside their likeness in the other, best pairs first taken."""
    ours = [bare for bare in left if bare not in right][:MAX_SENTENCES]
    theirs = [bare for bare in right if bare not in left][:MAX_SENTENCES]
    if not ours or not theirs:
        return []
    scores = process.cdist(ours, theirs, scorer=fuzz.ratio, dtype=np.float32, score_cutoff=ALIKE)
    rows, columns = np.nonzero(scores)
    best = sorted(zip((-scores[rows, columns]).tolist(), rows.tolist(), columns.tolist(), strict=True))
    pairs, used_left, used_right = [], set(), set()
    for _, row, column in best:
        if row not in used_left and column not in used_right:
            used_left.add(row)
            used_right.add(column)
            pairs.append((row, column))
    return [(ours[row], theirs[column]) for row, column in sorted(pairs)]


# --- tokens -----------------------------------------------------------------------------------------------


def _tokenized(one: str, other: str, prominent: bool) -> tuple[list[Token], list[Token]]:
    """The dates of a prominent sentence are compared wherever they stand; of others, what differs."""
    if not prominent:
        one, other = _differing_clauses(one[:MAX_LENGTH], other[:MAX_LENGTH])
    return tokenize(one), tokenize(other)


def _differing_clauses(one: str, other: str) -> tuple[str, str]:
    """Two sentences without the clauses that both begin and end with, but for the nearest of them.

    Words are found within clauses, and most edits are to one: the segmenter is spared the others.
    """
    ours, theirs = CLAUSE_END.split(one), CLAUSE_END.split(other)
    start = _common(ours, theirs)
    end = min(_common(ours[::-1], theirs[::-1]), len(ours) - start, len(theirs) - start)
    start, end = max(0, start - 1), max(0, end - 1)
    return "".join(ours[start : len(ours) - end]), "".join(theirs[start : len(theirs) - end])


def tokenize(sentence: str) -> list[Token]:
    """The tokens of a sentence: dates, ordinals, numbers by value, and words."""
    found: list[Token] = []
    for match in TOKEN.finditer(sentence[:MAX_LENGTH]):
        if match.lastgroup == "han":
            found += _words(match[0])
        else:
            found.append(_token(match.lastgroup, match[0]))
    return found


def _token(group: str | None, text: str) -> Token:
    if group == "date":
        return Token("date", text, _date(text))
    if group == "ordinal":
        return Token("ordinal", text, ("ordinal", numerals.value(text[1:]) if text[1:] else 1))
    if group == "score":
        return Token("number", text, ("score", *map(int, re.findall(r"\d+", text))))
    if group == "percent":
        return Token("number", text, ("%", numerals.value(text[3:])))
    if group == "number":
        return Token("number", text, ("%" if text[-1] == "%" else "", numerals.value(text.rstrip("%"))))
    if group == "unit":
        return Token("q", text, text)
    return Token("eng", text, text.lower())


@lru_cache(4_096)
def _words(run: str) -> list[Token]:
    """The words of a Han run, which is at most a sentence long and mostly stands in both texts."""
    found = []
    for place, part in enumerate(LONG_NUMBER.split(run)):
        if place % 2:
            found.append(Token("number", part, ("", numerals.value(part))))
            continue
        for word, tag in tokens.tagged(part) if part else ():
            if word[0] in numerals.HAN_SIGNS and (tag[0] in "mtq" or tag == "n"):
                found += _counted(word, tag)
            else:
                found.append(Token(tag, word, word))
    return found


def _counted(word: str, tag: str) -> Iterator[Token]:
    """What counts is cut off the front of a word, as in 三名 and 两年."""
    number = HAN_NUMBER.match(word)
    value = numerals.value(number[0]) if number else None
    if number is None or value is None:
        yield Token(tag, word, word)
        return
    yield Token("number", number[0], ("", value))
    if rest := word[number.end() :]:
        yield Token("q", rest, rest)


def _date(text: str) -> Date:
    parts = {unit: int(number) for number, unit in DATE_PART.findall(text)}
    year = parts.get("年")
    return Date(
        year + 2000 if year is not None and year < 100 else year,
        parts.get("月"),
        parts.get("日", parts.get("号")),
    )


def changes(left: list[Token], right: list[Token]) -> Iterator[Change]:
    """The stretches in which two sentences differ."""
    ids: dict[object, int] = {}
    ours, theirs = ([ids.setdefault(token.key, len(ids)) for token in side] for side in (left, right))
    i = j = 0
    for block in Levenshtein.opcodes(ours, theirs):
        if block.tag != "equal":
            continue
        if block.src_start > i or block.dest_start > j:
            yield _change(left, right, i, block.src_start, j, block.dest_start)
        i, j = block.src_end, block.dest_end
    if i < len(left) or j < len(right):
        yield _change(left, right, i, len(left), j, len(right))


def _change(left: list[Token], right: list[Token], i: int, i_end: int, j: int, j_end: int) -> Change:
    before = left[i - 1] if i else None
    after = left[i_end] if i_end < len(left) else None
    return Change(left[i:i_end], right[j:j_end], before, after)


# --- facts ------------------------------------------------------------------------------------------------

Fact = tuple[str, str, str]


def _facts(change: Change, left: Text, right: Text, prominent: bool, few: bool) -> Iterator[Fact]:
    values = [*_values(change), *(_replaced_ordinals(change, left, right) if prominent else ())]
    yield from values
    if not _is_short(change.left) or not _is_short(change.right):
        return
    ours, theirs = _joined(change.left), _joined(change.right)
    if opposite := _opposite(ours, theirs):
        yield "opposite", *opposite
    elif _is_negation(change):
        yield "negation", ours, theirs
    elif ours and theirs and not values and _other_name(change, left, right, few, prominent):
        yield "name", ours, theirs


def _is_short(stretch: Sequence[Token]) -> bool:
    return len(stretch) <= SHORT_TOKENS and sum(len(token.text) for token in stretch) <= SHORT_CHARACTERS


def _joined(stretch: Iterable[Token]) -> str:
    return "".join(token.text for token in stretch)


def _trimmed(left: str, right: str) -> tuple[str, str]:
    """Two stretches without what both begin and end with."""
    start = _common(left, right)
    return _without_common_end(left[start:], right[start:])


def _agree(one: Token, other: Token) -> bool:
    return isinstance(one.key, Date) and isinstance(other.key, Date) and one.key.agrees(other.key)


def _moved_dates(left: list[Token], right: list[Token]) -> Iterator[Difference]:
    """Dates of one sentence told twice that agree in none, wherever in it they stand."""
    ours, theirs = ([token for token in side if token.kind == "date"] for side in (left, right))
    if ours and theirs and not any(_agree(one, other) for one in ours for other in theirs):
        yield Difference("date", ours[0].text, theirs[0].text, True)


def _replaced_ordinals(change: Change, left: Text, right: Text) -> Iterator[Fact]:
    """第二次全体会议 against 闭幕会: which one of a series it is, said in another way."""
    ours, theirs = (
        any(token.kind == "ordinal" and token.key != FIRST for token in side)
        for side in (change.left, change.right)
    )
    if ours == theirs or not change.left or not change.right:
        return
    one, other = _joined(change.left), _joined(change.right)
    if (ours and skeleton(one) not in right.bare) or (theirs and skeleton(other) not in left.bare):
        yield "ordinal", one, other


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """How many characters two texts begin with alike, or how many clauses."""
    for place, (ours, theirs) in enumerate(zip(left, right, strict=False)):
        if ours != theirs:
            return place
    return min(len(left), len(right))


def _without_common_end(left: str, right: str) -> tuple[str, str]:
    """A segmenter glues a name to what follows it: 王某获赔."""
    end = _common(left[::-1], right[::-1])
    return left[: len(left) - end], right[: len(right) - end]


def _values(change: Change) -> Iterator[Fact]:
    """Numbers, dates and ordinals that stand in each other's place, in order."""
    for kind in ("date", "ordinal", "number"):
        ours = [(place, token) for place, token in enumerate(change.left) if token.kind == kind]
        theirs = [(place, token) for place, token in enumerate(change.right) if token.kind == kind]
        if len(ours) != len(theirs):
            continue
        for (i, one), (j, other) in zip(ours, theirs, strict=True):
            if one.key == other.key or (kind == "date" and _agree(one, other)):
                continue
            if _neighbour(change.left, i + 1, change.after) == _neighbour(
                change.right, j + 1, change.after
            ) or _neighbour(change.left, i - 1, change.before) == _neighbour(
                change.right, j - 1, change.before
            ):
                yield (
                    kind,
                    _with_unit(change.left, i, change.after),
                    _with_unit(change.right, j, change.after),
                )


def _neighbour(stretch: Sequence[Token], place: int, outside: Token | None) -> object:
    token = stretch[place] if 0 <= place < len(stretch) else outside
    return token.key if token else None


def _with_unit(stretch: Sequence[Token], place: int, after: Token | None) -> str:
    """A number as a reader names it: 0.5个百分点; but 6.2%, whatever follows."""
    token = stretch[place]
    following = stretch[place + 1] if place + 1 < len(stretch) else after
    if token.kind != "number" or token.text[-1] == "%" or following is None or following.kind in NO_UNITS:
        return token.text
    return token.text + (following.text if following.kind[0] in "qnm" else "")


def _opposite(left: str, right: str) -> tuple[str, str] | None:
    for ours, theirs in ((left, right), _trimmed(left, right)):
        if theirs in OPPOSITE_OF.get(ours, ()):
            return ours, theirs
    for word in LONG_OPPOSITES.findall(left):
        for other in sorted(OPPOSITE_OF[word]):
            if word not in right and other in right and other not in left:
                return word, other
    return None


def _is_negation(change: Change) -> bool:
    """Whether one side denies what the other says: 未通过 for 通过, 不会 for 将; but not 非 for 不是."""
    left, right = _joined(change.left), _joined(change.right)
    for stretch, ours, theirs in ((change.left, left, right), (change.right, right, left)):
        if NEGATING.search(theirs) or not NEGATING.search(ours):
            continue
        rest = [token for token in stretch if token.text not in NEGATIONS]
        if len(rest) < len(stretch) and (not rest or _joined(rest) == theirs):
            return True
        if theirs and _trimmed(ours, theirs)[0] in NEGATIONS:
            return True
    return False


def _other_name(change: Change, left: Text, right: Text, few: bool, prominent: bool) -> bool:
    """Whether a name stands in place of another one, which the other text does not know.

    Where nearly nothing else differs, a dictionary's idea of what is a name is not needed.
    """
    ours, theirs = _without_common_end(_joined(change.left), _joined(change.right))
    if _is_alias(ours, theirs) or _is_alias(theirs, ours) or _is_glued(change, ours, theirs):
        return False
    if not few and not _recurs(ours, theirs, left, right):
        return False
    left_names, right_names = _names(change.left), _names(change.right)
    left_new = any(name not in right.bare for name in left_names or [ours])
    right_new = any(name not in left.bare for name in right_names or [theirs])
    if left_names and right_names and left_new and right_new:
        return True
    if not few or not (_is_nominal(change.left) and _is_nominal(change.right)):
        return False
    if left_names and right_names:
        return prominent and (left_new or right_new)
    return left_new and right_new and (prominent or bool(left_names or right_names))


def _names(stretch: Sequence[Token]) -> list[str]:
    return [token.text for token in stretch if token.kind.startswith(NAME_TAGS)]


def _is_nominal(stretch: Sequence[Token]) -> bool:
    """Whether a stretch may be a name; an unknown one is cut into its characters: 高 and 启明."""
    name = _joined(stretch)
    one_verb = len(stretch) == 1 and stretch[0].kind[0] == "v"
    if name[0] in SURNAMES and 2 <= len(name) <= 3 and not one_verb:
        return True
    return len(stretch) <= 3 and not any(token.kind in NOT_NOMINAL for token in stretch)


def _recurs(ours: str, theirs: str, left: Text, right: Text) -> bool:
    """A name of a headline is in the story too; what is not was cut wrongly out of other words."""
    if not left.bare_body or not right.bare_body:
        return True
    return ours in left.bare_body or theirs in right.bare_body


def _is_glued(change: Change, ours: str, theirs: str) -> bool:
    """评魏 against 受魏: a verb that the segmenter glued to the surname of a name that both texts have."""
    if not all(token.kind.startswith("nr") for token in (*change.left, *change.right)):
        return False
    after_surname = change.before is not None and change.before.text[-1] in SURNAMES
    return len(ours) == len(theirs) == 1 and SURNAMES.isdisjoint((ours, theirs)) and not after_surname


def _is_alias(one: str, other: str) -> bool:
    """北京大学 and 北大, 张某 and 张某某, 江城 and 江城市: one name in two lengths."""
    core = TITLES.sub("", one)
    if not core or not TITLES.sub("", other):
        return True
    letters = iter(other)
    return core in other or all(char in letters for char in core)
