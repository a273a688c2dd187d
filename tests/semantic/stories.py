"""Two reports of one event that share no sentence, and another event."""

from datetime import timedelta

from articles.services import semantic
from tests.stories import NOON, article

FIRST = article(
    "first",
    title="国务院办公厅印发关于加快发展养老服务的意见",
    content="国务院办公厅日前印发意见，要求各地加快发展养老服务，增加社区养老床位，支持社会力量办养老机构。",
)
RETOLD = article(
    "retold",
    title="国办发文部署养老服务工作",
    content="国办近日发文，对养老服务工作作出部署：社区要多设养老床位，鼓励民间资本兴办养老院。",
    source="江城晚报",
    published_at=NOON + timedelta(hours=2),
)
OTHER = article(
    "other",
    title="江城队主场逆转取胜，升至积分榜首位",
    content="昨晚的比赛中，江城队在先失一球的情况下连入三球，主场逆转对手，联赛积分升至榜首。",
)


def embed() -> int:
    return semantic.sweep(limit_seconds=300)
