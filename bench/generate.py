"""Fills an empty database with a newsroom's articles, as many as you like, the same ones for the same seed.

Stories are made of sentences; a copy has its story's sentences with what copies do to them: the same text,
a dateline and a credit more, some sentences told otherwise, a cut, another figure. Articles come in over a
year, the copies of a story within hours. Clusters, links, what waits, decisions with their snapshots, undos
and audits are as the services would have left them; `check` holds a part of that against the services.

Fingerprints are drawn and not computed, and there is no sketch index: no page reads either but to print it.
MariaDB loads a million articles with LOAD DATA in minutes; elsewhere the same rows are inserted.
"""

import json
import os
import random
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

DAYS = 365
BATCH = 2_000
LATER = timedelta(hours=5)
TABLES = ("news", "news_text", "news_cluster", "news_link", "news_review_item", "news_decision", "news_audit")
EDITORS = ("周晴", "何平", "方晓", "林越", "顾清", "沈遥", "孟川", "陆一鸣")
OUTLETS = [
    f"{place}{kind}"
    for place in "江城 北岸 海川 云岭 望湖 港北 柏川 青峪 澄州 山城".split()
    for kind in "日报 晚报 新闻网 客户端 财经 广播 电视台 晨报 商报 周刊 发布 资讯".split()
]
# The first outlets bring most, as everywhere.
OUTLET_WEIGHTS = list(accumulate(1 / (place + 4) for place in range(len(OUTLETS))))
# Of a cluster: most are small, a few go round all outlets; the mean is 3.7.
SIZES = [2] * 50 + [3] * 24 + [4] * 12 + [5] * 6 + [8] * 5 + [20] * 2 + [40]
LARGEST = (5_000, 500)
REVIEWED = 0.4
# Of the single articles those that have another one a person is, or was, asked about.
PAIRED = 0.081
SETTLED = 0.2
UNDONE = 0.1
COPIES = (("exact", 45), ("near", 35), ("rewrite", 20))
DOUBTS = (("update", 50), ("excerpt", 30), ("suspect", 20))
SHARES = {"exact": 1.0, "near": 0.95, "rewrite": 0.8, "update": 0.9, "excerpt": 0.4, "suspect": 0.3}

PLACES = "江城 北岸 云岭 望湖 柏川 青峪 澄州 石桥镇 沿江新区 老城 东港 南坪".split()
WHO = (
    "市水务局 地铁公司 气象台 港务集团 中级法院 图书馆 农业合作社 供电公司 交警支队 疾控中心 商务局 博物馆 "
    "应急管理局 城建集团 渔政大队 消防救援站 教育局 税务局"
).split()
DOES = "宣布 表示 通报 介绍 提醒 发布消息称 在通气会上说 证实 预计 公布的数据显示 回应关切时称 透露".split()
WHAT = (
    "新线路将于下月开通 首批居民已经搬入新居 停水范围扩大到三个街道 柑橘收购价比去年上涨 码头吞吐量创下新高 "
    "夜间施工将暂停到月底 展览延长到春节以后 召回的车辆可免费更换零件 堤防加固工程通过验收 货款纠纷一审宣判 "
    "寒潮带来的降温超过十度 校车线路增加到二十条 菜市场改造后客流翻番 缆车检修停止售票 旧厂房改成实训基地"
).split()
HOW = (
    "周边商户对此表示欢迎 记者在现场看到秩序井然 具体办法将另行公布 相关费用由财政承担 市民可拨打热线咨询 "
    "这比原计划提前了两周 有关部门正在核实细节 工作人员连夜赶到现场 专家认为影响有限 目前各项准备已经就绪"
).split()
Story = int


def sentences(chance: random.Random, number: int) -> list[str]:
    def one() -> str:
        figure = f"{chance.randrange(2, 9_800)}{chance.choice(('人', '户', '万元', '公里', '辆', '吨'))}"
        return (
            f"{chance.choice(PLACES)}{chance.choice(WHO)}{chance.choice(DOES)}，{chance.choice(WHAT)}，"
            f"涉及{figure}，{chance.choice(HOW)}。"
        )

    return [one() for _ in range(number)]


