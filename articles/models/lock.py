from django.db import models, transaction


class ClusterLock(models.Model):
    """One row that whoever writes links or clusters holds until commit.

    Clusters follow from links: the last writer must see every link committed before it. One short lock
    in one order shows that; locking each component's rows would not, as components grow while one waits.
    """

    class Meta:
        db_table = "news_cluster_lock"

    def __str__(self) -> str:
        return "cluster lock"

    @classmethod
    def take(cls) -> None:
        """Hold the lock until the surrounding transaction ends. On SQLite the transaction itself is it."""
        assert transaction.get_connection().in_atomic_block, "the lock lives as long as its transaction"
        if not cls.objects.select_for_update().filter(pk=1).exists():
            cls.objects.get_or_create(pk=1)
            cls.objects.select_for_update().get(pk=1)
