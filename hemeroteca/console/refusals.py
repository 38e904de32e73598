"""Refusals in the reader's language: what services say when they cannot do a thing, as a person at a form meets it.

Services raise English (`hemeroteca.errors`), which the API and the commands show too. A sentence is known here by its
shape, with `%s` for what changes in it; one that is not known stays English.
"""

import re
from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

Shapes = list[tuple[re.Pattern[str], str]]


def shapes(sentences: Iterable[str]) -> Shapes:
    """Each sentence with the expression that knows it."""
    return [(re.compile(re.escape(sentence).replace("%s", "(.*?)"), re.DOTALL), sentence) for sentence in sentences]


def translated(text: str, known: Shapes) -> str | None:
    """A sentence that is known, and known sentences within it, in the reader's language."""
    for shape, sentence in known:
        if fits := shape.fullmatch(text):
            return _(sentence) % tuple(translated(part, known) or part for part in fits.groups())
    return None


def told(text: str) -> str:
    return translated(text, SHAPES) or text


# The narrower before the wider.
SHAPES = shapes(
    [
        gettext_noop("there is no job %s; `hemeroteca job list` shows them"),
        gettext_noop("there is no subscription %s; `hemeroteca watch list` shows them"),
        gettext_noop("there is no channel %s; `hemeroteca watch channel list` shows them"),
        gettext_noop("there is no saved search %s; `hemeroteca search saved` shows them"),
        gettext_noop("there is no note %s"),
        gettext_noop("visits differ by more than %s: %s; changes lost cannot be compared with those"),
        gettext_noop("there is no user %s; `hemeroteca user list` shows who exists"),
        gettext_noop("there is no geographic service %s; `hemeroteca geo search` finds them"),
        gettext_noop("there is no published collection at that address"),
        gettext_noop("there is no capture of %s; `%s` makes one"),
        gettext_noop("there is no capture %s; `%s` lists those of the page"),
        gettext_noop("there is only one version of %s; there will be another when the page changes"),
        gettext_noop("%s is no category; write one of: %s"),
        # what the audit log adds
        gettext_noop("%s; seeds: %s"),
        gettext_noop("%s; sites: %s"),
        # how a job ended, and its log
        gettext_noop("%s; what was done stays; `hemeroteca job resume %s` goes on"),
        gettext_noop("its process ended %s times without a word; see the log"),
        gettext_noop("%s is not empty; name a new folder"),
        gettext_noop("%s is neither an XML dump of MediaWiki nor one of Wikimedia's history dumps (TSV)"),
        gettext_noop("%s is cut or damaged (%s); what was read until there is kept"),
        gettext_noop("the dump is cut or not XML: %s; what was read until there is kept"),
        gettext_noop("%s cannot be reached (%s); the same order goes on later"),
        gettext_noop("%s asked for patience %s times in a row; the same order goes on later"),
        gettext_noop("%s is no catalogue that is known; name its kind: %s"),
        gettext_noop("%s did not answer: %s"),
        gettext_noop("%s addresses are visited by crawl %s"),
        gettext_noop("the captures are kept; the engine at work on this folder makes them findable"),
        gettext_noop(
            "pages of which something is left keep their notes and tags; look whether these tell what was erased"
        ),
        gettext_noop("the export %s held some of it and is removed"),
        gettext_noop("the backup in %s was made before and may still have it; make a new one and remove that"),
        gettext_noop(
            "copies elsewhere (downloads, backups made otherwise, other archives) are not reached by an erasure"
        ),
        gettext_noop("there is no history to learn from yet; watch pages or import an archive first"),
        gettext_noop("only http and https can be fetched, not %s"),
        gettext_noop("%s is neither days, hours nor a time zone; write a window like %s"),
        gettext_noop("no holiday calendar for %s (%s); use a two-letter country code, or leave it empty"),
        gettext_noop("it has spaces; write one address a line"),
        gettext_noop("it has no host name"),
        gettext_noop("it is empty"),
        gettext_noop("it looks like a mail address"),
        gettext_noop("it has no scheme; write it in full, as in https://example.org/"),
        gettext_noop("%s is not a port number (0 to 65535)"),
        gettext_noop("%s is longer than %s characters once encoded"),
        gettext_noop("%s is longer than %s characters"),
        gettext_noop("%s names no wiki; give a language (es), the address of an article, or that of an api.php"),
        gettext_noop("%s names a wiki, not an article; give the article's address or its title"),
        gettext_noop("%s is not an article of %s; order the articles of each wiki separately"),
        gettext_noop("one order takes at most %s titles, not %s"),
        gettext_noop("%s cannot be the title of an article (MediaWiki allows no # < > [ ] | { })"),
        gettext_noop("there is no policy %s for articles; there are %s"),
        gettext_noop("it has no dot; write %s if a host of your own network is meant"),
        gettext_noop("the address at %s has a login in it, which addresses are kept without; `%s` sets it"),
        gettext_noop("no address was given; name at least one, like https://example.org/"),
        gettext_noop("%s is no host (%s); write it like example.org"),
        gettext_noop("%s is not a host name (%s); write it like example.org"),
        gettext_noop("%s is not an address (%s); write it like example.org/page"),
        gettext_noop("%s is not the address of a catalogue (%s)"),
        gettext_noop("no geographic service was found at %s; `%s` tells what it is"),
        gettext_noop("%s is not a bounding box; write west,south,east,north in degrees, like -9.5,36,4.5,44"),
        gettext_noop("choose 2 to 10 articles to compare, not %s"),
        gettext_noop("this is not SQL that DuckDB reads: %s"),
        gettext_noop("only one SELECT is run here; nothing can be changed, attached, copied or set"),
        gettext_noop("one SELECT at a time is run, not %s statements"),
        gettext_noop("only SELECT is run here; the tables are %s"),
        gettext_noop("there is no table %s here; there are %s"),
        gettext_noop("the function %s() is closed here; select from %s"),
        gettext_noop("the function %s() is closed here"),
        gettext_noop("the query cannot be run: %s"),
        gettext_noop("the query took longer than %s s; narrow it, or aggregate less"),
        gettext_noop("the query needed more than %s MB of memory; narrow it, or aggregate less"),
        gettext_noop("other queries are being run; ask again in a moment"),
        gettext_noop("many long reads are being done; ask for this one again in a moment"),
        gettext_noop("this machine is very busy; ask again in a moment"),
        gettext_noop("this cannot be read within %s s and the memory there is for it; %s"),
        gettext_noop("ask about fewer revisions, or ask on the command line"),
        gettext_noop("download the original instead"),
        gettext_noop("expression %s cannot be used: %s"),
        gettext_noop(
            "`url` or `title` is required: the address of an article, or its title and a `locale`; or choose "
            "articles by category, search, user, or the whole wiki"
        ),
        gettext_noop("a query to save must have 1 to %s characters, not %s"),
        gettext_noop("nothing of the query %s can be looked for: %s"),
        gettext_noop("it has no word"),
        gettext_noop("a name must have 1 to 200 characters, not %s"),
        gettext_noop("there are %s saved searches already; remove one first"),
        gettext_noop("name the address of a page to keep; no text here has a NUL character"),
        gettext_noop("there are %s favourites already; remove some first"),
        gettext_noop("a note has 1 to %s characters, not %s"),
        gettext_noop("%s has %s notes already; remove one first"),
        gettext_noop("a page has at most %s tags, not %s"),
        gettext_noop("%s is not a tag: at most %s characters, without commas"),
        gettext_noop(
            "%s was taken down and is not captured any more; an administrator can lift that (`hemeroteca archive "
            "takedown lift NUMBER`, or the page “Erase” of the archive)"
        ),
        gettext_noop("a takedown needs a reason: who asked for it, and why"),
        gettext_noop("an erasure needs a reason: who asked for it, and why; it stays in the audit"),
        gettext_noop("say what to erase: an address, a beginning of addresses, or a capture"),
        gettext_noop("there is no such capture in the archive; nothing is to be erased"),
        gettext_noop("there is no collection %s; `hemeroteca watch collection list` shows them"),
        gettext_noop(
            "there is no category %s; `hemeroteca watch category list` shows them, `hemeroteca watch category set "
            "CODE NAME` makes one"
        ),
        gettext_noop("a category needs a name that is not a number"),
        gettext_noop("the code of a category must lie between 1 and %s, not %s"),
        gettext_noop("the category %s has the code %s already"),
        gettext_noop("%s collections and subscriptions belong to the category %s; move them first"),
        gettext_noop("%s is not an address: small letters, digits and hyphens, at most 60"),
        gettext_noop("a title has at most 200 characters, a description 10,000"),
        gettext_noop("another collection is published at %s; choose another address"),
        gettext_noop("a picture has at most %s MiB"),
        gettext_noop("%s was changed after you looked at it; look again, then decide"),
        gettext_noop("say why it is refused; whoever proposed it will read it"),
        gettext_noop("subscription %s waits for a director's approval; it begins when it has it"),
        gettext_noop("subscription %s is no proposal; pause or end it instead"),
        gettext_noop("%s sites you proposed are not approved; wait for a decision, or take some back"),
        gettext_noop("the target is empty; give an Apprise URL or an https address"),
        gettext_noop("%s cannot be used; write https:// for a webhook, or one of the ways of Apprise: %s"),
        gettext_noop("a channel has one address; make a channel for each"),
        gettext_noop(
            "its address was sealed with another secret.key; put that file into the data folder, or add it again"
        ),
        gettext_noop("the service did not take the message (wrong address or password, or it is down)"),
        gettext_noop("Apprise cannot read this address; see its list of services for how each is written"),
        gettext_noop("Apprise is not installed; `pip install 'hemeroteca[notify]'` brings it, or use a webhook"),
        gettext_noop("%s is not an address a webhook can have (%s)"),
        gettext_noop("%s must have 1 to %s characters, not %s"),
        gettext_noop("%s must be a number, not %s"),
        gettext_noop("%s is %s; it must lie between %s and %s"),
        gettext_noop("%s is %s; write a whole number, like 5000000"),
        gettext_noop("%s is %s; write a number, like 12.5"),
        gettext_noop("the policy %s shares out a budget; give visits_per_day too"),
        gettext_noop("there is no policy %s; choose one of %s, or join rules, as simple+notify"),
        gettext_noop("%s is no condition; write %s"),
        gettext_noop("%s needs a number, as in %s"),
        gettext_noop("%s: importance is a sum of three parts; give a number between 0 and 3"),
        gettext_noop("the CSS selector %s cannot be read; try it in a browser's console"),
        gettext_noop("an order needs a name of at most 100 characters"),
        gettext_noop("crawl %s, its last run, is still under way"),
        gettext_noop("crawl %s is this order and runs with other options; stop it before you order it anew"),
        gettext_noop("crawl %s is %s; only a running crawl can be stopped"),
        gettext_noop("crawl %s has finished; submit it again to visit its pages once more"),
        gettext_noop("an expression has 1 to %s characters; write it like %s"),
        gettext_noop("crawl %s leaves out %s already"),
        gettext_noop("%s is not a regular expression (%s)"),
        gettext_noop("%s %s is out of range; write a number from %s to %s"),
        gettext_noop("%s is neither an id nor a date of a capture of %s"),
        gettext_noop("`%s`: %s is not a time; write 4 to 14 digits, for instance 2026 or 20260131120000"),
        gettext_noop("there is already a user %s; choose another name or change that one"),
        gettext_noop("%s cannot be a user: %s"),
        gettext_noop("nobody can be invited so: %s"),
        gettext_noop("%s is the last administrator; first add another: %s"),
        gettext_noop("%s is %s and cannot give a token the role %s"),
        gettext_noop("there is no time zone %s; write one like America/Caracas"),
        gettext_noop("job %s has ended: it is %s"),
        gettext_noop("job %s cannot be resumed: it is %s"),
        gettext_noop("%s cannot be the name of a device; write 1 to 64 letters, digits, spaces, dots or dashes"),
        gettext_noop("%s already has a device %s; choose another name, or rotate its token"),
        gettext_noop("%s has %s devices; remove one first"),
        gettext_noop("say in a sentence what the fleet would fetch for you, and why (`purpose`)"),
        gettext_noop("a job has 1 to %s URLs, this one %s"),
        gettext_noop("a check has 1 to %s URLs, this one %s"),
        gettext_noop("countries are two letters each, like CL or DE; these are not: %s"),
        gettext_noop("a check runs once (0) or every %s to %s hours, not %s"),
        gettext_noop("there are not enough credits for this; ask the operator for more (%s)"),
        gettext_noop("this would be %s URLs within a day and %s are allowed; wait, or ask the operator for more"),
        gettext_noop("a test asks 1 to %s times per second, not %s"),
        gettext_noop("ramp_seconds and hold_seconds are at least 1 each, and at most %s together"),
        gettext_noop("this test is %s; propose another"),
        gettext_noop("the proof does not count: %s"),
        gettext_noop("%s = %s is not possible; write %s to %s"),
        gettext_noop("say in a sentence what is wrong with a result that is there (`words`)"),
        gettext_noop("service %s is claimed by somebody else; ask an administrator"),
        gettext_noop("focus is not TOML (%s); docs/reference/focus.md shows how a focus is written"),
        gettext_noop("%s is not a file of captures by its name; it ends with %s"),
        gettext_noop("no page of subscription %s has been visited yet; there is no history to simulate"),
        gettext_noop("%s is not a web address: %s"),
        gettext_noop("%s is not a valid host name"),
    ]
)