# --- the plan: who belongs to whom ------------------------------------------------------------------------


@dataclass(slots=True)
class Plan:
    """Article ids run from 1 in the order of arrival; of each its cluster, its story and what it made of it.

    pairs: (earlier, later, kind, what a person said of it: '' while it waits)
    """

    articles: int
    until: datetime
    clusters: list[list[int]]
    cluster_of: list[int]
    story_of: list[Story]
    how: list[str]
    pairs: list[tuple[int, int, str, str]]
    reviewed: set[int]

    def arrived(self, id_: int) -> datetime:
        return self.until - timedelta(days=DAYS) * (self.articles - id_ + 1) / self.articles

    def published(self, id_: int) -> datetime | None:
        """Half an hour before, in the order of arrival; one of fifty that leads no cluster has no date."""
        leads = self.cluster_of[id_] and self.how[id_] == "own"
        return self.arrived(id_) - timedelta(minutes=30) if id_ % 50 or leads else None


def plan(articles: int, clusters: int, seed: int, until: datetime) -> Plan:
    chance = random.Random(seed)
    made = Plan(
        articles,
        until,
        [],
        [0] * (articles + 1),
        [*range(articles + 1)],
        ["own"] * (articles + 1),
        [],
        set(),
    )
    largest = [size for size in LARGEST if size <= articles // 20]
    kinds, weights = [kind for kind, _ in COPIES], [weight for _, weight in COPIES]
    sizes = iter(largest)
    while len(made.clusters) < clusters:
        members = _place(chance, made, next(sizes, 0) or chance.choice(SIZES))
        # Too late in the year for a copy.
        if len(members) < 2:
            continue
        made.clusters.append(members)
        for id_ in members:
            made.cluster_of[id_] = len(made.clusters)
            made.story_of[id_] = members[0]
        for id_, kind in zip(members[1:], chance.choices(kinds, weights, k=len(members) - 1), strict=True):
            made.how[id_] = kind
        # The largest one is open, so that it waits at the desk.
        if chance.random() < REVIEWED and len(made.clusters) > 1:
            made.reviewed.add(len(made.clusters))
    _pair_up(chance, made)
    return made


def _place(chance: random.Random, made: Plan, size: int) -> list[int]:
    """Free ids for a story's articles: the copies follow each other closely in time."""
    gap = max(made.articles / DAYS / 24 / 3, 1) if size <= 100 else made.articles / size / 20
    at = chance.randrange(1, made.articles + 1)
    members: list[int] = []
    while len(members) < size and at <= made.articles:
        if not made.cluster_of[at]:
            members.append(at)
        at += 1 + int(chance.expovariate(1 / gap))
    return members


def _pair_up(chance: random.Random, made: Plan) -> None:
    """Give some single articles an earlier one that they may stem from."""
    singles = [id_ for id_ in range(1, made.articles + 1) if not made.cluster_of[id_]]
    kinds, weights = [kind for kind, _ in DOUBTS], [weight for _, weight in DOUBTS]
    for number in range(0, len(singles) - 1, 2):
        if chance.random() > 2 * PAIRED:
            continue
        earlier, later = singles[number], singles[number + 1]
        kind = chance.choices(kinds, weights)[0]
        said = chance.choice(("different", "update", "same_event")) if chance.random() < SETTLED else ""
        # What the machine had folded and a person took apart is what the overturn rate counts.
        kind = "near" if said == "different" else kind
        made.pairs.append((earlier, later, kind, said))
        made.story_of[later], made.how[later] = earlier, kind


# --- texts ------------------------------------------------------------------------------------------------


class Writer:
    """Titles and texts of articles, from a stock of sentences."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.stock = sentences(random.Random(seed), 20_000)

    def write(self, story: Story, id_: int, how: str) -> tuple[str, str]:
        chance = random.Random(self.seed * 1_000_003 + story)
        title = f"{chance.choice(PLACES)}{chance.choice(WHO)}：{chance.choice(WHAT)}"
        figure = chance.randrange(20, 900)
        # Median about 1,100 characters, a few of 6,000.
        parts = chance.choices(self.stock, k=min(int(chance.lognormvariate(3.05, 0.6)) + 2, 120))
        own = random.Random(self.seed * 7_000_003 + id_)
        if how == "near":
            parts = [f"本报讯（记者{own.choice(EDITORS)}）{parts[0]}", *parts[1:]]
            title = f"{title}（图）"
        elif how == "rewrite":
            for place in own.sample(range(len(parts)), len(parts) // 5):
                parts[place] = own.choice(self.stock)
            title = f"快讯：{title}"
        elif how == "update":
            figure += own.randrange(1, 60)
        elif how == "excerpt":
            parts = [*parts[: max(len(parts) // 3, 2)], *own.choices(self.stock, k=4)]
        elif how == "suspect":
            parts = [*parts[:2], *own.choices(self.stock, k=len(parts))]
        lines = [f"目前登记在册的共{figure}件。", *parts]
        return title, "\n".join("".join(lines[at : at + 4]) for at in range(0, len(lines), 4))


# --- rows -------------------------------------------------------------------------------------------------


class Rows:
    """The rows of each table, one generator a table, in the order of their keys."""

    def __init__(self, made: Plan, seed: int, editors: Sequence[int]) -> None:
        self.made, self.seed, self.editors = made, seed, editors
        self.writer = Writer(seed)
        self.links = self._plan_links()

    def _plan_links(self) -> list[tuple[int, int, str, str, float]]:
        """(low, high, kind, status, score), numbered from 1 by their place."""
        chance, made = random.Random(self.seed + 1), self.made
        links = []
        for number, members in enumerate(made.clusters, start=1):
            status = "confirmed" if number in made.reviewed else "auto"
            for id_ in members[1:]:
                kind = made.how[id_]
                score = {"exact": 1.0, "near": 0.95, "rewrite": 0.8}[kind]
                score = score if kind == "exact" else round(score + chance.uniform(-0.05, 0.04), 4)
                links.append((members[0], id_, kind, status, score))
        for earlier, later, kind, said in made.pairs:
            kind, status = (said, "rejected") if said else (kind, "pending")
            links.append((earlier, later, kind, status, round(chance.uniform(0.4, 0.9), 4)))
        return links

    NEWS = (
        "id title content source url external_id published_at created_at identity canonical_key title_md5 "
        "content_md5 simhash_fp band_0 band_1 band_2 band_3 fingerprint_version state judged_at verdict "
        "cluster_id duplicate_of_id"
    )

    def news(self) -> Iterator[tuple[Any, ...]]:
        from articles.dedup.cluster import canonical_key

        chance, made = random.Random(self.seed + 2), self.made
        waiting = {id_ for earlier, later, _, said in made.pairs if not said for id_ in (earlier, later)}
        for id_ in range(1, made.articles + 1):
            title, body = self.writer.write(made.story_of[id_], id_, made.how[id_])
            cluster, bits = made.cluster_of[id_], chance.getrandbits(63)
            lead = made.clusters[cluster - 1][0] if cluster else 0
            single = "suspected" if id_ in waiting else "unique"
            verdict = single if not cluster else "lead" if lead == id_ else "duplicate"
            story = lead if made.how[id_] == "exact" else id_
            identity = f"{id_:064x}"
            published, arrived = made.published(id_), made.arrived(id_)
            yield (
                id_,
                title,
                body,
                self.source(id_),
                f"https://news.example/{id_}",
                f"x{id_}",
                published,
                arrived,
                identity,
                canonical_key(published, f"{story:032x}", f"{id_:016x}"),
                f"{made.story_of[id_]:032x}",
                f"{story:032x}",
                bits,
                *((bits >> shift) & 0xFFFF for shift in (48, 32, 16, 0)),
                "bench",
                "failed" if id_ % 50_000 == 0 else "done",
                arrived + timedelta(seconds=20),
                verdict,
                cluster or None,
                lead if verdict == "duplicate" else None,
            )

    def source(self, id_: int) -> str:
        draw = random.Random(self.seed * 11 + id_).random() * OUTLET_WEIGHTS[-1]
        return OUTLETS[bisect_left(OUTLET_WEIGHTS, draw)]

    CLUSTERS = (
        "id lead_id lead_locked state size lowest_score weakest_link_id first_published last_published "
        "reviewed_by_id reviewed_at created_at changed_at"
    )

    def clusters(self) -> Iterator[tuple[Any, ...]]:
        made, first = self.made, 0
        for number, members in enumerate(made.clusters, start=1):
            links = range(first, first + len(members) - 1)
            weakest = min(links, key=lambda place: self.links[place][4])
            dates = [date for date in map(made.published, members) if date]
            changed, reviewed = made.arrived(members[-1]), number in made.reviewed
            yield (
                number,
                members[0],
                0,
                "reviewed" if reviewed else "open",
                len(members),
                self.links[weakest][4],
                weakest + 1,
                min(dates, default=None),
                max(dates, default=None),
                self.editor(number) if reviewed else None,
                changed + LATER if reviewed else None,
                made.arrived(members[1]),
                changed,
            )
            first += len(members) - 1

    def editor(self, number: int) -> int:
        return self.editors[number * 7 % len(self.editors)]

    LINKS = (
        "id low_id high_id kind status locked score hamming containment_low containment_high reasons "
        "rules_version text_changed unsure created_at"
    )

    def all_links(self) -> Iterator[tuple[Any, ...]]:
        for number, (low, high, kind, status, score) in enumerate(self.links, start=1):
            share = SHARES.get(kind, 0.7)
            yield (
                number,
                low,
                high,
                kind,
                status,
                int(status in ("confirmed", "rejected")),
                score,
                number % 8,
                share,
                share,
                json.dumps(self._reasons(low, high, kind, share)),
                "bench",
                0,
                0,
                self.made.arrived(high) + timedelta(seconds=20),
            )

    def _reasons(self, low: int, high: int, kind: str, share: float) -> list[dict[str, Any]]:
        """An update says which figure differs, as it stands in both texts."""
        reasons: list[dict[str, Any]] = [{"code": "containment", "left": share, "right": share}]
        if kind == "update":
            texts = [
                self.writer.write(self.made.story_of[id_], id_, self.made.how[id_])[1] for id_ in (low, high)
            ]
            left, right = (text.removeprefix("目前登记在册的共").split("。", 1)[0] for text in texts)
            reasons.append({"code": "number_differs", "left": left, "right": right})
        return reasons

    ITEMS = "link_id cluster_id lead_id other_id kind priority score size source published unsure created_at"

    def items(self) -> Iterator[tuple[Any, ...]]:
        """What waits, written as services.queue derives it."""
        from articles.services.queue import priority

        made = self.made
        for number, (low, high, kind, status, score) in enumerate(self.links, start=1):
            if status == "pending":
                moments = [made.published(id_) or made.arrived(id_) for id_ in (low, high)]
                dated = [id_ for id_ in (low, high) if made.published(id_)]
                lead = min(dated, default=low)
                other = high if lead == low else low
                place = priority(max(moments), score, 2)
                arrived = made.arrived(high)
                yield (
                    number,
                    None,
                    lead,
                    other,
                    kind,
                    place,
                    score,
                    2,
                    self.source(lead),
                    max(moments),
                    0,
                    arrived,
                )
        for row in self.clusters():
            number, lead, _, state, size, score, _, _, last, *_, created, _changed = row
            if state == "open":
                published = last or created
                place = priority(published, score, size)
                yield (
                    None,
                    number,
                    lead,
                    None,
                    "cluster",
                    place,
                    score,
                    size,
                    self.source(lead),
                    published,
                    0,
                    created,
                )

    DECISIONS = (
        "id actor_id created_at action verdict left_id right_id left_title right_title cluster_id undoes_id "
        "folded_kind upheld before after"
    )

    def decisions(self) -> Iterator[tuple[Any, ...]]:
        """Groups confirmed and pairs settled; some were undone, and settled again."""
        chance, made, number = random.Random(self.seed + 3), self.made, 0
        first = 0
        for cluster, members in enumerate(made.clusters, start=1):
            links = self.links[first : first + len(members) - 1]
            first += len(members) - 1
            if cluster in made.reviewed:
                number += 1
                moment = made.arrived(members[-1]) + LATER
                title = self.title(members[0])
                states = _snapshots([(*link[:3], "auto", link[4]) for link in links], links)
                yield (
                    number,
                    self.editor(cluster),
                    moment,
                    "confirm",
                    "",
                    members[0],
                    None,
                    title,
                    "",
                    cluster,
                    None,
                    "",
                    None,
                    *states,
                )
        kinds = {later: kind for _, later, kind, _ in made.pairs}
        for low, high, kind, status, score in self.links[first:]:
            if status != "rejected":
                continue
            machine = kinds[high]
            was = (low, high, machine, "auto" if machine == "near" else "pending", score)
            states = _snapshots([was], [(low, high, kind, status, score)])
            moment, titles = made.arrived(high) + LATER, (self.title(low), self.title(high))
            undone = chance.random() < UNDONE
            for step in range(3 if undone else 1):
                number += 1
                action, undoes = ("undo", number - 1) if step == 1 else ("verdict", None)
                shown = states if step != 1 else states[::-1]
                moment += timedelta(minutes=step)
                yield (
                    number,
                    self.editor(high),
                    moment,
                    action,
                    kind,
                    low,
                    high,
                    *titles,
                    None,
                    undoes,
                    *(("near", 0) if machine == "near" and step != 1 else ("", None)),
                    *shown,
                )

    def title(self, id_: int) -> str:
        return self.writer.write(self.made.story_of[id_], id_, self.made.how[id_])[0]

    AUDITS = "day link_id kind score"

    def audits(self, sample: int) -> Iterator[tuple[Any, ...]]:
        """For each day some folds of the day before, whatever became of them; the first that come in."""
        taken: dict[Any, int] = {}
        for number, (_low, high, kind, status, score) in enumerate(self.links, start=1):
            overturned = status == "rejected" and self.made.how[high] == "near"
            if not overturned and status not in ("auto", "confirmed"):
                continue
            if not overturned and number % 37:
                continue
            day = (self.made.arrived(high) + timedelta(days=1, hours=8)).date()
            if taken.get(day, 0) < sample and day <= self.made.until.date():
                taken[day] = taken.get(day, 0) + 1
                yield day, number, "near" if overturned else kind, score


Link = tuple[int, int, str, str, float]


def _snapshots(before: Iterable[Link], after: Iterable[Link]) -> tuple[str, str]:
    """The links of a decision as services.decisions keeps them, without the columns nobody reads here."""
    return tuple(  # type: ignore[return-value]
        json.dumps(
            {
                "links": {
                    f"{low}-{high}": {"kind": kind, "status": status, "score": score}
                    for low, high, kind, status, score in links
                },
                "clusters": {},
                "retired": {},
                "homes": {},
            }
        )
        for links in (before, after)
    )


# --- into the database ------------------------------------------------------------------------------------


def fill(articles: int, clusters: int, seed: int = 1, until: datetime | None = None) -> Plan:
    """Write all tables of an empty, migrated database."""
    from django.contrib.auth.models import Group, User

    from articles.services.audit import SAMPLE_SIZE

    until = until or datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    made = plan(articles, clusters, seed, until)
    editors = []
    for name in EDITORS:
        user = User.objects.create_user(name)
        user.groups.add(*Group.objects.filter(name="editor"))
        editors.append(user.pk)
    rows = Rows(made, seed, editors)
    with _loading() as load:
        load("news", Rows.NEWS, rows.news())
        load("news_cluster", Rows.CLUSTERS, rows.clusters())
        load("news_link", Rows.LINKS, rows.all_links())
        load("news_review_item", Rows.ITEMS, rows.items())
        load("news_decision", Rows.DECISIONS, rows.decisions())
        load("news_audit", Rows.AUDITS, rows.audits(SAMPLE_SIZE))
        _fill_texts(articles)
    return made


Load = Callable[[str, str, Iterable[Sequence[Any]]], None]


@contextmanager
def _loading() -> Iterator[Load]:
    """Loads tables without checks: the rows, which name each other, meet only once all are there."""
    from django.db import connection

    if connection.vendor != "mysql":
        with connection.constraint_checks_disabled():
            yield _insert
        return
    # The client asks for it when it connects.
    connection.close()
    connection.settings_dict.setdefault("OPTIONS", {})["local_infile"] = 1
    with connection.constraint_checks_disabled(), connection.cursor() as cursor:
        cursor.execute("SET unique_checks = 0")
        yield _load_data
        cursor.execute("SET unique_checks = 1")
        cursor.execute(f"ANALYZE TABLE {', '.join(TABLES)}")
        cursor.fetchall()


def _load_data(table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
    """Through a pipe: the file of a million articles would be as large as the table."""
    import tempfile

    from django.db import connection

    with tempfile.TemporaryDirectory(prefix="newsdedup-load-") as folder:
        pipe = Path(folder) / table
        os.mkfifo(pipe)

        def feed() -> None:
            with pipe.open("w", encoding="utf-8", buffering=1 << 20) as file:
                for row in rows:
                    file.write("\t".join(map(_cell, row)) + "\n")

        writer = threading.Thread(target=feed)
        writer.start()
        named = ", ".join(f"`{column}`" for column in columns.split())
        with connection.cursor() as cursor:
            cursor.execute(
                f"LOAD DATA LOCAL INFILE '{pipe}' INTO TABLE {table} CHARACTER SET utf8mb4 ({named})"
            )
        writer.join()


def _cell(value: Any) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def _insert(table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
    from django.db import connection, transaction

    from articles.services import sql

    names = [connection.ops.quote_name(name) for name in columns.split()]
    statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"
    convert = connection.ops.adapt_datetimefield_value
    ready = [tuple(convert(value) if isinstance(value, datetime) else value for value in row) for row in rows]
    with transaction.atomic():
        for batch in sql.chunks(ready, BATCH):
            sql.write_many(statement, batch)


def _fill_texts(articles: int) -> None:
    """The cleaned texts are the texts themselves."""
    from django.db import connection, transaction

    for start in range(1, articles + 1, 50_000):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO news_text (news_id, title, body) "
                "SELECT id, title, content FROM news WHERE id BETWEEN %s AND %s",
                [start, start + 49_999],
            )


def check(most: int = 2_000) -> None:
    """Let the services derive a part of the queue and of the clusters again: nothing may change.

    Raises:
        AssertionError: what was generated is not what the services would have written.
    """
    from django.db import transaction

    from articles.models import ClusterLock, News, NewsCluster, ReviewItem
    from articles.services import clustering, queue

    def state() -> tuple[Any, ...]:
        items = ReviewItem.objects.order_by("link", "cluster").filter(lead__lte=most)
        clusters = NewsCluster.objects.filter(members__lte=most).distinct().order_by("pk")
        return (
            list(items.values_list("link", "cluster", *queue.COLUMNS)),
            list(
                News.objects.filter(pk__lte=most)
                .order_by("pk")
                .values_list("cluster", "verdict", "duplicate_of")
            ),
            list(
                clusters.values_list(
                    "pk", "lead", "size", "state", "lowest_score", "first_published", "last_published"
                )
            ),
        )

    before = state()
    with transaction.atomic():
        ClusterLock.take()
        clustering.recluster(range(1, most + 1))
        queue.refresh(range(1, most + 1))
        after = state()
        transaction.set_rollback(True)
    for was, now in zip(before, after, strict=True):
        assert was == now, next(pair for pair in zip(was, now, strict=False) if pair[0] != pair[1])
