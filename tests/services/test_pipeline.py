"""From saved rows to clusters: on the sample news and on small families of articles."""

import os
import random
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.db.models import F

from articles.dedup.fingerprint import fingerprint
from articles.models import News, NewsCluster, NewsLink, NewsPassage, NewsShingle, NewsText
from articles.services import candidates, clustering, pipeline
from articles.services.ingest import deleting, ingest
from articles.services.rules import current_rules
from tests.conftest import database_url
from tests.stories import BODY, NOON, TITLE, article, clusters, leads, run, sample_payloads

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def forget_everything() -> None:
    for model in (News, NewsCluster, NewsPassage):
        model.objects.all().delete()


def states() -> dict[str, str]:
    return dict(News.objects.values_list("external_id", "verdict"))


def test_reprints_saved_in_one_batch_are_one_cluster_led_by_the_earliest() -> None:
    run(
        article("later", published_at=NOON + timedelta(hours=1)), article("first", title=f"【最新】{TITLE}！")
    )
    assert clusters() == {frozenset({"first", "later"})}
    assert states() == {"first": "lead", "later": "duplicate"}
    assert News.objects.get(external_id="later").duplicate_of.external_id == "first"


def test_article_saved_later_joins_what_is_stored() -> None:
    run(article("first"))
    run(article("second", content=f"（记者 何秋）{BODY}\n责任编辑：吴敏"))
    assert clusters() == {frozenset({"first", "second"})}


def test_earlier_article_that_comes_late_becomes_lead_and_keeps_the_cluster_id() -> None:
    run(article("a"), article("b", published_at=NOON + timedelta(hours=1)))
    before = NewsCluster.objects.get()
    run(article("early", published_at=NOON - timedelta(hours=2)))
    assert leads() == {"early"}
    assert NewsCluster.objects.get().pk == before.pk
    assert NewsCluster.objects.get().size == 3


def test_running_a_task_twice_changes_nothing() -> None:
    ids = run(article("a"), article("b", title="旧粮仓变身图书馆"), article("c", content=BODY[:120]))
    before = _everything()
    News.objects.update(state="pending", revision=F("revision") + 1)
    pipeline.deduplicate(ids)
    assert _everything() == before


def test_edited_article_is_judged_anew() -> None:
    run(article("a"), article("b"))
    run(
        article(
            "b",
            title="柳溪村办起第一届稻田音乐会",
            content="柳溪村的稻田里搭起了舞台，乡亲们自己唱自己听。" * 6,
        )
    )
    assert clusters() == set()
    assert states() == {"a": "unique", "b": "unique"}
    assert not NewsLink.objects.exists()


def test_deleted_lead_is_replaced_by_the_next() -> None:
    for hour, name in enumerate("abc"):
        run(article(name, published_at=NOON + timedelta(hours=hour)))
    lead = News.objects.get(external_id="a")
    deleting([lead.pk])
    lead.delete()
    pipeline.deduplicate_pending()
    assert clusters() == {frozenset("bc")}
    assert leads() == {"b"}


def test_deleted_last_partner_leaves_a_unique_article_and_no_cluster() -> None:
    run(article("a"), article("b"))
    gone = News.objects.get(external_id="b")
    deleting([gone.pk])
    gone.delete()
    pipeline.deduplicate_pending()
    assert states() == {"a": "unique"}
    assert not NewsCluster.objects.exclude(state="merged").exists()


def test_row_inserted_by_sql_with_title_and_content_alone_is_judged() -> None:
    run(article("a"))
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO news (title, content) VALUES (%s, %s)", [TITLE, BODY])
    pipeline.deduplicate_pending()
    row = News.objects.get(external_id="")
    assert (row.state, row.verdict, row.identity is not None) == ("done", "duplicate", True)
    assert row.duplicate_of.external_id == "a"


def test_same_text_outside_the_window_is_another_story() -> None:
    run(article("now"), article("old", published_at=NOON - timedelta(days=40)))
    assert clusters() == set()


def test_window_is_what_the_administrator_set(settings: object) -> None:
    settings.NEWSDEDUP_WINDOW_DAYS = 60  # type: ignore[attr-defined]
    run(article("now"), article("old", published_at=NOON - timedelta(days=40)))
    assert clusters() == {frozenset({"now", "old"})}


def test_undated_article_matches_any_date_and_impossible_dates_count_as_undated() -> None:
    run(article("old", published_at=NOON - timedelta(days=400)))
    run(article("undated", published_at=None))
    run(article("epoch", published_at=datetime(1970, 1, 1, tzinfo=NOON.tzinfo)))
    assert clusters() == {frozenset({"old", "undated", "epoch"})}
    assert leads() == {"old"}


