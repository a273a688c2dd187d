"""Many decisions at once: previewed, carried out, undone as a whole; what others changed is left alone."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from articles.models import BulkRun, News, NewsCluster, NewsDecision, NewsLink
from articles.services import bulk, review
from tests.factories import take_tasks
from tests.views.factories import make_cluster, make_link, make_news

pytestmark = [pytest.mark.database, pytest.mark.django_db]

EARLIEST = bulk.Keeper()


@pytest.fixture
def editor() -> User:
    return User.objects.create_user("zhouqing")


@pytest.fixture
def other() -> User:
    return User.objects.create_user("fangxiao")


@pytest.fixture(autouse=True)
def _empty_queue() -> Iterator[None]:
    take_tasks()
    yield
    take_tasks()


def sent() -> list[str]:
    """The runs that were sent to the workers, of whom there are none here, since this was asked last."""
    return [arguments[0] for name, arguments in take_tasks() if name == "run_bulk"]


def make_pairs(number: int) -> list[int]:
    return [
        make_link(
            make_news(f"旧闻{n}", f"只此一篇的第{n}段。"),
            make_news(f"新闻{n}", f"另一篇的第{n}段。"),
            **PENDING,
        ).pk
        for n in range(number)
    ]


PENDING = {"kind": "update", "status": "pending"}


def confirm(clusters: list[NewsCluster], actor: User, keeper: bulk.Keeper = EARLIEST, **given) -> BulkRun:
    return bulk.apply_bulk(
        "clusters", [cluster.pk for cluster in clusters], "confirm", keeper, actor, **given
    )


def state() -> list[Any]:
    own = ("pk", "lead", "state", "lead_locked", "reviewed_by", "reviewed_at", "size")
    return [
        list(NewsLink.objects.order_by("pk").values("pk", "kind", "status", "locked", "score", "reasons")),
        list(NewsCluster.objects.order_by("pk").values(*own)),
        list(News.objects.order_by("pk").values("pk", "cluster", "duplicate_of", "verdict")),
    ]


def test_clusters_are_confirmed_each_by_a_decision_and_undone_as_a_whole(editor: User) -> None:
    clusters = [make_cluster(size) for size in (2, 3, 4)]
    before = state()
    run = confirm(clusters, editor, note="周末补审")
    assert (run.state, run.applied, run.refused) == ("done", 3, [])
    assert set(NewsCluster.objects.values_list("state", "reviewed_by")) == {("reviewed", editor.pk)}
    assert set(NewsDecision.objects.values_list("action", "bulk", "note")) == {
        ("confirm", run.pk, "周末补审")
    }
    run = bulk.undo_bulk(run.pk, editor)
    assert (run.state, run.restored, run.kept) == ("undone", 3, [])
    assert state() == before


@pytest.mark.parametrize("verdict", review.VERDICTS)
def test_pairs_get_one_verdict_and_it_is_undone_as_a_whole(editor: User, verdict: str) -> None:
    ids = make_pairs(3)
    before = state()
    run = bulk.apply_bulk("pairs", ids, verdict, EARLIEST, editor)
    assert run.applied == 3
    assert set(NewsDecision.objects.values_list("verdict", flat=True)) == {verdict}
    assert state() != before or verdict == "unsure"
    bulk.undo_bulk(run.pk, editor)
    # The clusters that the verdicts made are gone, but their ids lead on to nothing.
    assert state()[0] == before[0]
    assert state()[2] == [row | {"verdict": "suspected"} for row in before[2]]


def test_the_longest_article_leads(editor: User) -> None:
    cluster = make_cluster(3)
    long = cluster.members.order_by("-pk").first()
    long.text.body *= 2
    long.text.save()
    before = state()
    run = confirm([cluster], editor, bulk.Keeper(bulk.LONGEST))
    cluster.refresh_from_db()
    assert (cluster.lead, cluster.lead_locked) == (long, True)
    bulk.undo_bulk(run.pk, editor)
    assert state() == before


@pytest.mark.parametrize(
    ("sources", "place"),
    [(("晚报", "早报"), 2), (("早报", "晚报"), 1), (("没有的报", "晚报"), 2), (("没有的报",), 0), ((), 0)],
)
def test_the_first_source_of_the_list_that_is_there_leads(editor: User, sources, place: int) -> None:
    cluster = make_cluster(3)
    members = list(cluster.members.order_by("pk"))
    for news, source in zip(members, ("日报", "早报", "晚报"), strict=True):
        News.objects.filter(pk=news.pk).update(source=source)
    confirm([cluster], editor, bulk.Keeper(bulk.SOURCES, sources))
    cluster.refresh_from_db()
    assert cluster.lead == members[place]


def test_a_lead_that_somebody_chose_stays(editor: User, other: User) -> None:
    cluster = make_cluster(3)
    chosen = cluster.members.order_by("-pk").first()
    review.set_lead(cluster.pk, chosen.pk, other)
    confirm([cluster], editor, bulk.Keeper(bulk.LONGEST))
    cluster.refresh_from_db()
    assert (cluster.lead, cluster.state) == (chosen, "reviewed")


def test_the_preview_counts_names_and_writes_nothing(editor: User) -> None:
    clusters = [make_cluster(2) for _ in range(12)]
    review.confirm_cluster(clusters[3].pk, editor)
    last = clusters[0].members.order_by("-pk").first()
    last.text.body *= 2
    last.text.save()
    before = state()
    seen = bulk.preview("clusters", [cluster.pk for cluster in clusters], bulk.Keeper(bulk.LONGEST))
    assert (seen.count, seen.settled, seen.articles, len(seen.examples)) == (11, 1, 22, 10)
    assert seen.examples[0].cluster == clusters[0]
    assert seen.examples[0].lead == last
    assert state() == before


def test_what_changed_since_the_preview_is_left_alone_and_reported(editor: User, other: User) -> None:
    clusters = [make_cluster(3), make_cluster(2), make_cluster(2)]
    seen_at = timezone.now()
    review.remove_member(clusters[0].pk, clusters[0].members.order_by("-pk").first().pk, other)
    run = confirm(clusters, editor, seen_at=seen_at)
    assert (run.applied, run.refused) == (2, [[clusters[0].pk, "changed"]])
    clusters[0].refresh_from_db()
    assert clusters[0].state == "open"


def test_a_pair_that_another_editor_decided_meanwhile_keeps_that_verdict(editor: User, other: User) -> None:
    ids = make_pairs(bulk.AT_ONCE + 1)
    run = bulk.apply_bulk("pairs", ids, "different", EARLIEST, editor)
    first = NewsLink.objects.get(pk=ids[0])
    review.judge_pair(first.low_id, first.high_id, "update", other)
    bulk.run(run.pk)
    run.refresh_from_db()
    assert (run.applied, run.refused) == (bulk.AT_ONCE, [[ids[0], "changed"]])
    first.refresh_from_db()
    assert first.kind == "update"


def test_undo_leaves_alone_what_another_editor_changed_since(editor: User, other: User) -> None:
    ids = make_pairs(3)
    run = bulk.apply_bulk("pairs", ids, "different", EARLIEST, editor)
    link = NewsLink.objects.get(pk=ids[1])
    review.judge_pair(link.low_id, link.high_id, "update", other)
    mine = NewsDecision.objects.get(left=link.low_id, bulk=run)
    run = bulk.undo_bulk(run.pk, editor)
    assert (run.state, run.restored, run.kept) == ("undone", 2, [mine.pk])
    assert list(NewsLink.objects.order_by("pk").values_list("kind", "status")) == [
        ("update", "pending"),
        ("update", "rejected"),
        ("update", "pending"),
    ]


def test_what_was_undone_one_by_one_is_no_conflict(editor: User) -> None:
    run = bulk.apply_bulk("pairs", make_pairs(2), "different", EARLIEST, editor)
    review.undo(NewsDecision.objects.filter(bulk=run).first().pk, editor)
    run = bulk.undo_bulk(run.pk, editor)
    assert (run.restored, run.kept) == (1, [])


def test_undo_twice_is_refused(editor: User) -> None:
    run = bulk.apply_bulk("pairs", make_pairs(1), "different", EARLIEST, editor)
    bulk.undo_bulk(run.pk, editor)
    with pytest.raises(review.ConflictError):
        bulk.undo_bulk(run.pk, editor)


@pytest.mark.parametrize(
    ("subject", "action"),
    [("clusters", "different"), ("pairs", "confirm"), ("pairs", "exact"), ("", "confirm")],
)
def test_an_unknown_action_is_refused(editor: User, subject: str, action: str) -> None:
    with pytest.raises(review.ReviewError):
        bulk.apply_bulk(subject, [make_cluster().pk], action, EARLIEST, editor)
    assert not BulkRun.objects.exists()


def test_nothing_to_do_and_too_much_are_refused(editor: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(review.ReviewError):
        bulk.apply_bulk("pairs", [], "different", EARLIEST, editor)
    monkeypatch.setattr(bulk, "MOST", 1)
    with pytest.raises(review.ReviewError):
        bulk.apply_bulk("pairs", make_pairs(2), "different", EARLIEST, editor)


def test_many_go_to_the_workers_and_a_second_worker_repeats_nothing(
    editor: User, django_capture_on_commit_callbacks
) -> None:
    ids = make_pairs(bulk.AT_ONCE + 1)
    with django_capture_on_commit_callbacks(execute=True):
        run = bulk.apply_bulk("pairs", ids, "different", EARLIEST, editor)
    assert (run.state, run.position) == ("working", 0)
    (run_id,) = sent()
    assert run_id == str(run.pk)
    # One worker is killed after two items; the other begins anew, and so does the first.
    for _ in range(2):
        bulk._step(run, run.items)
    bulk.run(UUID(run_id))
    bulk.run(run_id)
    run.refresh_from_db()
    assert (run.state, run.applied, NewsDecision.objects.count()) == ("done", len(ids), len(ids))


def test_a_run_that_nobody_works_on_is_sent_again(editor: User) -> None:
    run = bulk.apply_bulk("pairs", make_pairs(bulk.AT_ONCE + 1), "different", EARLIEST, editor)
    bulk.resume()
    assert sent() == []
    BulkRun.objects.update(alive_at=timezone.now() - timedelta(minutes=5))
    bulk.resume()
    bulk.resume()
    assert sent() == [str(run.pk)]
