"""How new WARC files are packed: with gzip, or with Zstandard and a dictionary made of what the archive holds.

The dictionary is made once, when the archive has enough to learn from, and kept in the data folder; before that, files
are packed without one. Files carry the dictionary they were packed with, so a new one harms nobody.
"""

import os

from hemeroteca import warc
from hemeroteca.archive import queries
from hemeroteca.config import Config, ConfigError
from hemeroteca.instance import Instance
from hemeroteca.warc import reader, zstd

SAMPLES = 1000  # captures that teach
FEW = 100  # teach too little
SAMPLE_BYTES = 64 << 10


def choose(config: Config, instance: Instance) -> None:
    """Set it for this process; its pool tells the readers."""
    place = ""
    if config.warc_compression == "zstd":
        try:
            zstd.library()
        except zstd.ZstdError:
            raise ConfigError("warc_compression is zstd, which needs a library: pip install 'hemeroteca[zstd]'")
        path = instance.data / "records.dict"
        if not path.exists() and (dictionary := zstd.train(_samples(instance))):
            draft = path.with_suffix(".new")
            draft.write_bytes(dictionary)
            os.replace(draft, path)
        place = str(path) if path.exists() else "-"
    elif config.warc_compression != "gzip":
        raise ConfigError(f"warc_compression is {config.warc_compression!r}; it can be gzip or zstd")
    warc.pack_as(place)


def _samples(instance: Instance) -> list[bytes]:
    """Records as they are packed, spread over the archive."""
    newest = queries.rows("1 = 1", [], "capture.id DESC", 1)
    step = max(1, newest[0].id // SAMPLES) if newest else 1
    found = []
    for row in queries.rows("capture.id %% %s = 0 AND kind = 'response'", [step], "capture.id", SAMPLES):
        try:
            record = reader.read(instance.warc_dir, row.warc_name, row.offset, row.length)
        except reader.WarcReadError:
            continue
        top = "".join(f"{name}: {value}\r\n" for name, value in record.headers.items())
        found.append(f"WARC/1.1\r\n{top}\r\n".encode() + record.head + record.payload(SAMPLE_BYTES))
    return found if len(found) >= FEW else []
