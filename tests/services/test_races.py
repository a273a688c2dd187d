"""An article is edited, deleted, linked or taken by another worker between two stages of its run."""

from typing import Any

import pytest
from django.db.models import F

from articles.models import ClusterLock, News, NewsLink, NewsShingle, NewsText
from articles.services import furniture, pipeline
from articles.services.candidates import Found, Query, find, load_members
from articles.services.ingest import ingest
from articles.services.rules import current_rules
from tests.stories import BODY, TITLE, article, run

pytestmark = [pytest.mark.database, pytest.mark.django_db]
OTHER_TITLE = "柳溪村办起第一届稻田音乐会"
OTHER_BODY = "柳溪村的稻田里搭起了舞台，乡亲们自己唱自己听。" * 6


def claim(*payloads: Any) -> list[News]:
    return pipeline._claim(ingest(payloads, enqueue=False).ids, "worker")


def edit(name: str) -> None:
    news = News.objects.get(external_id=name)
    news.title, news.content = OTHER_TITLE, OTHER_BODY
    news.save()


def prepare(name: str) -> pipeline.Article:
    return pipeline._prepare(News.objects.get(external_id=name), furniture.current())


def test_text_edited_during_a_run_is_not_overwritten_by_the_old_one() -> None:
    rows = claim(article("a"))
    edit("a")
    pipeline.deduplicate_pending()
    assert pipeline._run(rows) == 0
    assert NewsText.objects.get().title == OTHER_TITLE
    assert News.objects.get().state == News.State.DONE


def test_article_that_another_worker_took_over_is_left_to_it() -> None:
    rows = claim(article("a"))
    News.objects.update(claimed_at=F("claimed_at") - 2 * pipeline.CLAIM)
    (taken,) = pipeline._claim([rows[0].pk], "another")
    assert pipeline._run(rows) == 0
    assert News.objects.get().claim == taken.claim
    pipeline._fail(rows[0], ValueError("late"))
    assert (News.objects.get().attempts, News.objects.get().claim) == (0, taken.claim)


def test_verdict_on_a_text_that_was_replaced_meanwhile_is_not_stored() -> None:
    run(article("a"))
    rows = claim(article("b"))
    articles = [pipeline._prepare(row, furniture.current()) for row in rows]
    pipeline._store_fingerprints(articles)
    found, verdicts = look(articles)
    edit("a")
    pipeline.deduplicate_pending()
    assert [verdict.kind for verdict in verdicts.values()] == ["exact"]
    assert store(articles, found, verdicts) == set()
    assert not NewsLink.objects.exists()


def test_verdict_on_an_article_that_was_deleted_meanwhile_fails_nobody() -> None:
    run(article("a"))
    rows = claim(article("b"), article("c", title="旧粮仓变身图书馆"))
    articles = [pipeline._prepare(row, furniture.current()) for row in rows]
    pipeline._store_fingerprints(articles)
    found, verdicts = look(articles)
    News.objects.get(external_id="a").delete()
    store(articles, found, verdicts)
    assert set(NewsLink.objects.values_list("low__external_id", "high__external_id")) == {("b", "c")}


@pytest.mark.parametrize(("known", "left"), [(True, 0), (False, 1)])
def test_link_not_found_again_goes_unless_another_process_made_it_since_the_look_up(
    known: bool, left: int
) -> None:
    one, other = run(article("a"), article("b", content=BODY[: len(BODY) * 4 // 5]))
    linked = {one: {other}, other: {one}} if known else {}
    found = Found(set(), {}, load_members([one, other]), set())
    store([prepare("a")], found, {}, linked)
    assert NewsLink.objects.count() == left


def look(articles: list[pipeline.Article]) -> tuple[Found, dict[Any, Any]]:
    rules = current_rules()
    found = find([Query(a.id, a.print) for a in articles], {}, rules)
    return found, pipeline._judge_pairs(found, articles, furniture.current(), rules)


def store(articles: list[pipeline.Article], found: Found, verdicts: Any, linked: Any = None) -> set[int]:
    ClusterLock.take()
    return pipeline._store_links(articles, found, linked or {}, verdicts, current_rules())


# --- stopped ----------------------------------------------------------------------------------------------


def test_run_killed_after_the_fingerprints_leaves_nothing_untold() -> None:
    run(article("a"), article("b"))
    NewsLink.objects.update(locked=True, status=NewsLink.Status.CONFIRMED)
    edit("a")
    rows = pipeline._claim(list(News.objects.filter(state="pending").values_list("pk", flat=True)), "worker")
    pipeline._store_fingerprints([pipeline._prepare(row, furniture.current()) for row in rows])
    News.objects.update(claim="")  # The worker is gone; the next one finds fingerprint and text in place.
    pipeline.deduplicate_pending()
    assert NewsLink.objects.get().text_changed


# --- edited -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [BODY.replace("，", "；"), BODY.replace("图书馆", "图书馆 ")])
def test_edit_that_no_fingerprint_sees_reaches_the_stored_text(content: str) -> None:
    run(article("a"))
    before = NewsText.objects.get().body
    run(article("a", title=f"《{TITLE}》", content=content))
    stored = NewsText.objects.get()
    assert (stored.title, stored.body) == (prepare("a").title, prepare("a").body)
    assert stored.body != before or content != BODY.replace("，", "；")


def test_fingerprint_stored_twice_is_one() -> None:
    run(article("a"))
    before = list(NewsShingle.objects.order_by("hash").values_list("hash", "news_id"))
    News.objects.update(state="pending")
    pipeline.deduplicate_pending()
    assert list(NewsShingle.objects.order_by("hash").values_list("hash", "news_id")) == before
