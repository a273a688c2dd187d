"""Two texts -> aligned, highlighted segments for any page.

Sentences are aligned first: equal ones in order, then similar ones, then those that moved; characters are
compared inside each aligned pair only. What is compared is a normalised form (see Ignore), what is shown is
always the original: joined again, the left spans are the left text and the right spans the right text.
Every step has a bound, so that no pair of texts can hold a page up; where one is met, `coarse` says so.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise

from opencc import OpenCC
from rapidfuzz.distance import Indel

EQUAL, INSERT, DELETE, REPLACE, MOVE = "equal", "insert", "delete", "replace", "move"
DEL, INS, FACT = "del", "ins", "fact"

# Fewer equal sentences than this are shown, more are folded away.
FOLD_FROM = 3
# Two sentences stand side by side from this similarity on; a sentence has moved from the second one on.
ALIGN_FROM = 0.4
MOVE_FROM = 0.7
# A shorter sentence ("他说。") recurs by chance and is not called moved.
MOVE_LENGTH = 6
# Cells of one comparison table; the memory of a comparison is an eighth of this in bytes.
MAX_CELLS = 64_000_000
# All tables of one call together: about a tenth of a second.
MAX_WORK = 600_000_000
# A page with more rows than this helps nobody.
MAX_SEGMENTS = 2_000
# Two-character words found in more sentences than this say nothing about which sentences belong together.
COMMON_BIGRAM = 12
CANDIDATES = 4
# Sentences of one side without an equal partner for which a similar one is looked for.
MAX_LOOSE = 10_000

SENTENCE = re.compile(r"[^。！？!?；;…\n]*(?:[。！？!?；;…]+[”’」』》）)\"']*|\n|$)\s*")
# A number's point counts where punctuation does not: 3.14 is not 31.4. A letter of no news stands for it.
POINT, POINTED = re.compile(r"(?<=\d)[.．](?=\d)"), "ꓸ"
UNIT = re.compile(rf"\d+(?:[.,:．，：{POINTED}]\d+)*|[A-Za-zＡ-Ｚａ-ｚ]+|.", re.DOTALL)

BRACKETS = dict(zip("）)】」』》”’]", "（(【「『《“‘[", strict=True))

Range = tuple[int, int]
FactFinder = Callable[[str, str], tuple[Iterable[Range], Iterable[Range]]]


@dataclass(frozen=True, slots=True)
class Ignore:
    """Differences that are shown but do not count."""

    punctuation: bool = False
    width: bool = False
    script: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    kind: str = EQUAL


@dataclass(frozen=True, slots=True)
class Segment:
    """One row: a sentence on either side. A moved sentence has two rows that share a `move` number."""

    op: str
    left: tuple[Span, ...] = ()
    right: tuple[Span, ...] = ()
    move: int = 0

    @property
    def ends_paragraph(self) -> bool:
        return any(side and "\n" in side[-1].text for side in (self.left, self.right))


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows, either all equal or all changed; a foldable one may be hidden behind its count."""

    segments: tuple[Segment, ...]
    equal: bool
    foldable: bool

    @property
    def count(self) -> int:
        return len(self.segments)


