"""What the semantic scheme suggests to editors, and what it never does: a real model, a real index."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from articles.models import News, NewsCluster, NewsLink, NewsVector, ReviewItem
from articles.services import clustering, pipeline, review, semantic
from articles.services.ingest import rejudge
from tests.semantic.stories import FIRST, OTHER, RETOLD, embed
from tests.stories import NOON, article, run

# On MariaDB, too.
pytestmark = [
    pytest.mark.semantic,
    pytest.mark.database,
    pytest.mark.django_db,
    pytest.mark.usefixtures("switched_on"),
]


@pytest.fixture
def editor(db) -> User:
    return User.objects.create_user("周晴")


def suggested() -> set[frozenset[str]]:
    links = NewsLink.objects.filter(kind="related")
    return {frozenset(pair) for pair in links.values_list("low__external_id", "high__external_id")}


PAIR = frozenset({"first", "retold"})


def test_two_reports_of_one_event_are_suggested_and_never_folded():
    run(FIRST, RETOLD, OTHER)
    assert embed() == 3
    assert suggested() == {PAIR}
    assert not NewsCluster.objects.exists()
    assert set(News.objects.values_list("verdict", flat=True)) == {"unique"}
    assert ReviewItem.objects.get().kind == "related"


def test_a_second_sweep_has_nothing_to_do():
    run(FIRST, RETOLD)
    assert (embed(), embed()) == (2, 0)
    assert suggested() == {PAIR}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("江城市上调最低工资标准", "江城市下调最低工资标准"),
        ("江城市最低工资标准提高到2300元", "江城市最低工资标准提高到2500元"),
    ],
)
def test_a_fact_that_differs_is_not_suggested_however_alike_the_openings_are(left, right, settings):
    settings.NEWSDEDUP_SEMANTIC_THRESHOLD = 0.5
    run(
        article("left", title=left, content=f"{left}，即日起执行。"),
        article("right", title=right, content=f"{right}，即日起执行。", source="江城晚报"),
    )
    embed()
    assert suggested() == set()


def test_what_is_too_far_apart_in_time_is_not_suggested():
    run(FIRST, replace(RETOLD, published_at=NOON + timedelta(days=-90)))
    embed()
    assert suggested() == set()


def test_a_suggestion_outlives_a_new_judgement_and_a_rebuild_of_clusters():
    run(FIRST, RETOLD)
    embed()
    rejudge(list(News.objects.values_list("pk", flat=True)))
    pipeline.deduplicate_pending()
    clustering.rebuild_all()
    assert suggested() == {PAIR}
    assert not NewsCluster.objects.exists()


def test_a_rejected_suggestion_never_comes_back(editor):
    run(FIRST, RETOLD)
    embed()
    link = NewsLink.objects.get(kind="related")
    review.judge_pair(link.low_id, link.high_id, "different", editor)
    NewsVector.objects.all().delete()
    assert embed() == 2
    assert suggested() == set()
    assert not ReviewItem.objects.exists()


def test_an_edited_article_is_embedded_anew_and_its_suggestion_withdrawn():
    run(FIRST, RETOLD)
    embed()
    retold = News.objects.get(external_id="retold")
    retold.title, retold.content = OTHER.title, OTHER.content
    retold.save()
    pipeline.deduplicate_pending()
    assert embed() == 1
    assert suggested() == set()


@pytest.mark.parametrize("loss", ["gone", "behind"])
def test_a_lost_index_is_noticed_and_made_again(loss, tmp_path):
    run(FIRST, OTHER)
    embed()
    index = semantic._index()
    index.remove(index.ids()[: 1 if loss == "behind" else None].tolist())
    run(RETOLD)
    assert embed() == 1
    assert suggested() == {PAIR}
    assert len(semantic._index().ids()) == 3


def test_an_index_that_is_behind_is_noticed_though_it_holds_as_many_as_the_table():
    run(FIRST, RETOLD)
    embed()
    last = NewsVector.objects.latest("pk")
    News.objects.get(external_id="retold").delete()
    (other,) = run(OTHER)
    # As a worker leaves it that is killed before it adds to the index.
    NewsVector.objects.create(news_id=other, model=last.model, dimension=last.dimension, data=last.data)
    index = semantic._index()
    assert index.count() == NewsVector.objects.count() == 2
    embed()
    assert index.ids().tolist() == sorted(NewsVector.objects.values_list("pk", flat=True))


def test_a_quiet_sweep_reads_no_list_of_all_there_is():
    run(FIRST, RETOLD)
    embed()
    with CaptureQueriesContext(connection) as quiet:
        embed()
    reads = [query["sql"] for query in quiet if query["sql"].startswith("SELECT")]
    assert reads
    assert [sql for sql in reads if "LIMIT" not in sql and "COUNT(" not in sql] == []


def test_a_deleted_article_leaves_the_index():
    run(FIRST, RETOLD)
    embed()
    News.objects.get(external_id="retold").delete()
    embed()
    assert len(semantic._index().ids()) == 1
    assert suggested() == set()


def test_vectors_of_another_model_are_made_anew():
    run(FIRST, RETOLD)
    embed()
    NewsVector.objects.update(model="another model", dimension=8, data=b"\0" * 32)
    assert embed() == 2
    assert NewsVector.objects.filter(model="another model").count() == 0


def test_another_threshold_is_asked_of_the_pairs_that_are_there(settings):
    settings.NEWSDEDUP_SEMANTIC_THRESHOLD = 0.99
    run(FIRST, RETOLD)
    embed()
    assert suggested() == set()
    settings.NEWSDEDUP_SEMANTIC_THRESHOLD = 0.93
    assert embed() == 0
    assert suggested() == {PAIR}
    settings.NEWSDEDUP_SEMANTIC_THRESHOLD = 0.99
    embed()
    assert suggested() == set()
    assert not ReviewItem.objects.exists()


def test_another_window_is_asked_of_the_pairs_that_are_there(settings):
    run(FIRST, replace(RETOLD, published_at=NOON + timedelta(days=-60)))
    embed()
    assert suggested() == set()
    settings.NEWSDEDUP_WINDOW_DAYS = 90
    embed()
    assert suggested() == {PAIR}


def test_what_a_person_said_outlives_another_threshold(editor, settings):
    run(FIRST, RETOLD)
    embed()
    link = NewsLink.objects.get(kind="related")
    review.judge_pair(link.low_id, link.high_id, "same_event", editor)
    settings.NEWSDEDUP_SEMANTIC_THRESHOLD = 0.99
    embed()
    assert NewsLink.objects.get().kind == "same_event"


def test_a_suggestion_that_grows_too_old_is_withdrawn_with_its_vectors(settings):
    run(FIRST, RETOLD)
    embed()
    settings.NEWSDEDUP_SEMANTIC_DAYS = 1
    News.objects.filter(external_id="retold").update(published_at=timezone.now() - timedelta(days=2))
    News.objects.filter(external_id="first").update(published_at=timezone.now())
    embed()
    assert suggested() == set()
    assert not ReviewItem.objects.exists()
    assert NewsVector.objects.count() == len(semantic._index().ids()) == 1


def test_a_sweep_ends_when_its_time_is_over():
    run(FIRST, RETOLD)
    assert semantic.sweep(limit_seconds=0) == 0
    assert NewsVector.objects.count() == 0
    assert embed() == 2


def test_a_long_look_that_finds_nothing_is_not_repeated_at_once(monkeypatch):
    monkeypatch.setattr(semantic, "SLOW", -1.0)
    monkeypatch.setattr(semantic, "RESTS", 1e9)
    monkeypatch.setattr(semantic._Rest, "until", 0.0)
    run(FIRST)
    assert embed() == 1
    run(RETOLD)
    assert embed() == 0
    semantic._Rest.until = 0.0
    assert embed() == 1


def test_rebuild_vectors_counts_what_it_made(capsys, settings):
    run(FIRST, RETOLD)
    embed()
    call_command("rebuild_vectors", "--json")
    assert '"vectors": 2' in capsys.readouterr().out
    settings.NEWSDEDUP_SEMANTIC = "off"
    with pytest.raises(CommandError, match="NEWSDEDUP_SEMANTIC"):
        call_command("rebuild_vectors")
