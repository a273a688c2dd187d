"""All schemes on the same labelled pairs, and what each costs as the number of articles grows."""

import csv
import io
import logging
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext_noop

from articles.schemes import growth
from articles.schemes.base import Article, Scheme
from articles.schemes.growth import SIZES, Cost
from articles.schemes.registry import available
from articles.services import semantic
from articles.services.evaluation import NEVER, EvaluationError, f1, judge_files, ratio, read_pairs
from articles.services.readers import Row, read_rows
from articles.vectors.extra import UnavailableError

logger = logging.getLogger(__name__)

MAX_ARTICLES = 50_000
SECONDS = 60.0
"""For one scheme on the pairs, and at one size; what takes longer is estimated from smaller sizes."""

# When to use which.
ADVICE = {
    "md5": gettext_noop("Copies to the letter. Cheapest, and no more than a first filter."),
    "classic simhash": gettext_noop(
        "Only where nothing but a fingerprint can be stored: it folds unlike texts of one headline."
    ),
    "minhash lsh": gettext_noop(
        "Millions of long texts where nobody looks at single pairs: it sees no fact that differs."
    ),
    "sequence": gettext_noop(
        "Up to some thousands of articles, without any set-up, and to check another scheme: all pairs."
    ),
    "judge": gettext_noop(
        "News of a desk: it tells a copy from an update, and leaves the doubtful to a person."
    ),
    "semantic": gettext_noop(
        "Beside the judge, to gather what tells of one event in other words: it suggests and folds none."
    ),
}
# Of folding: what a scheme that only suggests has none of.
OF_FOLDS = ("precision", "recall", "f1")

Progress = Callable[[int, int], None]


class Outcome(NamedTuple):
    """A labelled pair and what a scheme makes of it."""

    label: str
    folds: bool
    queued: bool = False


@dataclass(frozen=True, slots=True)
class Labelled:
    """Articles, and the sure pairs of them with their labels and what the judge makes of each."""

    articles: list[Article]
    pairs: list[tuple[Article, Article]]
    judged: list[Outcome]


def compare(
    articles: Path,
    pairs: Path,
    sizes: Sequence[int] = SIZES,
    *,
    seconds: float = SECONDS,
    limit: int = MAX_ARTICLES,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Each scheme's figures on labelled pairs, each pair by itself, and its cost at these sizes.

    Args:
        seconds: for one scheme on the pairs, and at one size, at most.
        limit: articles of a file, at most.
        progress: called with the number of steps done and of all.

    Returns:
        articles, pairs, labels (pairs of each), and of each scheme: name, suggests, problem ('' if it could
        be used), pairs (as many as there was time for), figures (see `figures`), by_label, and costs
        (articles, seconds, memory in MB, per_second, measured) for each size.

    Raises:
        EvaluationError: the pairs cannot be read or name no articles, or there are too many articles.
        FileProblemError: a file cannot be read.
    """
    schemes = available(semantic.scheme())
    total = 1 + len(schemes) * (1 + len(sizes))
    labelled = read(articles, pairs, limit)
    done = 1
    progress(done, total)
    results: list[dict[str, Any]] = []
    for scheme in schemes:
        results.append(quality(scheme, labelled, seconds))
        done += 1
        progress(done, total)
    with tempfile.TemporaryDirectory(prefix="newsdedup-") as folder:
        path = Path(folder) / "articles.jsonl"
        growth.write_articles(path, labelled.articles)
        for scheme, result in zip(schemes, results, strict=True):
            costs: list[dict[str, Any]] = []
            for cost in _costs(scheme, () if result["problem"] else sizes, path, seconds):
                costs += [_shown(cost)] if cost else []
                done += 1
                progress(done, total)
            result["costs"] = costs
    labels: dict[str, int] = defaultdict(int)
    for outcome in labelled.judged:
        labels[outcome.label] += 1
    return {
        "articles": len(labelled.articles),
        "pairs": len(labelled.pairs),
        "labels": dict(sorted(labels.items())),
        "schemes": results,
    }


def read(articles: Path, pairs: Path, limit: int = MAX_ARTICLES) -> Labelled:
    """Raises as `compare` does."""
    wanted = {row[side] for row in read_pairs(pairs) for side in ("a", "b")}
    kept: list[Article] = []
    for row in read_rows(articles):
        if isinstance(row, Row):
            if len(kept) == limit:
                raise EvaluationError("many_articles", path=articles.name, limit=limit)
            payload = row.payload
            kept.append(
                Article(
                    payload.external_id, payload.title, payload.content, payload.source, payload.published_at
                )
            )
    known = {article.external_id: article for article in kept if article.external_id in wanted}
    judged = [pair for pair in judge_files(articles, pairs) if pair.sure]
    if not judged:
        raise EvaluationError("unsure", path=pairs.name)
    return Labelled(
        kept,
        [(known[pair.left], known[pair.right]) for pair in judged],
        [Outcome(pair.label, pair.verdict.folds, pair.verdict.queued) for pair in judged],
    )


def quality(scheme: Scheme, labelled: Labelled, seconds: float = SECONDS) -> dict[str, Any]:
    """A scheme's figures on the labelled pairs, as `compare` returns them."""
    problem, outcomes = "", labelled.judged
    if scheme.name != "judge":
        try:
            outcomes = judge_by(scheme, labelled, seconds)
        except UnavailableError as error:
            logger.warning("The scheme %s is not compared: %s", scheme.name, error)
            problem, outcomes = str(error), []
    found, labels = figures(outcomes), by_label(outcomes)
    if scheme.suggests:
        for row in (found, *labels.values()):
            row |= dict.fromkeys(OF_FOLDS)
    return {
        "name": scheme.name,
        "suggests": scheme.suggests,
        "problem": problem,
        "pairs": len(outcomes),
        "figures": found if outcomes else dict.fromkeys(found),
        "by_label": labels,
    }


def judge_by(scheme: Scheme, labelled: Labelled, seconds: float = SECONDS) -> list[Outcome]:
    """What a scheme makes of the labelled pairs, each by itself, of as many as there is time for.

    They are taken in a random order, the same each time: a file may have them by label.
    """
    prepared: dict[str, Any] = {}

    def of(article: Article) -> Any:
        if article.external_id not in prepared:
            prepared[article.external_id] = scheme.prepare(article)
        return prepared[article.external_id]

    places = random.Random(1).sample(range(len(labelled.pairs)), len(labelled.pairs))
    end = time.monotonic() + seconds
    outcomes = []
    for place in places:
        one, other = map(of, labelled.pairs[place])
        folds = scheme.folds(one, other)
        queued = not folds and scheme.queues(one, other)
        outcomes.append(Outcome(labelled.judged[place].label, folds, queued))
        if time.monotonic() > end:
            break
    return outcomes


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """0..1, as `evaluate` has them: templates, furniture and other stories (T, B, N) are wrong folds."""
    duplicates = [outcome for outcome in outcomes if outcome.label == "D"]
    others = [outcome for outcome in outcomes if outcome.label in NEVER]
    right, wrong = (sum(outcome.folds for outcome in group) for group in (duplicates, others))
    precision, recall = ratio(right, right + wrong), ratio(right, len(duplicates))
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1(precision, recall),
        "caught": ratio(sum(one.folds or one.queued for one in duplicates), len(duplicates)),
        "others_queued": ratio(sum(one.queued for one in others), len(others)),
    }


