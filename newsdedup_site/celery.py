import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsdedup_site.settings")

app = Celery("newsdedup")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