def test_identical_copies_cost_rows_not_pairs() -> None:
    count = 60
    for start in range(0, count, 20):
        run(
            *(
                article(f"{n:03d}", published_at=NOON + timedelta(minutes=count - n))
                for n in range(start, start + 20)
            )
        )
    run(article("variant", content=BODY[: len(BODY) * 4 // 5]))
    assert {len(cluster) for cluster in clusters()} == {count + 1}
    assert NewsLink.objects.count() <= count + 1


def test_article_without_words_is_stored_and_stands_alone() -> None:
    run(article("emoji", title="😀", content=""), article("mark", title="！！", content="。"))
    assert states() == {"emoji": "unique", "mark": "unique"}
    assert set(News.objects.values_list("simhash_fp", flat=True)) == {None}


def test_edit_during_a_run_leaves_the_article_pending() -> None:
    (id_,) = ingest([article("a")], enqueue=False).ids
    rows = pipeline._claim([id_], "worker")
    News.objects.filter(pk=id_).update(title="改过的标题", revision=F("revision") + 1, claim="")
    pipeline._run(rows)
    assert News.objects.get(pk=id_).state == News.State.PENDING
    pipeline.deduplicate_pending()
    assert NewsText.objects.get(news=id_).title == "改过的标题"


def test_claimed_row_is_left_to_its_worker_until_the_claim_is_stale() -> None:
    (id_,) = ingest([article("a")], enqueue=False).ids
    pipeline._claim([id_], "worker")
    assert pipeline.deduplicate([id_]).skipped == 1
    News.objects.update(claimed_at=F("claimed_at") - 2 * pipeline.CLAIM)
    assert pipeline.deduplicate([id_]).judged == 1


def test_query_count_does_not_grow_with_the_batch(django_assert_max_num_queries: object) -> None:
    payloads = [article(str(n), title=f"{TITLE}之{n}", content=f"{n}号馆" + BODY) for n in range(40)]
    ids = ingest(payloads, enqueue=False).ids
    with django_assert_max_num_queries(60):  # type: ignore[operator]
        pipeline.deduplicate(ids)


def test_sample_news_give_the_same_clusters_in_any_order_and_batch_size() -> None:
    payloads = sample_payloads()
    run(*payloads)
    expected, expected_leads = clusters(), leads()
    assert len(expected) > 30
    for seed, size in ((1, 1), (2, 7), (3, 50)):
        forget_everything()
        shuffled = random.Random(seed).sample(payloads, len(payloads))
        for start in range(0, len(shuffled), size):
            run(*shuffled[start : start + size])
        assert (clusters(), leads()) == (expected, expected_leads), f"order {seed}"


def test_rebuild_gives_the_same_clusters_under_the_same_ids() -> None:
    run(*sample_payloads())
    before = _everything()
    clustering.rebuild_all()
    assert _everything() == before


def test_importing_twice_changes_nothing() -> None:
    run(*sample_payloads())
    before = _everything()
    result = ingest(sample_payloads(), enqueue=False)
    assert (result.added, result.updated) == (0, 0)
    assert pipeline.deduplicate_pending().judged == 0
    assert _everything() == before


HALF = """
import django, sys
django.setup()
from tests.stories import sample_payloads
from articles.services import pipeline
from articles.services.ingest import ingest
payloads = sample_payloads()[int(sys.argv[1])::2]
for start in range(0, len(payloads), 11):
    pipeline.deduplicate(ingest(payloads[start:start + 11], enqueue=False).ids)
"""


@pytest.mark.django_db(transaction=True)
def test_two_processes_at_once_give_the_clusters_of_a_serial_import() -> None:
    run(*sample_payloads())
    expected, expected_leads = clusters(), leads()
    forget_everything()
    environment = os.environ | {"DATABASE_URL": database_url(), "PYTHONPATH": str(Path.cwd())}
    halves = [subprocess.Popen([sys.executable, "-c", HALF, str(n)], env=environment) for n in (0, 1)]
    assert [half.wait(timeout=120) for half in halves] == [0, 0]
    pipeline.deduplicate_pending()
    assert (clusters(), leads()) == (expected, expected_leads)


def _everything() -> list[object]:
    """All that a run could change, by meaning; time stamps aside."""
    links = NewsLink.objects.order_by("pk").values_list("pk", "low", "high", "kind", "status", "score")
    rows = News.objects.order_by("pk").values_list("pk", "verdict", "cluster", "duplicate_of", "simhash_fp")
    groups = NewsCluster.objects.order_by("pk").values_list("pk", "lead", "size", "state", "lowest_score")
    sketches = NewsShingle.objects.order_by("hash", "news_id").values_list("hash", "news_id")
    return [list(links), list(rows), list(groups), list(sketches)]


def test_newcomer_to_a_story_beyond_the_limit_is_compared_with_its_first_articles_and_the_nearest() -> None:
    ids = run(
        *(
            article(f"{n:02d}", content=f"{BODY}\n{'很好' * n}。", published_at=NOON + timedelta(hours=-n))
            for n in range(12)
        )
    )
    row = News.objects.get(pk=ids[0])
    new = candidates.Query(row.pk, fingerprint(TITLE, row.text.body))
    found = candidates.find([new], {}, replace(current_rules(), candidate_limit=6))
    others = {pair[0] if pair[1] == row.pk else pair[1] for pair in found.pairs}
    names = set(News.objects.filter(pk__in=others).values_list("external_id", flat=True))
    assert len(names) == 6
    assert names >= {"11", "10", "09", "08"}
