from articles.models.audit import AuditSample
from articles.models.bulk import BulkRun
from articles.models.cluster import NewsCluster
from articles.models.comparison import SchemeComparison
from articles.models.day import DayCount
from articles.models.decision import NewsDecision
from articles.models.link import NewsLink
from articles.models.lock import ClusterLock
from articles.models.news import News, NewsShingle, NewsText
from articles.models.passage import NewsPassage
from articles.models.upload import Upload
from articles.models.vector import NewsVector
from articles.models.waiting import ReviewItem

__all__ = [
    "AuditSample",
    "BulkRun",
    "ClusterLock",
    "DayCount",
    "News",
    "NewsCluster",
    "NewsDecision",
    "NewsLink",
    "NewsPassage",
    "NewsShingle",
    "NewsText",
    "NewsVector",
    "ReviewItem",
    "SchemeComparison",
    "Upload",
]
