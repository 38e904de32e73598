from django.db import migrations, models


def refile(apps, editor):
    """What browsers made of pages is filed like the pages; captures are counted once."""
    from hemeroteca.warc.keys import index_key

    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT id, url FROM capture WHERE urlkey >= 'urn:' AND urlkey < 'urn;'")
        rows = [(index_key(url), number) for number, url in cursor.fetchall()]
        cursor.executemany("UPDATE capture SET urlkey = %s WHERE id = %s", rows)
        cursor.execute(
            "INSERT INTO capture_tally (day, status, mime, kind, version, captures, body_bytes, record_bytes, first_ms, "
            "last_ms) SELECT captured_ms / 86400000, status, mime, kind, version, count(*), sum(body_size), sum(length), "
            "min(captured_ms), max(captured_ms) FROM capture "
            "GROUP BY captured_ms / 86400000, status, mime, kind, version"
        )


class Migration(migrations.Migration):

    dependencies = [
        ('archive', '0002_urlkey_bytewise'),
    ]

    operations = [
        migrations.CreateModel(
            name='AddressCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('upto', models.BigIntegerField(db_comment='id of the last capture that was counted')),
                ('addresses', models.BigIntegerField(db_comment='different urlkeys among those captures')),
            ],
            options={
                'db_table': 'address_count',
                'db_table_comment': 'one row: addresses counted so far',
            },
        ),
        migrations.CreateModel(
            name='SiteNoise',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(db_comment='host, as host.name', max_length=255, unique=True)),
                ('model', models.TextField(db_comment='blocks of its pages and how often each differed (JSON)')),
                ('learned_ms', models.BigIntegerField(db_comment='when something was last learned')),
            ],
            options={
                'db_table': 'site_noise',
                'db_table_comment': "blocks of a site's pages that differ at every visit",
            },
        ),
        migrations.CreateModel(
            name='Tally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.IntegerField(db_comment='of the captures, in days since 1970 UTC')),
                ('status', models.SmallIntegerField(db_comment='HTTP status')),
                ('mime', models.CharField(db_comment='media type, from the header', max_length=120)),
                ('kind', models.CharField(db_comment='response, revisit, resource', max_length=12)),
                ('version', models.BooleanField(db_comment='they differ from the capture before them')),
                ('captures', models.BigIntegerField(db_comment='how many there are')),
                ('body_bytes', models.BigIntegerField(db_comment='bytes of their bodies as received')),
                ('record_bytes', models.BigIntegerField(db_comment='bytes of their records')),
                ('first_ms', models.BigIntegerField(db_comment='first of them')),
                ('last_ms', models.BigIntegerField(db_comment='last of them')),
            ],
            options={
                'db_table': 'capture_tally',
                'db_table_comment': 'captures counted by day, status, type and kind',
                'constraints': [models.UniqueConstraint(fields=('day', 'status', 'mime', 'kind', 'version'), name='capture_tally_once')],
            },
        ),
        migrations.RunPython(refile, migrations.RunPython.noop),
    ]
