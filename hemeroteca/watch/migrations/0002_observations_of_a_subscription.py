"""What a subscription saw is found without reading all that was ever seen."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("watch", "0001_initial")]
    operations = [
        migrations.AddIndex(
            "observation", models.Index(fields=["subscription", "seen_ms"], name="observation_subscription")
        ),
    ]
