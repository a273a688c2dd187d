"""Make pairs from real articles: one fact flipped, or a cosmetic edit alone; print how many are folded.

    python bench/flips.py ARTICLES.jsonl ... [--count 400] [--seed 1] [--peers] [--errors]

A flip changes one fact of the headline or opening everywhere in the article, so the two must not be folded.
A cosmetic edit is what an outlet does to a reprint, so the two must be folded, or at least queued.
Of several files `count` pairs are made from each. --peers: what the classic recipe and MinHash fold of them.
"""

import argparse
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from opencc import OpenCC

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from articles.dedup import tokens
from articles.dedup.clean import clean_body, clean_title
from articles.dedup.evidence import Text
from articles.dedup.verdict import Item, Verdict, judge
from articles.schemes import base
from articles.schemes.classic import Classic
from articles.schemes.minhash import MinHashLsh

Article = tuple[str, str]
Edit = Callable[[str, str, random.Random], Article | None]

OUTCOMES = ("folded", "queued", "apart")
PEERS = ("classic", "minhash")
OPENING = 150
CITIES = (
    "北京 上海 广州 深圳 杭州 南京 武汉 成都 重庆 天津 西安 郑州 长沙 沈阳 青岛 济南 大连 厦门 福州 昆明 "
    "合肥 南昌 贵阳 南宁 太原 "
    "石家庄 哈尔滨 长春 兰州 银川 西宁 海口 三亚 乌鲁木齐 拉萨 呼和浩特 苏州 无锡 宁波 温州 东莞 佛山 珠海 "
    "榆林 白银 唐山 洛阳 襄阳 宜昌 芜湖 "
    "湖北 湖南 河北 河南 山东 山西 陕西 甘肃 四川 云南 贵州 广东 广西 福建 浙江 江苏 安徽 江西 辽宁 吉林 "
    "黑龙江 新疆 西藏 青海 宁夏 内蒙古 海南 "
    "美国 日本 韩国 英国 法国 德国 俄罗斯 印度 伊朗 以色列 乌克兰 巴西 加拿大 澳大利亚 东京 伦敦 巴黎 "
    "莫斯科 华盛顿 纽约 首尔"
).split()
SURNAMES = "赵钱孙李周吴郑王冯陈蒋沈韩杨朱秦许何吕张孔曹严金魏陶姜谢邹苏潘葛范彭鲁韦马方任袁柳唐薛雷贺"
GIVEN = "建国志强秀英晓明海涛文博思远雨桐嘉宁俊杰丽华春梅永康子轩欣怡德胜红军玉兰国栋立新"
OPPOSITES = [
    pair.split("/")
    for pair in "上调/下调 上涨/下跌 增长/下降 增加/减少 提高/降低 上升/下降 加息/降息 升级/降级 盈利/亏损 "
    "通过/否决 同意/拒绝 开放/关闭 "
    "恢复/暂停 支持/反对 进口/出口 增持/减持 有罪/无罪 战胜/不敌 晋级/出局 获救/遇难 批准/驳回 "
    "走高/走低 扩大/缩小 净流入/净流出".split()
]
NEGATED = [
    pair.split("/")
    for pair in "将/不会 可以/不可以 是/不是 有/没有 能/不能 已/尚未 允许/不允许 构成/不构成 存在/不存在 "
    "承认/不承认 同意/不同意 "
    "支持/不支持 愿意/不愿意 属实/不属实 影响/不影响 接受/不接受 参加/不参加 宣布/未宣布 "
    "达成/未达成 批准/未批准 公布/未公布".split()
]
NUMBER = re.compile(r"(?<![\d.])\d+(?:\.\d+)?(?![\d.])")


# --- flips ------------------------------------------------------------------------------------------------


def opening(title: str, body: str) -> str:
    return f"{title}\n{body[:OPENING]}"


def replaced(title: str, body: str, old: str, new: str) -> Article:
    return title.replace(old, new), body.replace(old, new)


def flip_number(title: str, body: str, rng: random.Random) -> Article | None:
    found = [number for number in NUMBER.findall(opening(title, body)) if len(number) <= 7]
    if not found:
        return None
    old = rng.choice(found)
    digits = list(old)
    places = [place for place, digit in enumerate(digits) if digit.isdigit()]
    place = rng.choice(places)
    digits[place] = rng.choice([digit for digit in "123456789" if digit != digits[place]])
    new = "".join(digits)
    swap = re.compile(rf"(?<![\d.]){re.escape(old)}(?![\d.])")
    return swap.sub(new, title), swap.sub(new, body)


def flip_place(title: str, body: str, rng: random.Random) -> Article | None:
    found = sorted({city for city in CITIES if city in opening(title, body)})
    if not found:
        return None
    old = rng.choice(found)
    return replaced(title, body, old, rng.choice([city for city in CITIES if city != old]))


