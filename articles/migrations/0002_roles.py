"""The four roles of a desk, as groups. Each may do what the one before it may, and more."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

MODELS = ("news", "newstext", "newslink", "newscluster", "newsdecision", "newspassage", "upload")
VIEWER = [f"view_{model}" for model in MODELS]
EDITOR = [*VIEWER, "add_newsdecision", "change_newslink", "change_newscluster", "add_upload"]
CHIEF = [*EDITOR, "add_news", "change_news", "change_newspassage", "change_upload", "delete_upload"]
ADMINISTRATOR = [*CHIEF, "delete_news", "view_user", "add_user", "change_user", "view_group"]
ROLES = {"viewer": VIEWER, "editor": EDITOR, "chief": CHIEF, "administrator": ADMINISTRATOR}


def add_roles(apps, schema_editor):
    database = schema_editor.connection.alias
    # Permissions are usually made after the last migration; the groups need them now.
    for label in ("auth", "articles"):
        config = apps.get_app_config(label)
        config.models_module = getattr(config, "models_module", True)
        create_permissions(config, apps=apps, using=database, verbosity=0)
    groups = apps.get_model("auth", "Group").objects.using(database)
    permissions = apps.get_model("auth", "Permission").objects.using(database)
    for name, codenames in ROLES.items():
        group, _ = groups.get_or_create(name=name)
        group.permissions.add(*permissions.filter(codename__in=codenames, content_type__app_label__in=["auth", "articles"]))


def remove_roles(apps, schema_editor):
    groups = apps.get_model("auth", "Group").objects.using(schema_editor.connection.alias)
    groups.filter(name__in=ROLES).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("articles", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(add_roles, remove_roles)]