@dataclass(frozen=True, slots=True)
class Diff:
    blocks: tuple[Block, ...]
    coarse: bool = False

    @property
    def segments(self) -> Iterator[Segment]:
        return (segment for block in self.blocks for segment in block.segments)

    @property
    def changes(self) -> int:
        return sum(not block.equal for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch of the original text and the form in which it is compared."""

    start: int
    end: int
    key: str


class Budget:
    """How much work is left for this call; what does not fit is shown as replaced as a whole."""

    def __init__(self) -> None:
        self.left = MAX_WORK
        self.coarse = False

    def allows(self, rows: int, columns: int) -> bool:
        cells = rows * columns
        if cells > min(MAX_CELLS, self.left):
            self.coarse = True
            return False
        self.left -= cells
        return True


Facts = tuple[Iterable[Range], Iterable[Range]] | FactFinder | None


def diff(left: str, right: str, ignore: Ignore = Ignore(), facts: Facts = None) -> Diff:
    """Compare two texts sentence by sentence.

    `facts` gives stretches of each text, or finds them; one is marked where it touches a change inside
    aligned sentences, so that a number said twice is marked only where it differs.
    """
    budget = Budget()
    texts = (left, right)
    marks = _find_facts(texts, facts)
    sides = tuple(_sentences(text, ignore) for text in texts)
    rows = _align(sides[0], sides[1], budget)
    painter = _Painter(texts, marks, ignore, budget)
    segments = list(painter.segments(rows[:MAX_SEGMENTS], sides))
    if len(rows) > MAX_SEGMENTS:
        budget.coarse = True
        segments.append(painter.whole(rows[MAX_SEGMENTS:], sides))
    return Diff(tuple(_blocks(segments)), budget.coarse)


def occurrences(text: str, words: Iterable[str]) -> list[Range]:
    """Where the words stand in a text, whatever their width, case or script."""
    folded = fold(text)
    keys = {fold(word) for word in words} - {""}
    # The longest first: inside 一万亿元 there is no 一万.
    pattern = "|".join(re.escape(key) for key in sorted(keys, key=lambda key: (-len(key), key)))
    return [match.span() for match in re.finditer(pattern, folded)] if pattern else []


def fold(text: str) -> str:
    """A text in one width, case and script, character by character: places stay the same."""
    ignore = Ignore(width=True, script=True)
    table = {ord(char): (_compared(char, ignore) or char).lower() for char in set(text)}
    return text.translate({code: char for code, char in table.items() if len(char) == 1})


def diff_line(left: str, right: str, ignore: Ignore = Ignore(), facts: Facts = None) -> Segment:
    """Compare two headlines: characters only, one row."""
    texts = (left, right)
    painter = _Painter(texts, _find_facts(texts, facts), ignore, Budget())
    return painter.pair((0, len(left)), (0, len(right)))


# -- the compared form -------------------------------------------------------------------------------------


@cache
def _converter() -> OpenCC:
    return OpenCC("t2s")


@cache
def _compared(char: str, ignore: Ignore) -> str:
    """One character as it is compared; '' when it does not count. White space is layout and never counts."""
    if char.isspace() or (
        ignore.punctuation and unicodedata.category(char)[0] in "PSZC" and char not in "%％‰℃"
    ):
        return ""
    if ignore.width:
        narrow = unicodedata.normalize("NFKC", char)
        char = narrow if len(narrow) == 1 else char
    if ignore.script and char >= "\u2e80":
        simple = _converter().convert(char)
        char = simple if len(simple) == 1 else char
    return char


class _Forms(dict[str, str]):
    """Each character's compared form. One look-up: tens of thousands are made for one pair of articles."""

    def __init__(self, ignore: Ignore) -> None:
        self.ignore = ignore

    def __missing__(self, char: str) -> str:
        form = self[char] = _compared(char, self.ignore)
        return form


def _sentences(text: str, ignore: Ignore) -> list[Sentence]:
    found = (match.span() for match in SENTENCE.finditer(text))
    spans = [(start, end) for start, end in found if start < end]
    pointed = _pointed(text, ignore)
    table = {ord(char): _compared(char, ignore) for char in set(pointed)}
    return [Sentence(start, end, pointed[start:end].translate(table)) for start, end in spans]


def _pointed(text: str, ignore: Ignore) -> str:
    """The text with its decimal points as letters, each in its place, where they would else not count."""
    return POINT.sub(POINTED, text) if ignore.punctuation else text


# -- sentences ---------------------------------------------------------------------------------------------

# A row holds a range of sentence numbers on either side, and the number of its move.
Row = tuple[str, Range, Range, int]


def _align(left: Sequence[Sentence], right: Sequence[Sentence], budget: Budget) -> list[Row]:
    anchors = _equal_in_order([s.key for s in left], [s.key for s in right], budget)
    pairs, moves = _similar(left, right, anchors, budget)
    return _rows(left, right, sorted(anchors + pairs), dict.fromkeys(anchors, EQUAL), moves)


def _equal_in_order(left: list[str], right: list[str], budget: Budget) -> list[Range]:
    """Pairs (i, j) of equal sentences, both rising: the longest common subsequence while it is affordable."""
    head = 0
    while head < min(len(left), len(right)) and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < min(len(left), len(right)) - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    n, m = len(left) - tail, len(right) - tail
    middle = _middle(left, right, (head, n), (head, m), budget)
    ends = [(len(left) - k, len(right) - k) for k in range(tail, 0, -1)]
    return [(k, k) for k in range(head)] + middle + ends


def _middle(left: list[str], right: list[str], rows: Range, columns: Range, budget: Budget) -> list[Range]:
    if (rows[1] - rows[0]) * (columns[1] - columns[0]) <= MAX_CELLS:
        return _subsequence(left, right, rows, columns, budget)
    # Too large for a table: sentences that occur once on each side hold it together, tables fill the gaps.
    pairs: list[Range] = []
    i, j = rows[0], columns[0]
    for x, y in [*_unique_in_order(left, right, rows, columns), (rows[1], columns[1])]:
        pairs += _subsequence(left, right, (i, x), (j, y), budget)
        if x < rows[1]:
            pairs.append((x, y))
        i, j = x + 1, y + 1
    return pairs


def _subsequence(
    left: list[str], right: list[str], rows: Range, columns: Range, budget: Budget
) -> list[Range]:
    if not budget.allows(rows[1] - rows[0], columns[1] - columns[0]):
        return []
    blocks = Indel.opcodes(left[slice(*rows)], right[slice(*columns)])
    return [
        (rows[0] + op.src_start + k, columns[0] + op.dest_start + k)
        for op in blocks
        if op.tag == EQUAL
        for k in range(op.src_end - op.src_start)
    ]


def _unique_in_order(left: list[str], right: list[str], rows: Range, columns: Range) -> list[Range]:
    """Patience: sentences found once on each side, the longest rising run of them."""
    once_left, once_right = _once(left, rows), _once(right, columns)
    return _rising([(i, once_right[key], 1.0) for key, i in once_left.items() if key in once_right])


def _once(keys: list[str], bounds: Range) -> dict[str, int]:
    counts = Counter(keys[slice(*bounds)])
    return {keys[i]: i for i in range(*bounds) if counts[keys[i]] == 1}


def _rising(candidates: list[tuple[int, int, float]]) -> list[Range]:
    """The heaviest run of pairs that rises on both sides."""
    best: list[
        tuple[int, float, int]
    ] = []  # (j, weight of the best run that ends at j, candidate), both rising
    back: list[int] = []
    candidates = sorted(candidates, key=lambda c: (c[0], -c[1]))
    for number, (_, j, weight) in enumerate(candidates):
        place = bisect_left(best, j, key=lambda entry: entry[0])
        total = weight + (best[place - 1][1] if place else 0)
        back.append(best[place - 1][2] if place else -1)
        if place < len(best) and best[place][0] == j and best[place][1] >= total:
            continue
        end = place
        while end < len(best) and best[end][1] <= total:
            end += 1
        best[place:end] = [(j, total, number)]
    chain: list[Range] = []
    number = best[-1][2] if best else -1
    while number >= 0:
        chain.append(candidates[number][:2])
        number = back[number]
    return chain[::-1]


def _similar(
    left: Sequence[Sentence], right: Sequence[Sentence], anchors: list[Range], budget: Budget
) -> tuple[list[Range], list[Range]]:
    """Among sentences without an equal partner: similar ones in the same gap, and those that moved."""
    gap_left, free_left = _gaps(len(left), [i for i, _ in anchors])
    gap_right, free_right = _gaps(len(right), [j for _, j in anchors])
    if max(len(free_left), len(free_right)) > MAX_LOOSE:
        budget.coarse = True
    scored = _candidates(left, right, free_left[:MAX_LOOSE], free_right[:MAX_LOOSE])
    in_place: dict[int, list[tuple[int, int, float]]] = defaultdict(list)
    for i, j, score in scored:
        if gap_left[i] == gap_right[j]:
            in_place[gap_left[i]].append((i, j, score))
    pairs = [pair for candidates in in_place.values() for pair in _rising(candidates)]
    used_left, used_right = {i for i, _ in pairs}, {j for _, j in pairs}
    moves: list[Range] = []
    for i, j, score in sorted(scored, key=lambda c: (-c[2], c[0], c[1])):
        long_enough = min(len(left[i].key), len(right[j].key)) >= MOVE_LENGTH
        if score >= MOVE_FROM and long_enough and i not in used_left and j not in used_right:
            moves.append((i, j))
            used_left.add(i)
            used_right.add(j)
    return pairs, sorted(moves)


def _gaps(length: int, anchored: list[int]) -> tuple[dict[int, int], list[int]]:
    """Which gap between anchors each free sentence lies in."""
    taken = set(anchored)
    free = [i for i in range(length) if i not in taken]
    return {i: bisect_left(anchored, i) for i in free}, free


def _candidates(
    left: Sequence[Sentence], right: Sequence[Sentence], free_left: list[int], free_right: list[int]
) -> list[tuple[int, int, float]]:
    """Pairs that share telling two-character words, scored; a few for each sentence: linear work."""
    index: dict[str, list[int]] = defaultdict(list)
    for j in free_right:
        for bigram in _bigrams(right[j].key):
            index[bigram].append(j)
    whole: dict[str, list[int]] = defaultdict(list)
    for j in free_right:
        whole[right[j].key].append(j)
    found: list[tuple[int, int, float]] = []
    for i in free_left:
        key = left[i].key
        votes = Counter(
            j for gram in _bigrams(key) if 0 < len(index.get(gram, ())) <= COMMON_BIGRAM for j in index[gram]
        )
        near = [j for j, _ in votes.most_common(CANDIDATES)]
        for j in dict.fromkeys(whole.get(key, [])[:CANDIDATES] + near):
            score = _similarity(key, right[j].key)
            if score >= ALIGN_FROM:
                found.append((i, j, score))
    return found


def _bigrams(key: str) -> Iterable[str]:
    """Each once, in their order: a set has another one in each process, and ties would end otherwise."""
    # A sentence of 500 characters and more is told by its beginning.
    return dict.fromkeys(key[k : k + 2] for k in range(min(len(key), 500) - 1))


def _similarity(left: str, right: str) -> float:
    return Indel.normalized_similarity(left[:2000], right[:2000])


def _rows(
    left: Sequence[Sentence],
    right: Sequence[Sentence],
    pairs: list[Range],
    equal: dict[Range, str],
    moves: list[Range],
) -> list[Row]:
    moved_left = {i: number for number, (i, _) in enumerate(moves, 1)}
    moved_right = {j: number for number, (_, j) in enumerate(moves, 1)}
    rows: list[Row] = []
    i = j = 0
    for x, y in [*pairs, (len(left), len(right))]:
        while i < x:
            rows.append((MOVE if i in moved_left else DELETE, (i, i + 1), (j, j), moved_left.get(i, 0)))
            i += 1
        while j < y:
            rows.append((MOVE if j in moved_right else INSERT, (i, i), (j, j + 1), moved_right.get(j, 0)))
            j += 1
        if x < len(left) or y < len(right):
            rows.append((equal.get((x, y), REPLACE), (x, x + 1), (y, y + 1), 0))
            i, j = x + 1, y + 1
    return _rejoined(left, right, rows)


def _rejoined(left: Sequence[Sentence], right: Sequence[Sentence], rows: list[Row]) -> list[Row]:
    """Where one side cut a sentence in two: a similar pair takes in a neighbour that adds likeness."""
    done: list[Row] = []
    for row in rows:
        joined = _join(left, right, done[-1], row) if done else None
        if joined:
            done[-1] = joined
        else:
            done.append(row)
    return done


def _join(left: Sequence[Sentence], right: Sequence[Sentence], before: Row, row: Row) -> Row | None:
    ops = {before[0], row[0]}
    if REPLACE not in ops or not ops & {INSERT, DELETE}:
        return None
    whole: Row = (REPLACE, (before[1][0], row[1][1]), (before[2][0], row[2][1]), 0)
    pair = before if before[0] == REPLACE else row
    gain = _row_similarity(left, right, whole) - _row_similarity(left, right, pair)
    return whole if gain > 0.05 else None


def _row_similarity(left: Sequence[Sentence], right: Sequence[Sentence], row: Row) -> float:
    keys = (
        "".join(s.key for s in side[slice(*bounds)]) for side, bounds in ((left, row[1]), (right, row[2]))
    )
    return _similarity(*keys)


# -- characters --------------------------------------------------------------------------------------------


class _Painter:
    """Turns rows into segments of the original texts, with differences and facts marked."""

    def __init__(
        self, texts: tuple[str, str], marks: tuple[list[Range], list[Range]], ignore: Ignore, budget: Budget
    ) -> None:
        self.texts = texts
        self.marks = marks
        self.starts = tuple([start for start, _ in side] for side in marks)
        self.ignore = ignore
        self.budget = budget
        self.forms = _Forms(ignore)
        # A moved sentence is painted twice, once on each side.
        self.moved_changes: dict[int, tuple[list[Range], list[Range]]] = {}

    def segments(self, rows: list[Row], sides: Sequence[Sequence[Sentence]]) -> Iterator[Segment]:
        moved = _moved_bounds(rows, sides)
        for op, rows_left, rows_right, move in rows:
            left = _bounds(sides[0], rows_left, len(self.texts[0]))
            right = _bounds(sides[1], rows_right, len(self.texts[1]))
            if op == REPLACE:
                yield self.pair(left, right)
            elif move in moved:
                yield self._moved(moved[move], move, bool(rows_left[1] - rows_left[0]))
            else:
                yield Segment(
                    op,
                    self._spans(0, left, [] if op == EQUAL else [left]),
                    self._spans(1, right, [] if op == EQUAL else [right]),
                )

    def whole(self, rows: list[Row], sides: Sequence[Sequence[Sentence]]) -> Segment:
        """All remaining rows as one, uncompared."""
        equal = all(row[0] == EQUAL for row in rows)
        spans = []
        for side, first in enumerate((rows[0][1], rows[0][2])):
            length = len(self.texts[side])
            rest = (_bounds(sides[side], first, length)[0], length)
            spans.append(self._spans(side, rest, [] if equal else [rest]))
        return Segment(EQUAL if equal else REPLACE, spans[0], spans[1])

    def pair(self, left: Range, right: Range) -> Segment:
        changed_left, changed_right = self._changes(left, right)
        op = REPLACE if changed_left or changed_right else EQUAL
        return Segment(op, self._pair_spans(0, left, changed_left), self._pair_spans(1, right, changed_right))

    def _moved(self, bounds: tuple[Range, Range], move: int, on_left: bool) -> Segment:
        if move not in self.moved_changes:
            self.moved_changes[move] = self._changes(*bounds)
        changed = self.moved_changes[move]
        if on_left:
            return Segment(MOVE, left=self._pair_spans(0, bounds[0], changed[0]), move=move)
        return Segment(MOVE, right=self._pair_spans(1, bounds[1], changed[1]), move=move)

    def _pair_spans(self, side: int, bounds: Range, changed: list[Range]) -> tuple[Span, ...]:
        return self._spans(side, bounds, changed, self._facts(side, bounds, changed))

    def _changes(self, left: Range, right: Range) -> tuple[list[Range], list[Range]]:
        """The stretches of the original texts that differ."""
        units_left, places_left = self._units(0, left)
        units_right, places_right = self._units(1, right)
        changes = _cleaned(_opcodes(units_left, units_right, self.budget))
        return (
            [self._stretch(0, places_left[a:b]) for a, b, _, _ in changes if a < b],
            [self._stretch(1, places_right[c:d]) for _, _, c, d in changes if c < d],
        )

    def _stretch(self, side: int, places: list[Range]) -> Range:
        """From the first to the last unit, with the bracket that closes what was opened inside."""
        start, end = places[0][0], places[-1][1]
        text = self.texts[side]
        after = text[end : end + 1]
        opening = BRACKETS.get(after)
        if opening and text.count(opening, start, end) > text.count(after, start, end):
            end += 1
        return start, end

    def _units(self, side: int, bounds: Range) -> tuple[list[str], list[Range]]:
        """Characters as compared, with whole numbers and Latin words as one, and where each stands."""
        start, end = bounds
        units: list[str] = []
        places: list[Range] = []
        forms = self.forms
        for match in UNIT.finditer(_pointed(self.texts[side][start:end], self.ignore)):
            whole = match[0]
            unit = forms[whole] if len(whole) == 1 else "".join([forms[char] for char in whole])
            if unit:
                units.append(unit)
                places.append((start + match.start(), start + match.end()))
        return units, places

    def _spans(
        self, side: int, bounds: Range, changed: list[Range], marks: Sequence[Range] = ()
    ) -> tuple[Span, ...]:
        kind = INS if side else DEL
        cuts = {*bounds}
        for start, end in (*changed, *marks):
            cuts |= {max(start, bounds[0]), min(end, bounds[1])}
        places = sorted(cuts)
        pieces = []
        for start, end in pairwise(places):
            if _covers(marks, start):
                pieces.append((FACT, start, end))
            else:
                pieces.append((kind if _covers(changed, start) else EQUAL, start, end))
        return tuple(_merged(self.texts[side], pieces))

    def _facts(self, side: int, bounds: Range, changed: list[Range]) -> list[Range]:
        """The facts of a sentence that touch a change."""
        marks = self.marks[side]
        first = max(bisect_left(self.starts[side], bounds[0]) - 1, 0)
        last = bisect_left(self.starts[side], bounds[1])
        inside = [mark for mark in marks[first:last] if mark[1] > bounds[0]]
        return [mark for mark in inside if any(start < mark[1] and mark[0] < end for start, end in changed)]


def _opcodes(left: list[str], right: list[str], budget: Budget) -> list[tuple[bool, int, int, int, int]]:
    """(equal, a, b, c, d) stretches; as a whole between equal ends when the table would be too large."""
    head = 0
    while head < min(len(left), len(right)) and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < min(len(left), len(right)) - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    n, m = len(left) - tail, len(right) - tail
    ops = [(True, 0, head, 0, head)]
    if n - head and m - head and budget.allows(n - head, m - head):
        for op in Indel.opcodes(left[head:n], right[head:m]):
            place = (op.src_start + head, op.src_end + head, op.dest_start + head, op.dest_end + head)
            ops.append((op.tag == EQUAL, *place))
    elif n - head or m - head:
        ops.append((False, head, n, head, m))
    ops.append((True, n, len(left), m, len(right)))
    return ops


def _cleaned(ops: list[tuple[bool, int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """The changes, with chance matches inside them taken in: one character between two rewritten phrases."""
    changes: list[tuple[int, int, int, int]] = []
    for equal, a, b, c, d in ops:
        if equal:
            continue
        while changes and a - changes[-1][1] <= _chance(changes[-1], (a, b, c, d)):
            a, _, c, _ = changes.pop()
        changes.append((a, b, c, d))
    return changes


def _chance(before: tuple[int, int, int, int], after: tuple[int, int, int, int]) -> int:
    """How many equal units between two changes are taken for chance: one, two between long changes."""
    shorter = min(max(b - a, d - c) for a, b, c, d in (before, after))
    return min(2, max(1, shorter // 2))


def _covers(ranges: Sequence[Range], place: int) -> bool:
    number = bisect_left(ranges, (place + 1,)) - 1
    return number >= 0 and ranges[number][1] > place


def _merged(text: str, pieces: list[tuple[str, int, int]]) -> Iterator[Span]:
    for kind, group in groupby(pieces, key=lambda piece: piece[0]):
        run = list(group)
        yield Span(text[run[0][1] : run[-1][2]], kind)


def _bounds(side: Sequence[Sentence], rows: Range, length: int) -> Range:
    if rows[0] == rows[1]:
        place = side[rows[0]].start if rows[0] < len(side) else length
        return place, place
    return side[rows[0]].start, side[rows[1] - 1].end


def _moved_bounds(rows: list[Row], sides: Sequence[Sequence[Sentence]]) -> dict[int, tuple[Range, Range]]:
    ends: dict[int, dict[int, Range]] = defaultdict(dict)
    for op, left, right, move in rows:
        if op == MOVE:
            side, bounds = (0, left) if left[0] < left[1] else (1, right)
            ends[move][side] = _bounds(sides[side], bounds, 0)
    return {move: (pair[0], pair[1]) for move, pair in ends.items() if len(pair) == 2}


# -- facts and blocks --------------------------------------------------------------------------------------


def _find_facts(texts: tuple[str, str], facts: Facts) -> tuple[list[Range], list[Range]]:
    found = facts(*texts) if callable(facts) else facts or ((), ())
    left, right = (_disjoint(spans, len(text)) for spans, text in zip(found, texts, strict=True))
    return left, right


def _disjoint(spans: Iterable[Range], length: int) -> list[Range]:
    """Sorted, inside the text, overlapping ones as one."""
    joined: list[Range] = []
    for start, end in sorted((max(start, 0), min(end, length)) for start, end in spans):
        if start >= end:
            continue
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _blocks(segments: list[Segment]) -> Iterator[Block]:
    for equal, group in groupby(segments, key=lambda segment: segment.op == EQUAL):
        rows = tuple(group)
        yield Block(rows, equal, equal and len(rows) >= FOLD_FROM)
