"""A crawl or job that is stopped gets its blocks back from the devices that have them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0003_room")]
    operations = [
        migrations.AddField(
            model_name="block",
            name="recalled",
            field=models.BooleanField(db_comment="its device shall return it as it is", default=False),
        ),
    ]
