import pytest

from articles.dedup.clean import clean_body
from articles.dedup.evidence import Text
from articles.dedup.furniture import EMPTY, Furniture, Sample, learn
from articles.dedup.verdict import Item, judge
from tests.dedup.cases import STORIES

NOTICE = "本网站的新闻信息未经书面授权不得使用。"


def sample(name, body="", **more):
    return Sample(STORIES[name]["title"], clean_body(f"{STORIES[name]['body']}\n{body}"), **more)


def test_what_unrelated_stories_share_is_furniture():
    found = learn(sample(name, NOTICE) for name in STORIES)
    assert [(passage.text, passage.articles) for passage in found] == [(NOTICE, len(STORIES))]


def test_a_story_reprinted_500_times_is_none():
    titles = [STORIES["bridge"]["title"], "江城大桥坍塌致4死11伤", "在建大桥坍塌4人死亡 江城市长赶到现场"]
    samples = [sample("bridge")._replace(title=titles[count % 3]) for count in range(500)]
    assert learn(samples) == []


def test_a_story_told_under_unlike_headlines_is_none_where_they_are_known_to_be_one():
    titles = ["甲组开工", "夜幕下的桥", "一声巨响", "谁之过", "等待黎明", "废墟之上", "彻夜无眠"]
    samples = [sample("bridge")._replace(title=title) for title in titles]
    assert learn(samples)
    assert learn(one._replace(story="7") for one in samples) == []


def test_few_stories_prove_nothing():
    assert learn(sample(name, NOTICE) for name in list(STORIES)[:4]) == []


def test_a_common_phrase_is_too_short():
    assert learn(sample(name, "谢谢大家。") for name in STORIES) == []


def test_stripping_takes_the_passage_and_nothing_else():
    furniture = Furniture.of([NOTICE])
    assert furniture.strip(f"第一句。{NOTICE}第二句。\n{NOTICE}\n第三句。") == "第一句。 第二句。\n第三句。"
    assert furniture.strip(NOTICE) == ""
    assert EMPTY.strip(NOTICE) == NOTICE


def test_the_version_changes_with_the_passages():
    one, other = Furniture.of(["甲。", "乙。"]), Furniture.of(["乙。", "丙。"])
    assert one.version != other.version
    assert one == Furniture.of(["乙!", "甲。"])
    assert EMPTY.version == ""


@pytest.mark.parametrize("body", [NOTICE, f"{NOTICE}\n{NOTICE}"])
def test_a_body_of_furniture_alone_never_folds(body):
    furniture = Furniture.of([NOTICE])
    texts = [Text(title, body, furniture) for title in ("江城地铁5号线月底开通", "江城地铁5号线月底开通")]
    assert judge(*map(Item, texts)).kind == "furniture"


def test_shared_furniture_is_no_likeness():
    block = "\n".join(f"第{count}张图片：人们在公园里散步赏花。" for count in "甲乙丙丁戊己庚辛")
    furniture = Furniture.of(block.split("\n"))
    left, right = (
        Text(one.title, one.body, furniture) for one in (sample("oil", block), sample("court", block))
    )
    assert judge(Item(left), Item(right)).evidence.containment == 0
