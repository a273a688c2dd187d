"""Articles, links and clusters for tests, and what went into the broker's queue."""

from collections.abc import Sequence
from queue import Empty
from typing import Any

from celery import current_app

from articles.models import News, NewsCluster, NewsLink
from articles.services.payloads import Payload

TITLE = "滨江新区首条无轨电车线路开通"
CONTENT = (
    "滨江新区首条无轨电车线路昨天清晨开通，全程二十一公里，设站十八座。\n"
    "首班车六点从码头站开出，车上多是赶早市的菜农。调度员吴敏说，高峰时每七分钟一班，末班车延到二十三点。\n"
    "票价两元，换乘一小时内免费。第二条线路预计明年秋天动工。"
)


def make_payload(**values: Any) -> Payload:
    return Payload(**{"title": TITLE, "content": CONTENT, **values})


def make_news(**values: Any) -> News:
    """A stored article, without the signals of a save, so that nothing is sent to a worker."""
    (news,) = News.objects.bulk_create([News(**{"title": TITLE, "content": CONTENT, **values})])
    return News.objects.latest("pk") if news.pk is None else news


def make_link(one: News, other: News, **values: Any) -> NewsLink:
    low, high = sorted((one.pk, other.pk))
    defaults = {
        "kind": NewsLink.Kind.NEAR,
        "status": NewsLink.Status.AUTO,
        "score": 0.9,
        "hamming": 2,
        "containment_low": 0.9,
        "containment_high": 0.8,
        "reasons": [{"code": "simhash", "distance": 2}],
        "rules_version": "1",
    }
    return NewsLink.objects.create(low_id=low, high_id=high, **{**defaults, **values})


def make_cluster(lead: News, *others: News, **values: Any) -> NewsCluster:
    members = (lead, *others)
    cluster = NewsCluster.objects.create(lead=lead, size=len(members), **values)
    News.objects.filter(pk__in=[member.pk for member in members]).update(cluster=cluster)
    News.objects.filter(pk__in=[other.pk for other in others]).update(duplicate_of=lead)
    return cluster


def take_sent() -> list[Sequence[int]]:
    """Take the tasks out of the broker's queue: the articles of each that judges, in the order of sending."""
    return [arguments[0] for name, arguments in take_tasks() if name == "deduplicate"]


def take_tasks() -> list[tuple[str, Sequence[Any]]]:
    """Take the tasks out of the broker's queue: name and arguments, in the order in which they were sent."""
    found: list[tuple[str, Sequence[Any]]] = []
    with current_app.connection_for_read() as broker, broker.SimpleQueue("celery") as queue:
        while True:
            try:
                message = queue.get(block=False)
            except Empty:
                return found
            message.ack()
            found.append((message.headers["task"].removeprefix("articles.tasks."), message.payload[0]))
