"""Whatever happened to the articles, what comes out is what a fresh import of those now there gives."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from articles.models import News, NewsCluster, NewsLink, NewsPassage, NewsText, ReviewItem
from articles.services import health, ingest, pipeline
from tests.stories import BODY, NOON, TITLE, article, clusters, leads, run

pytestmark = [pytest.mark.database, pytest.mark.django_db]

SENTENCES = BODY.replace("\n", "").split("。")[:-1]
OTHER = "河口县的渡船今天起改用电池，单程十二分钟，票价仍是两元。船工老邢说，再也不用每天清早去加柴油了。" * 3
# One story as outlets have it, and another one.
TEXTS = [
    (TITLE, BODY),
    (TITLE, BODY),
    (f"【快讯】{TITLE}！", BODY + "\n责任编辑：吴敏"),
    (TITLE, BODY.replace("，", ",")),
    (TITLE, "。".join(SENTENCES[: len(SENTENCES) * 4 // 5]) + "。"),
    (TITLE, "。".join(SENTENCES[1:]) + "。"),
    ("旧粮仓变身图书馆", BODY),
    (TITLE.replace("周末", "月底"), BODY.replace("二十年", "三十年")),
    ("河口县渡船改用电池", OTHER),
    ("河口县渡船改用电池", OTHER + "首航的乘客都免了票。"),
]


class History:
    """Random changes by all the ways articles have, reproducible by seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = 0

    def step(self) -> None:
        ways: list[Callable[[], None]] = [
            self.add,
            self.add,
            self.edit,
            self.redate,
            self.delete,
            self.insert,
        ]
        self.random.choice(ways)()
        if self.random.random() < 0.6:
            pipeline.deduplicate_pending()

    def add(self) -> None:
        self.number += 1
        title, content = self.random.choice(TEXTS)
        payload = article(f"n{self.number}", title=title, content=content, published_at=self.date())
        ingest.ingest([payload], enqueue=False)

    def edit(self) -> None:
        if news := self.one():
            news.title, news.content = self.random.choice(TEXTS)
            news.save()

    def redate(self) -> None:
        if news := self.one():
            news.published_at = self.date()
            news.save()

    def delete(self) -> None:
        if news := self.one():
            news.delete()

    def insert(self) -> None:
        self.number += 1
        title, content = self.random.choice(TEXTS)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO news (title, content, source, external_id) VALUES (%s, %s, %s, %s)",
                [title, content, f"sql{self.number}", f"n{self.number}"],
            )

    def one(self) -> News | None:
        stored = list(News.objects.order_by("external_id"))
        return self.random.choice(stored) if stored else None

    def date(self) -> Any:
        return NOON + timedelta(minutes=self.random.randrange(self.random.choice((10_000, 100_000))))


@pytest.mark.parametrize("seed", range(20))
def test_any_history_ends_in_the_clusters_of_a_fresh_import(seed: int) -> None:
    history = History(seed)
    for _ in range(25):
        history.step()
    pipeline.deduplicate_pending()
    found = outcome()
    assert health.remove_orphans() == 0
    payloads = [
        article(
            row.external_id,
            title=row.title,
            content=row.content,
            source=row.source,
            published_at=row.published_at,
        )
        for row in News.objects.all()
    ]
    for model in (News, NewsCluster, NewsPassage):
        model.objects.all().delete()
    run(*history.random.sample(payloads, len(payloads)))
    assert found == outcome()


def outcome() -> dict[str, Any]:
    """All that a person could see, articles by their external ids."""
    links = NewsLink.objects.values_list("low__external_id", "high__external_id", "kind", "status")
    waiting = ReviewItem.objects.values_list("kind", "lead__external_id", "other__external_id", "size")
    return {
        "clusters": clusters(),
        "leads": leads(),
        # Which of two copies a third one is linked to depends on the order; that it is linked does not.
        "links": sorted(
            (*sorted((low, high)), kind, status) for low, high, kind, status in links if kind != "exact"
        ),
        "waiting": sorted(map(str, waiting)),
        "texts": sorted(NewsText.objects.values_list("news__external_id", "title", "body")),
        "states": sorted(News.objects.values_list("external_id", "state", "verdict")),
        "open clusters": NewsCluster.objects.exclude(state=NewsCluster.State.MERGED).count(),
    }
