"""What the measurements of the pages run on must be what the services would have left."""

from datetime import UTC, datetime
from itertools import islice

import pytest

from articles.models import AuditSample, News, NewsCluster, NewsDecision, NewsLink, NewsText, ReviewItem
from bench import generate

UNTIL = datetime(2026, 11, 30, 4, tzinfo=UTC)


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_generated_news_are_as_the_services_would_leave_them():
    generate.fill(4_000, 400)
    generate.check(2_000)
    assert News.objects.count() == NewsText.objects.count() == 4_000
    assert NewsCluster.objects.count() == 400
    assert ReviewItem.objects.filter(cluster=None).exists()
    assert ReviewItem.objects.exclude(cluster=None).exists()
    assert set(NewsLink.objects.values_list("status", flat=True)) == set(NewsLink.Status.values)
    assert set(NewsDecision.objects.values_list("action", flat=True)) == {"confirm", "verdict", "undo"}
    assert AuditSample.objects.exists()


def rows(seed: int) -> list[tuple]:
    made = generate.plan(300, 30, seed, UNTIL)
    generated = generate.Rows(made, seed, [1, 2])
    return [
        *generated.news(),
        *generated.clusters(),
        *generated.all_links(),
        *islice(generated.decisions(), 9),
    ]


def test_the_same_seed_gives_the_same_rows():
    assert rows(3) == rows(3)
    assert rows(3) != rows(4)


def test_copies_reuse_their_story_and_an_update_differs_in_a_figure():
    writer = generate.Writer(1)
    title, text = writer.write(1, 1, "own")
    assert writer.write(1, 2, "exact") == (title, text)
    kept = {
        how: len(set(text.split("。")) & set(writer.write(1, 2, how)[1].split("。")))
        for how in generate.SHARES
    }
    assert kept["exact"] > kept["near"] > kept["rewrite"] > kept["suspect"]
    assert text.split("\n", 1)[0] != writer.write(1, 2, "update")[1].split("\n", 1)[0]