def persons(title: str, body: str) -> list[str]:
    """Names of the headline or opening that the story says again: a name said once is often cut wrongly."""
    tagged = tokens.tagged(re.sub(r"[^\u4e00-\u9fff]+", "。", opening(title, body)))
    names = {word for word, tag in tagged if tag == "nr" and 2 <= len(word) <= 3 and word[0] in SURNAMES}
    return sorted(name for name in names if f"{title}\n{body}".count(name) > 1 and name[-1] not in "某氏")


def flip_person(title: str, body: str, rng: random.Random) -> Article | None:
    found = persons(title, body)
    if not found:
        return None
    old = rng.choice(found)
    new = rng.choice(SURNAMES) + "".join(rng.choices(GIVEN, k=len(old) - 1))
    return replaced(title, body, old, new)


def flip_given_name(title: str, body: str, rng: random.Random) -> Article | None:
    """The same surname: the hardest change of a name to see."""
    found = persons(title, body)
    if not found:
        return None
    old = rng.choice(found)
    new = old[0] + "".join(rng.choices([char for char in GIVEN if char not in old], k=len(old) - 1))
    return replaced(title, body, old, new)


def flip_opposite(title: str, body: str, rng: random.Random) -> Article | None:
    pairs = [pair for pair in OPPOSITES if any(word in opening(title, body) for word in pair)]
    if not pairs:
        return None
    one, other = rng.choice(pairs)
    old, new = (one, other) if one in opening(title, body) else (other, one)
    return replaced(title, body, old, new)


def flip_negation(title: str, body: str, rng: random.Random) -> Article | None:
    """A denial taken away, or put before a verb of the headline."""
    pairs = [pair for pair in NEGATED if pair[1] in opening(title, body)]
    if pairs:
        plain, negated = rng.choice(pairs)
        return replaced(title, body, negated, plain)
    verbs = [pair for pair in NEGATED if len(pair[0]) > 1 and pair[0] in title]
    return replaced(title, body, *rng.choice(verbs)) if verbs else None


# --- cosmetic edits ---------------------------------------------------------------------------------------

FULL_WIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
TO_TRADITIONAL = OpenCC("s2t")
PARAGRAPH = re.compile(r"\n+")
SENTENCE = re.compile(r"(?<=[。！？])")


def edit_label(title: str, body: str, rng: random.Random) -> Article:
    return rng.choice(["【快讯】", "【最新】", "(图)", "重磅！", "快讯：", "【独家】"]) + title, body


def edit_punctuation(title: str, body: str, rng: random.Random) -> Article:
    marks = str.maketrans({"，": ",", "。": ".", "：": ":", "“": '"', "”": '"', "！": "!", "、": "，"})
    return title.translate(marks) + "！", body.translate(marks)


def edit_width(title: str, body: str, rng: random.Random) -> Article:
    return title.translate(FULL_WIDTH), body.translate(FULL_WIDTH)


def edit_traditional(title: str, body: str, rng: random.Random) -> Article:
    return TO_TRADITIONAL.convert(title), TO_TRADITIONAL.convert(body)


def edit_dateline(title: str, body: str, rng: random.Random) -> Article:
    line = rng.choice(
        [
            "新华社北京6月9日电（记者 王一）",
            "中新网3月1日电 ",
            "本报讯（记者 李二 通讯员 张三）",
            "据央视新闻消息，",
        ]
    )
    return title, line + body


def edit_footer(title: str, body: str, rng: random.Random) -> Article:
    notes = [
        "责任编辑：王小二",
        "来源：某某日报",
        "扫码关注我们的公众号",
        "（编辑：李四 审核：王五）",
        "版权声明：未经授权不得转载",
    ]
    return title, "\n".join([body, *rng.sample(notes, 2)])


def edit_site_suffix(title: str, body: str, rng: random.Random) -> Article:
    return title + rng.choice(["_搜狐网", "-中新网", " - 新浪新闻", "_新闻频道_央视网", "|凤凰资讯"]), body


def edit_html(title: str, body: str, rng: random.Random) -> Article:
    paragraphs = "".join(f"<p>&nbsp;&nbsp;{part}</p>\n" for part in PARAGRAPH.split(body))
    return title, f"<div class='content'><script>var a=1;</script>{paragraphs}<!-- end --></div>"


def edit_zero_width(title: str, body: str, rng: random.Random) -> Article:
    def sprinkle(text: str) -> str:
        return "".join(char + ("\u200b" if rng.random() < 0.1 else "") for char in text)

    return sprinkle(title), sprinkle(body)


def edit_lead_cut(title: str, body: str, rng: random.Random) -> Article | None:
    sentences = SENTENCE.split(body)
    if len(sentences) < 5 or len(sentences[0]) > len(body) * 0.3:
        return None
    return title, "".join(sentences[1:])


def edit_tail_cut(title: str, body: str, rng: random.Random) -> Article:
    return title, body[: round(len(body) * 0.7)]


def edit_retitled(title: str, body: str, rng: random.Random) -> Article | None:
    """The opening's first clause as the new headline, as aggregators do."""
    clause = re.split(r"[，。！？；,]", clean_body(body), maxsplit=1)[0]
    return (clause, body) if 8 <= len(clause) <= 40 else None


