"""How good the judge is on labelled pairs, from files or from editors' own verdicts; and fitting its scores.

Labels: D duplicate, U update, E excerpt, S same event told independently, T template, B only furniture
shared, N another story. Only D should fold; T, B and N should not even be queued; S, U and E may be.
"""

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from django.utils.translation import gettext, gettext_noop

from articles.dedup import scoring
from articles.dedup.clean import clean_body, clean_title
from articles.dedup.evidence import Text
from articles.dedup.furniture import Furniture, Sample, learn
from articles.dedup.verdict import FOLDING, Item, Verdict, judge
from articles.models import NewsLink
from articles.services import pipeline
from articles.services.readers import FileProblemError, Row, read_rows
from articles.services.rules import current_rules

LABELS = tuple("DUESTBN")
SKIPPED = "X"
COLUMNS = ("a", "b", "label")
NEVER = frozenset("TBN")
# The labels that agree with a kind; a suspect pair may have any.
MEANT = {
    **dict.fromkeys(FOLDING, "D"),
    **{"update": "U", "excerpt": "E", "template": "T", "furniture": "B", "distinct": "SN", "suspect": ""},
}
BANDS = ((100, "< 100"), (500, "100-500"), (10**9, "> 500"))
MAX_PAIRS = 200_000
# What an editor's verdict says as a label.
LABEL_OF_KIND = {
    NewsLink.Kind.UPDATE: "U",
    NewsLink.Kind.EXCERPT: "E",
    NewsLink.Kind.SAME_EVENT: "S",
    NewsLink.Kind.TEMPLATE: "T",
    NewsLink.Kind.DIFFERENT: "N",
}


PROBLEMS = {
    "columns": gettext_noop("%(path)s lacks the column %(missing)s. Found: %(found)s. Wanted: %(wanted)s."),
    "label": gettext_noop(
        "%(path)s, row %(row)s, column label: “%(label)s” is no label. Write one of %(labels)s, "
        "or X for a pair that is not to count."
    ),
    "row": gettext_noop("%(path)s, row %(row)s cannot be read: %(error)s"),
    "encoding": gettext_noop("%(path)s is not UTF-8: save it as UTF-8"),
    "unknown": gettext_noop(
        "%(path)s: none of its %(count)s pairs names two articles of %(articles)s. "
        "In the columns a and b belongs the external_id of an article."
    ),
    "many": gettext_noop("%(path)s has more than %(limit)s pairs: split the file"),
    "many_articles": gettext_noop("%(path)s has more than %(limit)s articles: split the file"),
    "unsure": gettext_noop(
        "%(path)s: no pair of articles that are known has a sure label. In the column confidence write sure, "
        "or leave it out."
    ),
    "one_sided": gettext_noop(
        "A score cannot be fitted to these pairs: of those that share text, some must be duplicates "
        "(label D) and some not. Add pairs of the kind that is missing."
    ),
    "unwritable": gettext_noop("%(path)s cannot be written: %(error)s"),
}


class EvaluationError(Exception):
    """The files cannot be evaluated; str() says which file, row and column, and what to change."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = params

    def __str__(self) -> str:
        return gettext(PROBLEMS[self.code]) % self.params


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled pair and what the judge makes of it; `sure` as in its label's confidence."""

    left: str
    right: str
    label: str
    sure: bool
    note: str
    verdict: Verdict

    @property
    def length(self) -> int:
        """Characters of the shorter text."""
        return self.verdict.evidence.shorter

    @property
    def is_error(self) -> bool:
        if self.label == "D":
            return not self.verdict.folds
        return self.verdict.folds or (self.verdict.queued and self.label in NEVER)


def judge_files(articles: Path, pairs: Path) -> list[Judged]:
    """Judge the pairs of a file (a, b, label, and if wanted confidence and reason) on a file of articles.

    Furniture is learnt from all the articles, as the application would.

    Raises:
        EvaluationError: a column is missing, a label unknown, or there are no pairs of known articles.
        FileProblemError: a file cannot be read.
    """
    rows = list(read_pairs(pairs))
    items = _read_items(articles, {row[side] for row in rows for side in ("a", "b")})
    known = [row for row in rows if row["a"] in items and row["b"] in items]
    if not known:
        raise EvaluationError("unknown", path=pairs.name, count=len(rows), articles=articles.name)
    return [
        Judged(
            row["a"],
            row["b"],
            row["label"],
            row.get("confidence") != "unsure",
            row.get("reason") or "",
            judge(items[row["a"]], items[row["b"]]),
        )
        for row in known
    ]


