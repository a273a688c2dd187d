from django.urls import path
from django.views.generic import RedirectView

from articles.views import clusters, decisions, news, pairs, preferences, uploads

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="news_list"), name="home"),
    path("news/", news.news_list, name="news_list"),
    path("news/<int:pk>/", news.news_detail, name="news_detail"),
    path("clusters/", clusters.cluster_list, name="cluster_list"),
    path("clusters/<int:pk>/", clusters.cluster_detail, name="cluster_detail"),
    path("why/", pairs.why, name="why"),
    path("pairs/<int:left>/<int:right>/verdict/", decisions.judge_pair, name="judge_pair"),
    path("clusters/<int:pk>/confirm/", decisions.confirm_cluster, name="confirm_cluster"),
    path("clusters/<int:pk>/remove/<int:news>/", decisions.remove_member, name="remove_member"),
    path("clusters/<int:pk>/lead/<int:news>/", decisions.set_lead, name="set_lead"),
    path("decisions/<int:pk>/undo/", decisions.undo, name="undo"),
    path("uploads/", uploads.upload_list, name="upload_list"),
    path("uploads/new/", uploads.upload_create, name="upload_create"),
    path("uploads/<int:pk>/", uploads.upload_detail, name="upload_detail"),
    path("uploads/<int:pk>/rejects/", uploads.upload_rejects, name="upload_rejects"),
    path("uploads/<int:pk>/retry/", uploads.upload_retry, name="upload_retry"),
    path("theme/", preferences.theme, name="theme"),
]
