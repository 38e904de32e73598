"""Whoever keeps an order as a person, so that it can be asked whether they may still give it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def find_owners(apps, editor):
    people = dict(apps.get_model("accounts", "User").objects.values_list("name", "pk"))
    orders = apps.get_model("frontier", "CrawlOrder").objects
    for number, actor in orders.values_list("pk", "actor"):
        if actor in people:
            orders.filter(pk=number).update(owner=people[actor])


class Migration(migrations.Migration):
    dependencies = [("frontier", "0001_initial"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.AddField(
            "crawlorder",
            "owner",
            models.ForeignKey(
                db_comment="the same as a person; null: a command",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(find_owners, migrations.RunPython.noop),
    ]
