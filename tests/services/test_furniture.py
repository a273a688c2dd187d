"""Passages that recur among unrelated stories are learnt, and what was judged with them is judged again."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from articles.dedup.clean import clean_body
from articles.models import News, NewsLink, NewsPassage, NewsShingle
from articles.services import furniture, pipeline
from articles.services.payloads import Payload
from tests.stories import BODY, NOON, TITLE, article, clusters, run

pytestmark = [pytest.mark.database, pytest.mark.django_db]

NOTICE = (
    "图为各地读者来稿选登，版面有限，未能一一刊出，敬请谅解。"
    "本网站所刊登的各类图片与文字，版权归原作者所有，转载须注明出处并附上本站链接。"
    "如需刊登启事、寻物、招聘等信息，请在工作日拨打服务台电话，我们将尽快与您联系确认。"
)
STORIES = [
    ("城东花市开张", "城东花市今天开张，第一天来了三千多位客人，卖得最好的是水仙和腊梅。"),
    ("柳溪村办起稻田音乐会", "柳溪村的稻田里搭起了舞台，乡亲们自己唱自己听，连外村的人也赶来了。"),
    ("轮渡末班延到零点", "从下周起，江上轮渡的末班船延长到零点，夜里下班的人不用再绕路过桥。"),
    ("少年棋手夺得省冠军", "十二岁的女棋手在决赛中执黑中盘获胜，成为本省最年轻的冠军。"),
    ("古塔修缮完工", "历时三年的古塔修缮工程昨天完工，塔身倾斜得到了控制，明年春天开放登塔。"),
    ("菜农试种冬季草莓", "郊区的菜农在大棚里试种了二十亩冬季草莓，元旦前后可以上市。"),
    ("医院开设夜间儿科门诊", "市第二医院开设了夜间儿科门诊，每晚两名医生值班到十点。"),
]


def unrelated(count: int, body: str = "{text}\n" + NOTICE, start: int = 0, source: str = "") -> list[Payload]:
    return [
        article(f"{source}{n}", title=title, content=body.format(text=text), source=source or f"报{n}")
        for n, (title, text) in enumerate(STORIES[start : start + count], start)
    ]


def test_notice_under_unrelated_stories_is_learnt_and_leaves_sketches() -> None:
    run(*unrelated(7))
    assert NewsPassage.objects.count() == NOTICE.count("。")
    assert furniture.current().of("").strip(clean_body(NOTICE)) == ""
    assert not NewsLink.objects.filter(status="pending").exists()
    hashes = NewsShingle.objects.values_list("hash", flat=True)
    assert len(set(hashes)) == len(hashes)


def test_what_was_judged_before_is_judged_again() -> None:
    run(*unrelated(2), article("copy", title=STORIES[0][0], content=STORIES[0][1], source="转"))
    run(*unrelated(5, start=2))
    assert clusters() == {frozenset({"0", "copy"})}
    assert not News.objects.exclude(state="done").exists()


def test_story_reprinted_many_times_does_not_become_furniture() -> None:
    run(*(article(f"{n}", title=f"{TITLE}（{n}）", content=f"{n}号消息。{BODY}") for n in range(30)))
    assert not NewsPassage.objects.exists()


def test_body_that_is_only_furniture_never_folds() -> None:
    run(*unrelated(5))
    run(*(article(f"only{n}", title=title, content=NOTICE) for n, (title, _) in enumerate(STORIES[5:])))
    assert clusters() == set()


def test_passage_of_one_source_applies_to_that_source_alone() -> None:
    run(*unrelated(6, source="江城日报"))
    assert set(NewsPassage.objects.values_list("source", flat=True)) == {"江城日报"}
    known = furniture.current()
    assert known.of("江城日报").strip(clean_body(NOTICE)) == ""
    assert known.of("别的报").strip(clean_body(NOTICE)) == clean_body(NOTICE)


def test_rejected_passage_counts_as_text_again_and_approved_one_does_not() -> None:
    run(*unrelated(6))
    chief = User.objects.create_user("chief")
    passages = list(NewsPassage.objects.values_list("pk", flat=True))
    furniture.decide(passages, approve=False, actor=chief)
    furniture.settle()
    assert News.objects.filter(state="pending").count() == 6
    pipeline.deduplicate_pending()
    assert furniture.current().of("").strip(clean_body(NOTICE)) == clean_body(NOTICE)
    furniture.decide(passages, approve=True, actor=chief)
    furniture.settle()
    pipeline.deduplicate_pending()
    assert furniture.current().of("").strip(clean_body(NOTICE)) == ""
    assert set(NewsPassage.objects.values_list("state", "decided_by")) == {("approved", chief.pk)}


def test_rejected_passage_is_not_learnt_again() -> None:
    run(*unrelated(6))
    passages = list(NewsPassage.objects.values_list("pk", flat=True))
    furniture.decide(passages, approve=False, actor=None)
    run(
        article(
            "late",
            title=STORIES[6][0],
            content=f"{STORIES[6][1]}\n{NOTICE}",
            published_at=NOON + timedelta(1),
        )
    )
    assert set(NewsPassage.objects.values_list("state", flat=True)) == {"rejected"}


SERIES = {
    "城西水价": "水价调节委员会今天开出第{day}号单，每吨{day}元，夜间用水照旧减半收取，困难家庭另有补贴。",
    "港口货运": "港区调度室昨晚汇总，全天靠泊轮船{day}艘，外贸集装箱占去大半，引航员全员在岗，航道畅通无阻。",
    "菜场蔬果": "批发市场清晨开秤，青菜到货{day}车，摊主普遍反映生意平稳，阴雨没有影响运输，价格随行就市。",
    "公交客流": "公交集团统计显示，早高峰刷卡{day}万次，学生和上班族居多，新增车辆投入运营，候车时间缩短。",
}


def series(days: range) -> list[Payload]:
    """Items of one form and other figures every day: they share much and teach nothing."""
    return [
        article(f"{name}{day}", title=f"{name}播报第{day}期", content=text.format(day=day), source="播报台")
        for name, text in SERIES.items()
        for day in days
    ]


def test_large_crowds_that_teach_nothing_do_not_stand_before_a_new_one(monkeypatch) -> None:
    monkeypatch.setattr(furniture, "CROWDS", 3)
    run(*series(range(11, 19)))
    run(*series(range(19, 20)), *unrelated(5))
    assert NewsPassage.objects.count() == NOTICE.count("。")
