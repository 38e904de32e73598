"""Links whose words lead elsewhere."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("frontier", "0002_order_owner")]
    operations = [
        migrations.AddField(
            "focuslink",
            "away",
            models.FloatField(db_comment="how surely it leads elsewhere, by its words, 0 to 1", default=0.0),
        ),
    ]
