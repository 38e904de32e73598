"""PostgreSQL sorts text by the database's locale; the capture index is ordered by bytes, as SQLite does and CDX says."""

from django.db import migrations


def sort_by_bytes(apps, editor):
    if editor.connection.vendor == "postgresql":
        editor.execute('ALTER TABLE capture ALTER COLUMN urlkey TYPE text COLLATE "C"')


class Migration(migrations.Migration):
    dependencies = [("archive", "0001_initial")]
    operations = [migrations.RunPython(sort_by_bytes, migrations.RunPython.noop)]
