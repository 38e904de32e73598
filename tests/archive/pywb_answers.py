"""Run by pywb's Python: an index of WARC files made by pywb, and pywb's answers to questions to it.

python pywb_answers.py FOLDER_OF_WARCS < list of parameters, as JSON > list of answers
"""

import json
import sys
import tempfile
from pathlib import Path

from pywb.indexer.cdxindexer import write_multi_cdx_index
from pywb.warcserver.index.cdxops import process_cdx
from pywb.warcserver.index.indexsource import FileIndexSource
from pywb.warcserver.index.query import CDXQuery

files = sorted(str(path) for path in Path(sys.argv[1]).glob("*.warc.gz*"))
with tempfile.NamedTemporaryFile(suffix=".cdxj") as index:
    write_multi_cdx_index(index.name, files, sort=True, cdxj=True, include_all=False)
    source = FileIndexSource(index.name)
    answers = []
    for params in json.load(sys.stdin):
        query = CDXQuery(dict(params))
        found = process_cdx(source.load_index(query.params), query)
        answers.append([[line["urlkey"], line["timestamp"], line["url"], line["offset"]] for line in found])
json.dump(answers, sys.stdout)