def by_label(outcomes: Sequence[Outcome]) -> dict[str, dict[str, Any]]:
    """Of each label: its pairs, how many are folded and queued, and how well duplicates are told from it.

    precision: of the folds among duplicates and this label, how many are duplicates; of D itself: among all.
    """
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.label].append(outcome)
    right = sum(outcome.folds for outcome in groups["D"])
    recall = ratio(right, len(groups["D"]))
    found = {}
    for label, group in sorted(groups.items()):
        folded = sum(outcome.folds for outcome in group)
        all_folded = sum(outcome.folds for outcome in outcomes) if label == "D" else right + folded
        precision = ratio(right, all_folded)
        found[label] = {
            "pairs": len(group),
            "folded": folded,
            "queued": sum(outcome.queued for outcome in group),
            "precision": precision,
            "recall": recall,
            "f1": f1(precision, recall),
        }
    return found


COLUMNS = (
    *("scheme", "precision", "recall", "f1", "caught", "others_queued"),
    *("label", "pairs", "folded", "queued", "label_precision", "label_recall", "label_f1"),
    *("articles", "seconds", "articles_per_second", "memory_mb", "measured"),
)


def as_csv(results: dict[str, Any]) -> str:
    """One row for a scheme, for each of its labels and of its sizes; cells that say nothing are empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="")
    writer.writeheader()
    for scheme in results["schemes"]:
        name = {"scheme": scheme["name"]}
        writer.writerow(name | scheme["figures"])
        for label, found in scheme["by_label"].items():
            counts = {column: found[column] for column in ("pairs", "folded", "queued")}
            told = {f"label_{column}": found[column] for column in ("precision", "recall", "f1")}
            writer.writerow(name | {"label": label} | counts | told)
        for cost in scheme["costs"]:
            writer.writerow(
                name
                | {"articles": cost["articles"], "seconds": cost["seconds"], "memory_mb": cost["memory"]}
                | {"articles_per_second": cost["per_second"], "measured": str(cost["measured"]).lower()}
            )
    return text.getvalue()


def _costs(scheme: Scheme, sizes: Sequence[int], path: Path, seconds: float) -> Iterator[Cost | None]:
    """One for each size in order: after the first that cannot be measured all are estimated."""
    known: list[Cost] = []
    beyond = False
    if sizes and scheme.most is not None and scheme.most < min(sizes):
        # The time is estimated from it. Of memory so few tell no more than what any number needs.
        first = growth.cost(scheme, scheme.most, path, seconds)
        known += [first._replace(memory=None)] if first else []
    for size in sorted(sizes):
        found = None
        if not beyond and (scheme.most is None or size <= scheme.most):
            found = growth.cost(scheme, size, path, seconds)
        if found:
            known.append(found)
            yield found
        else:
            beyond = True
            yield growth.estimated(size, known, scheme.power)


def _shown(cost: Cost) -> dict[str, Any]:
    return cost._asdict() | {"per_second": round(cost.articles / cost.seconds, 1) if cost.seconds else 0.0}