def judge_verdicts() -> list[Judged]:
    """Judge anew the pairs that editors decided, with their verdicts as labels."""
    links = NewsLink.objects.filter(locked=True).select_related("low", "high").order_by("pk")
    judged = []
    for link in links[:MAX_PAIRS]:
        label = (
            "D" if link.status == NewsLink.Status.CONFIRMED else LABEL_OF_KIND.get(NewsLink.Kind(link.kind))
        )
        if label:
            verdict = pipeline.explain(link.low_id, link.high_id).verdict
            judged.append(Judged(link.low.public_id, link.high.public_id, label, True, "", verdict))
    return judged


def evaluate(judged: Sequence[Judged]) -> dict[str, Any]:
    """Precision, recall and F1, 0..1: of folding, as a whole and by length of the shorter text; and of kinds.

    Only sure labels count. Precision of folding counts T, B and N as wrong. Of a label: how many of the pairs
    that were judged to have it do, and how many of those that have it were judged so; likewise of a kind.
    """
    sure = [pair for pair in judged if pair.sure]
    bands = _grouped(sure, lambda pair: next(name for limit, name in BANDS if pair.length < limit))
    return {
        "pairs": len(sure),
        **_figures(sure),
        "by_label": {label: _of_label(label, sure) for label in sorted({pair.label for pair in sure})},
        "by_length": {
            name: {"pairs": len(bands[name]), **_figures(bands[name])} for _, name in BANDS if name in bands
        },
        "by_kind": {kind: _of_kind(kind, sure) for kind in sorted({pair.verdict.kind for pair in sure})},
        "errors": [_error(pair) for pair in sure if pair.is_error],
    }


def fit(judged: Iterable[Judged]) -> dict[str, Any]:
    """Weights of the score for weights.json, with their figures; see dedup.scoring.

    Raises:
        EvaluationError: duplicates or other pairs are missing.
    """
    examples = [
        scoring.Example(
            pair.verdict.kind, pair.verdict.evidence, pair.label == "D", 1.0 if pair.sure else 0.5
        )
        for pair in judged
        if pair.verdict.kind != "exact" and pair.verdict.evidence.containment >= current_rules().floor
    ]
    try:
        return scoring.fit(examples)
    except ValueError as error:
        raise EvaluationError("one_sided") from error


# --- reading ----------------------------------------------------------------------------------------------