def edit_all(title: str, body: str, rng: random.Random) -> Article:
    """Several of them at once."""
    for edit in rng.sample([edit_label, edit_punctuation, edit_dateline, edit_footer, edit_site_suffix], 3):
        title, body = edit(title, body, rng)
    return title, body


FLIPS: tuple[Edit, ...] = (
    flip_number, flip_place, flip_person, flip_given_name, flip_opposite, flip_negation,
)  # fmt: skip
EDITS: tuple[Edit, ...] = (
    edit_label, edit_punctuation, edit_width, edit_traditional, edit_dateline, edit_footer, edit_site_suffix,
    edit_html, edit_zero_width, edit_lead_cut, edit_tail_cut, edit_retitled, edit_all,
)  # fmt: skip


def pairs(
    articles: list[Article], edits: tuple[Edit, ...], count: int, seed: int
) -> Iterator[tuple[str, Article, Article]]:
    """(name of the edit, article, edited article), `count` of each kind where the articles allow it."""
    for edit in edits:
        rng = random.Random(f"{seed} {edit.__name__}")
        made = 0
        for title, body in rng.sample(articles, len(articles)):
            if edit in FLIPS:
                # A dateline's city or reporter is no fact of the story.
                title, body = clean_title(title), clean_body(body)
            edited = edit(title, body, rng)
            if edited is None or edited == (title, body):
                continue
            yield edit.__name__, (title, body), edited
            made += 1
            if made == count:
                break


def read_articles(path: str, shortest: int, longest: int) -> list[Article]:
    """Articles with a headline and a body of their own: one that is only furniture says nothing of edits."""
    with Path(path).open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    seen = Counter(row["content"].strip() for row in rows)
    return [
        (row["title"], row["content"])
        for row in rows
        if shortest <= len(row["content"]) <= longest
        and len(row["title"]) >= 8
        and seen[row["content"].strip()] == 1
    ]


def verdict(one: Article, other: Article) -> Verdict:
    left, right = (Item(Text(clean_title(title), clean_body(body))) for title, body in (one, other))
    return judge(left, right)


def report(corpora: list[list[Article]], edits: tuple[Edit, ...], arguments: argparse.Namespace) -> None:
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for articles in corpora:
        for name, one, other in pairs(articles, edits, arguments.count, arguments.seed):
            found = verdict(one, other)
            outcome = "folded" if found.folds else "queued" if found.queued else "apart"
            kinds[name][outcome] += 1
            if arguments.peers:
                kinds[name] += Counter(peers(one, other))
            if arguments.errors and (outcome == "folded") == name.startswith("flip"):
                facts = [(r["code"], r["left"], r["right"]) for r in found.reasons if "differs" in r["code"]]
                print(f"  {name} {found.kind}: {first_change(one, other)} | {one[0]} {facts}")
    total: Counter[str] = Counter()
    for name, counts in kinds.items():
        total += counts
        print_row(name, counts, arguments.peers)
    print_row("all", total, arguments.peers)


def peers(one: Article, other: Article) -> list[str]:
    """Which of the other schemes fold the two."""
    classic, minhash = (_folds(scheme, one, other) for scheme in (Classic(), MinHashLsh()))
    return ["classic"] * classic + ["minhash"] * minhash


def _folds(scheme: base.Scheme, one: Article, other: Article) -> bool:
    return scheme.folds(*(scheme.prepare(base.Article("", *article)) for article in (one, other)))


def first_change(one: Article, other: Article) -> str:
    left, right = "\n".join(one), "\n".join(other)
    place = next(
        (place for place, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), 0
    )
    start = max(place - 12, 0)
    return f"{place} {left[start : place + 14]!r} -> {right[start : place + 14]!r}"


def print_row(name: str, counts: Counter[str], with_peers: bool) -> None:
    made = max(sum(counts[outcome] for outcome in OUTCOMES), 1)
    shown = (*OUTCOMES, *(PEERS if with_peers else ()))
    shares = "  ".join(f"{outcome} {counts[outcome] / made:6.1%}" for outcome in shown)
    print(f"{name:20} n {made:4}  {shares}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("articles", nargs="+", help="JSONL with title and content")
    parser.add_argument("--count", type=int, default=100, help="pairs of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shortest", type=int, default=100)
    parser.add_argument("--longest", type=int, default=5000)
    parser.add_argument("--peers", action="store_true", help="the classic recipe and MinHash as well")
    parser.add_argument("--errors", action="store_true", help="print each wrong pair")
    arguments = parser.parse_args()
    corpora = [read_articles(path, arguments.shortest, arguments.longest) for path in arguments.articles]
    for title, edits in (
        ("Flips: none may be folded", FLIPS),
        ("Cosmetic edits: all should be folded", EDITS),
    ):
        print(f"\n{title}")
        report(corpora, edits, arguments)


if __name__ == "__main__":
    main()
