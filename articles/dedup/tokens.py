"""Canonical text -> weighted words. The only file that knows a segmenter."""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import jieba

try:
    import rjieba
except ImportError:  # pragma: no cover - the slower reference does the same work
    rjieba = None  # type: ignore[assignment]

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# rjieba and jieba cut Han runs alike and differ on ASCII, so each sees Han runs alone.
RUN = re.compile(rf"[{HAN}]+|[a-z]+|\d+(?:[.:]\d+)*%?")
# Words that hold a sentence together and say nothing of its story.
FUNCTION_WORDS = frozenset(
    "的 了 在 是 和 与 及 也 就 都 而 等 将 对 于 为 以 从 到 被 把 让 向 由 所 其 该 这 那 有 不 一 个 上 "
    "下 中 里 后 前 时 "
    "年 月 日 我 你 他 她 它 们 并 但 或 又 还 再 已 已经 进行 表示 介绍 记者 可以 一个 没有 我们 他们 "
    "目前 今天 昨天 "
    "昨日 今日 明天 近日 日前 此次 其中 以及 对于 通过 因为 由于 如果 这个 这些 那些 自己 什么 怎么 如何 "
    "当日 当天 据悉 "
    "获悉 了解 称 说 会 能 要 着 过 吗 呢 吧 啊 之 此 更 很 最".split()
)
UNKNOWN_IDF = 9
NUMBER_WEIGHT = 4


@cache
def engine_version() -> str:
    """Dictionary and engine, as part of a fingerprint's version: other words give other fingerprints."""
    return f"jieba{jieba.__version__}-{'rjieba' + version('rjieba') if rjieba else 'py'}"


class Memo(dict[str, int]):
    """word -> number, computed once: a look-up costs a tenth of a cached call. Full, it starts anew."""

    LIMIT = 1 << 18

    def __init__(self, compute: Callable[[str], int]) -> None:
        self._compute = compute

    def __missing__(self, word: str) -> int:
        if len(self) >= self.LIMIT:
            self.clear()
        self[word] = value = self._compute(word)
        return value


@cache
def _idf() -> dict[str, int]:
    """word -> idf as a whole number, whose sums are the same in every order and on every machine."""
    # Importing jieba.analyse itself would load a second dictionary.
    path = Path(jieba.__file__).with_name("analyse") / "idf.txt"
    with path.open(encoding="utf-8") as lines:
        pairs = (line.rsplit(" ", 1) for line in lines)
        return {word: max(1, round(float(idf))) for word, idf in pairs}


def _weight(word: str) -> int:
    if word in FUNCTION_WORDS:
        return 0
    return _idf().get(word) or (NUMBER_WEIGHT if word[0].isdigit() else UNKNOWN_IDF)


# Texts are made of some ten thousand words; among 260,000 others they would be slower to find.
_WEIGHTS = Memo(_weight)


def cut(text: str) -> list[str]:
    """Words of a text; where there are other signs than Han characters, engines differ in those."""
    return rjieba.cut(text) if rjieba else jieba.lcut(text)


def words(text: str) -> list[str]:
    """The words of a cleaned text in lower case, punctuation left out; numbers and Latin words first."""
    runs = RUN.findall(text.lower())
    others = [run for run in runs if run[0].isascii()]
    # One call for all runs; a line break keeps them apart as well as the text between them did.
    return others + [
        word for word in cut("\n".join(run for run in runs if not run[0].isascii())) if word != "\n"
    ]


def weighted_words(text: str) -> dict[str, int]:
    """word -> weight (idf x count), content words and numbers alone."""
    counts = Counter(words(text))
    return {word: weight * count for word, count in counts.items() if (weight := _WEIGHTS[word])}


def tagged(text: str) -> list[tuple[str, str]]:
    """(word, part of speech) in ICTCLAS tags: nr person, ns place, nt organisation, n noun, v verb."""
    if rjieba:
        return list(rjieba.tag(text))
    import jieba.posseg

    return [(pair.word, pair.flag) for pair in jieba.posseg.cut(text)]
