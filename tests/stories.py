"""One small story, the sample news, and the clusters that come out of a database, named by external id."""

from collections import defaultdict
from datetime import datetime, timedelta, timezone
from pathlib import Path

from articles.models import News
from articles.services import pipeline
from articles.services.ingest import ingest
from articles.services.payloads import Payload
from articles.services.readers import read_rows

SAMPLES = Path(__file__).resolve().parent.parent / "samples"


NOON = datetime(2026, 11, 28, 12, tzinfo=timezone(timedelta(hours=8)))
TITLE = "石桥镇旧粮仓改成图书馆周末开门"
BODY = (
    "石桥镇那座闲置了二十年的旧粮仓，本周末改成图书馆对居民开放。馆内藏书一万二千册，阅览座位一百六十个。\n"
    "设计师留下了原来的木梁和谷仓滑道，孩子们可以从滑道旁的台阶走上二层的绘本区。\n"
    "镇文化站站长说，图书馆每天开放到晚上九点，借书凭身份证登记，不收押金。\n"
    "附近的粮站老职工被请来做讲解员，给参观的人讲当年收粮、晒粮、装仓的故事。"
)


def article(name: str, **values: object) -> Payload:
    defaults = {"title": TITLE, "content": BODY, "source": name, "external_id": name, "published_at": NOON}
    return Payload(**(defaults | values))


def run(*payloads: Payload) -> list[int]:
    ids = ingest(payloads, enqueue=False).ids
    pipeline.deduplicate(ids)
    # What furniture was learnt meanwhile has some judged again.
    pipeline.deduplicate_pending()
    return ids


def sample_payloads() -> list[Payload]:
    return [row.payload for row in read_rows(SAMPLES / "news.csv")]


def clusters() -> set[frozenset[str]]:
    """Clusters of two or more articles."""
    found: dict[int, set[str]] = defaultdict(set)
    for external_id, cluster in News.objects.exclude(cluster=None).values_list("external_id", "cluster_id"):
        found[cluster].add(external_id)
    return {frozenset(ids) for ids in found.values()}


def leads() -> set[str]:
    return set(News.objects.filter(verdict=News.Verdict.LEAD).values_list("external_id", flat=True))
