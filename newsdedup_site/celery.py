import os
from typing import Any

from celery import Celery
from celery.signals import heartbeat_sent, worker_ready, worker_shutdown

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsdedup_site.settings")

app = Celery("newsdedup")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


# --- Signs of life, which the pages' header counts ---------------------------------------------------------


@worker_ready.connect
def ready(sender: Any, **kwargs: Any) -> None:
    from articles.services import workers

    # One that embeds alone judges nothing: the header does not count it.
    if app.conf.task_default_queue not in app.amqp.queues.consume_from:
        return
    workers.started(sender.hostname, getattr(sender.pool, "num_processes", 1))


@heartbeat_sent.connect
def heartbeat(**kwargs: Any) -> None:
    from articles.services import workers

    workers.alive()


@worker_shutdown.connect
def shutdown(**kwargs: Any) -> None:
    from articles.services import workers

    workers.stopped()
