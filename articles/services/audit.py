"""A few of the machine's folds, drawn each day for a person to look at: how many of them are right?"""

from collections import defaultdict
from datetime import date, datetime, time, timedelta
from hashlib import blake2b
from itertools import chain, zip_longest

from django.db import transaction
from django.utils import timezone

from articles.models import AuditSample, NewsLink

SAMPLE_SIZE = 20


def draw(day: date) -> None:
    """Fill the day's sample from the folds made since the midnight before, those that nobody has decided on.

    Which ones is settled by day and id alone, so that nobody can choose them; each is drawn once for good.
    The kinds take turns: identical texts are most of all folds, and there is little to see in them.
    """
    missing = SAMPLE_SIZE - AuditSample.objects.filter(day=day).count()
    if missing <= 0:
        return
    links = NewsLink.objects.in_bulk(_in_turns(_candidates(day))[:missing])
    with transaction.atomic():
        for link in links.values():
            # Two people may open the page at one moment.
            AuditSample.objects.get_or_create(
                link=link, defaults={"day": day, "kind": link.kind, "score": link.score}
            )


def _candidates(day: date) -> dict[str, list[int]]:
    """Ids of links by kind, in the day's order."""
    since = timezone.make_aware(datetime.combine(day - timedelta(days=1), time.min))
    folds = NewsLink.objects.filter(
        status=NewsLink.Status.AUTO, created_at__gte=since, kind__in=NewsLink.FOLDING_KINDS
    )
    drawn = set(AuditSample.objects.filter(day__gte=day - timedelta(days=1)).values_list("link", flat=True))
    found: dict[str, list[int]] = defaultdict(list)
    for id_, kind in folds.order_by().values_list("pk", "kind"):
        if id_ not in drawn:
            found[kind].append(id_)
    return {kind: sorted(ids, key=lambda id_: _place(day, id_)) for kind, ids in found.items()}


def _in_turns(candidates: dict[str, list[int]]) -> list[int]:
    """The first of each kind, then the second of each; of rewritten texts before identical ones."""
    columns = [candidates.get(kind, []) for kind in reversed(NewsLink.FOLDING_KINDS)]
    return [id_ for id_ in chain.from_iterable(zip_longest(*columns)) if id_ is not None]


def _place(day: date, id_: int) -> bytes:
    return blake2b(f"{day:%Y-%m-%d}:{id_}".encode(), digest_size=8).digest()
