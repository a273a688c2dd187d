"""Rows as the pipeline would have left them, without running it: pages are tested on their own."""

from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import count
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Group, User
from django.db import connection

from articles.models import News, NewsCluster, NewsDecision, NewsLink, NewsText
from articles.services import queue

NOON = datetime(2025, 12, 1, 4, 0, tzinfo=UTC)
SOURCES = ("江城日报", "北岸新闻网", "晨光客户端", "观澜财经")
TITLE = "沿江渡口今晨恢复通航"
BODY = (
    "沿江渡口今晨恢复通航，首班渡轮载客八十六人。\n渡口因上月涨水停航十二天。船工老周说，水位退到了警戒线以下两米。\n"
    "码头边的早点铺也重新开门，第一锅豆浆六点半卖完。渡口管理所提醒，夜航暂不恢复。下一次检修定在腊月初八。"
)
_numbers = count(1)


def start_anew() -> None:
    """Number from 1 again, before each test: dates and sources would else depend on the tests before it."""
    global _numbers
    _numbers = count(1)


def make_user(role: str = "", **fields: Any) -> User:
    user = User.objects.create_user(fields.pop("username", f"{role or 'nobody'}-{next(_numbers)}"), **fields)
    if role:
        user.groups.add(_group(role))
    return user


def _group(name: str) -> Group:
    """The role; a test with real transactions empties all tables, what migrations filled included."""
    if not Group.objects.filter(name=name).exists():
        editor = connection.schema_editor()
        import_module("articles.migrations.0002_roles").add_roles(apps, editor)
        import_module("articles.migrations.0007_comparison").add_permissions(apps, editor)
    return Group.objects.get(name=name)


def make_news(title: str = TITLE, content: str = BODY, **fields: Any) -> News:
    number = next(_numbers)
    values = {
        "source": SOURCES[number % len(SOURCES)],
        "external_id": f"x{number}",
        "url": f"https://news.example/{number}",
        "published_at": NOON + timedelta(minutes=number),
        "identity": f"{number:064d}",
        "canonical_key": f"{number:064d}",
        "title_md5": "0" * 32,
        "content_md5": "f" * 32,
        "simhash_fp": (0x9E3779B97F4A7C15 * number) % 2**64,
        "band_0": 1,
        "band_1": 2,
        "band_2": 3,
        "band_3": 65535,
        "fingerprint_version": "test-1",
        "state": News.State.DONE,
        "verdict": News.Verdict.UNIQUE,
        **fields,
    }
    # As bulk writers do: no signal, so nothing is sent to a worker.
    (news,) = News.objects.bulk_create([News(title=title, content=content, **values)])
    NewsText.objects.create(news=news, title=title, body=content)
    return news


def make_link(left: News, right: News, **fields: Any) -> NewsLink:
    low, high = sorted((left, right), key=lambda news: news.pk)
    values = {
        "kind": NewsLink.Kind.NEAR,
        "status": NewsLink.Status.AUTO,
        "score": 0.96,
        "hamming": 2,
        "containment_low": 0.98,
        "containment_high": 0.91,
        "reasons": [{"code": "containment", "left": 0.98, "right": 0.91}],
        "rules_version": "test-1",
        **fields,
    }
    return NewsLink.objects.create(low=low, high=high, **values)


def make_cluster(size: int = 2, **fields: Any) -> NewsCluster:
    """A lead and its reprints, each linked to the lead."""
    lead, *others = (make_news(content=BODY.replace("十二", f"{'十' * (n % 3 + 1)}")) for n in range(size))
    cluster = NewsCluster.objects.create(
        lead=lead,
        size=size,
        lowest_score=0.96,
        first_published=lead.published_at,
        last_published=(others or [lead])[-1].published_at,
        **fields,
    )
    for other in others:
        make_link(lead, other)
    ids = [news.pk for news in others]
    News.objects.filter(pk__in=ids).update(cluster=cluster, duplicate_of=lead, verdict=News.Verdict.DUPLICATE)
    News.objects.filter(pk=lead.pk).update(cluster=cluster, verdict=News.Verdict.LEAD)
    return cluster


def make_decision(cluster: NewsCluster, **fields: Any) -> NewsDecision:
    members = list(cluster.members.all()[:2])
    values = {
        "action": NewsDecision.Action.VERDICT,
        "verdict": "duplicate",
        "left": members[0],
        "right": members[-1],
        "left_title": members[0].title,
        "right_title": members[-1].title,
        **fields,
    }
    return NewsDecision.objects.create(cluster=cluster, **values)


def blocked_pair() -> NewsLink:
    """A pair of two groups, of which a person keeps two other articles apart."""
    left, right = make_cluster(2), make_cluster(2)
    one, other = (cluster.members.order_by("pk").last() for cluster in (left, right))
    make_link(one, other, kind="different", status="rejected", locked=True)
    link = make_link(left.lead, right.lead, kind="update", status="pending")
    queue.refresh([link.low_id, link.high_id])
    return NewsLink.objects.select_related("low", "high").get(pk=link.pk)