def read_pairs(path: Path) -> Iterator[dict[str, str]]:
    """The rows that count, with at least a, b and label.

    Raises:
        EvaluationError: a column is missing or a label unknown, or there are too many.
        FileProblemError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield from _parse(path, lines)
    except OSError as error:
        code = "missing" if not path.exists() else "unreadable" if path.is_file() else "not_a_file"
        raise FileProblemError(code, path, error=error.strerror) from error
    except UnicodeError as error:
        raise EvaluationError("encoding", path=path.name) from error


def _parse(path: Path, lines: TextIO) -> Iterator[dict[str, str]]:
    head = lines.readline()
    lines.seek(0)
    reader = csv.DictReader(lines, delimiter="\t" if "\t" in head else ",")
    _check_columns(path, reader.fieldnames or ())
    number = 1
    try:
        for number, row in enumerate(reader, 2):
            label = (row["label"] or "").strip()
            if label not in (*LABELS, SKIPPED):
                raise EvaluationError(
                    "label", path=path.name, row=number, label=label[:40], labels=", ".join(LABELS)
                )
            if number - 1 > MAX_PAIRS:
                raise EvaluationError("many", path=path.name, limit=MAX_PAIRS)
            if label != SKIPPED:
                yield {**row, "label": label}
    except csv.Error as error:
        raise EvaluationError("row", path=path.name, row=number + 1, error=error) from error


def _check_columns(path: Path, found: Sequence[str]) -> None:
    missing = [name for name in COLUMNS if name not in found]
    if missing:
        raise EvaluationError(
            "columns",
            path=path.name,
            missing=", ".join(missing),
            found=", ".join(found) or "–",
            wanted=", ".join(COLUMNS),
        )


def _read_items(path: Path, wanted: set[str]) -> dict[str, Item]:
    cleaned = {}
    samples = []
    for row in read_rows(path):
        if isinstance(row, Row):
            payload = row.payload
            title, body = clean_title(payload.title), clean_body(payload.content)
            samples.append(Sample(title, body, "", payload.source))
            if payload.external_id in wanted:
                cleaned[payload.external_id] = (title, body, payload.source, payload.published_at)
    furniture = Furniture.of(passage.text for passage in learn(samples))
    return {
        name: Item(Text(title, body, furniture), source, published)
        for name, (title, body, source, published) in cleaned.items()
    }


# --- figures ----------------------------------------------------------------------------------------------


def _label(pair: Judged) -> str:
    return pair.label


def _grouped(pairs: Iterable[Judged], key: Callable[[Judged], str]) -> dict[str, list[Judged]]:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for pair in pairs:
        groups[key(pair)].append(pair)
    return groups


def _figures(pairs: Sequence[Judged]) -> dict[str, float]:
    right = sum(pair.verdict.folds for pair in pairs if pair.label == "D")
    wrong = sum(pair.verdict.folds for pair in pairs if pair.label in NEVER)
    caught = sum(pair.verdict.folds or pair.verdict.queued for pair in pairs if pair.label == "D")
    duplicates = sum(pair.label == "D" for pair in pairs)
    others = sum(pair.label in NEVER for pair in pairs)
    queued = sum(pair.verdict.queued for pair in pairs if pair.label in NEVER)
    precision, recall = ratio(right, right + wrong), ratio(right, duplicates)
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1(precision, recall),
        "caught": ratio(caught, duplicates),
        "others_queued": ratio(queued, others),
    }


def f1(precision: float, recall: float) -> float:
    return ratio(2 * precision * recall, precision + recall)


def ratio(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


def _of_label(label: str, pairs: Sequence[Judged]) -> dict[str, Any]:
    having = [pair for pair in pairs if pair.label == label]
    judged = [pair for pair in pairs if label in MEANT[pair.verdict.kind]]
    return {
        "pairs": len(having),
        "folded": sum(pair.verdict.folds for pair in having),
        "queued": sum(pair.verdict.queued for pair in having),
        **_agreement(judged, sum(label in MEANT[pair.verdict.kind] for pair in having), len(having)),
        "kinds": dict(Counter(pair.verdict.kind for pair in having).most_common()),
    }


def _of_kind(kind: str, pairs: Sequence[Judged]) -> dict[str, Any]:
    judged = [pair for pair in pairs if pair.verdict.kind == kind]
    meant = [pair for pair in pairs if pair.label in MEANT[kind]]
    return {
        "pairs": len(judged),
        **_agreement(judged, sum(pair.verdict.kind == kind for pair in meant), len(meant)),
        "labels": dict(Counter(pair.label for pair in judged).most_common()),
    }


def _agreement(judged: Sequence[Judged], found: int, wanted: int) -> dict[str, float]:
    agreeing = sum(pair.label in MEANT[pair.verdict.kind] for pair in judged)
    precision, recall = ratio(agreeing, len(judged)), ratio(found, wanted)
    return {"precision": precision, "recall": recall, "f1": f1(precision, recall)}


def _error(pair: Judged) -> dict[str, Any]:
    return {
        "a": pair.left,
        "b": pair.right,
        "label": pair.label,
        "kind": pair.verdict.kind,
        "score": pair.verdict.score,
        "reasons": list(pair.verdict.reasons),
        "note": pair.note,
    }


def write_weights(weights: dict[str, Any], path: Path = scoring.WEIGHTS) -> None:
    """Raises EvaluationError where the file cannot be written."""
    text = json.dumps(weights, ensure_ascii=False, indent=2) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EvaluationError("unwritable", path=path, error=error.strerror) from error
