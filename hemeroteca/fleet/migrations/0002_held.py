"""What a device holds is summed at each lease."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0001_initial")]
    operations = [
        migrations.AddIndex(
            model_name="block",
            index=models.Index(condition=models.Q(("state", "leased")), fields=["device"], name="fleet_held"),
        )
    ]
