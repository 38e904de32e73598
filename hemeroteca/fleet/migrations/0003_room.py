"""Blocks fit what a device has room for; a device tells of its own part of a load test alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0002_held")]
    operations = [
        migrations.AddField(
            model_name="device",
            name="room",
            field=models.IntegerField(db_comment="URLs it had room for when it asked last", default=1024),
        ),
        migrations.AddField(
            model_name="loadsecond",
            name="shares",
            field=models.JSONField(db_comment="of those, each device's that it has not told of", default=dict),
        ),
    ]
