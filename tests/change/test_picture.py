"""Screenshots compared, where Pillow is there to read them."""

import io

import pytest

from hemeroteca.change import Snapshot, compare
from hemeroteca.change.picture import difference
from tests.change.pages import html

image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def png(
    colour: str = "white", box: tuple[int, int, int, int] | None = None, size: tuple[int, int] = (1280, 2000)
) -> bytes:
    picture = image.new("RGB", size, colour)
    if box:
        picture.paste("black", box)
    data = io.BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()


def test_the_share_of_the_picture_that_differs():
    assert difference(png(), png()) == 0
    assert difference(png("white"), png("navy")) == 1
    assert difference(png(), png(box=(0, 0, 1280, 1000))) == pytest.approx(0.5, abs=0.02)
    assert difference(png(), png(box=(0, 0, 1280, 1000))) == difference(png(box=(0, 0, 1280, 1000)), png())
    assert difference(png(), png("#fefefe")) == 0  # compression and fonts
    assert difference(png(), png(size=(1280, 4000))) == pytest.approx(0.5, abs=0.02)  # what one does not have differs


def test_pictures_take_the_place_of_the_html_in_the_view():
    old, new = html("<p class=a>x</p>", screenshot=png()), html("<p class=b>x</p>", screenshot=png("red"))
    assert compare(old, new).view == {"picture": 1.0}
    assert compare(old, html("<p class=a>x</p>", screenshot=png("red"))).important  # the style sheet changed
    assert "classes" in compare(old, html("<p class=b>x</p>")).view


@pytest.mark.parametrize("broken", [b"\x89PNG\r\n\x1a\n", b"GIF89a", b"x", png()[:200]])
def test_a_picture_that_is_none_is_noted_and_the_html_is_used(broken):
    change = compare(html("<p class=a>x</p>", screenshot=png()), html("<p class=b>x</p>", screenshot=broken))
    assert change.notes == ["picture-unreadable"]
    assert change.view["classes"] > 0


def test_a_picture_too_large_to_unpack_is_refused():
    # a header of 100,000 by 100,000 pixels costs its sender nothing
    import struct
    import zlib

    header = b"IHDR" + struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header)) + png()[33:]
    assert difference(bomb, png()) == "picture-unreadable"


def test_without_pillow_the_reason_is_noted(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "PIL", None)
    change = compare(Snapshot(b"a", "text/plain", screenshot=b"1"), Snapshot(b"b", "text/plain", screenshot=b"2"))
    assert change.notes == ["pictures-need-pillow"]


def test_the_places_that_differ_are_framed_and_counted():
    from hemeroteca.change import picture

    old, new = png(), png(box=(100, 400, 300, 500))
    found = picture.marked(old, new)
    assert found.places == 1
    assert found.share == pytest.approx(200 * 100 / (1280 * 2000), rel=0.3)
    drawn = image.open(io.BytesIO(found.png))
    assert drawn.size == (picture.WIDTH, found.height) == (960, 1500)
    assert drawn.getpixel((150, 337)) == (0, 0, 0), "what differs as it is"
    assert any(drawn.getpixel((x, 337)) == picture.MARK for x in range(60, 80)), "its frame"
    assert picture.marked(old, old).places == 0
    longer = picture.marked(old, png(size=(1280, 2600)))
    assert (longer.places, longer.height) == (1, 1950)


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n" + b"\0" * 40, b"GIF89a"])
def test_what_is_no_picture_is_refused(data):
    from hemeroteca.change import picture

    for draw in (picture.thumbnail, picture.cover, lambda data: picture.marked(data, png())):
        with pytest.raises(ValueError, match="picture"):
            draw(data)


def test_a_picture_with_too_many_pixels_is_refused_before_it_is_read():
    from hemeroteca.change import picture

    huge = bytearray(png(size=(10, 10)))
    huge[16:24] = (100_000).to_bytes(4, "big") * 2
    with pytest.raises(ValueError, match="picture"):
        picture.thumbnail(bytes(huge))
    assert picture.pixels(bytes(huge)) == 10**10
    assert picture.pixels(b"GIF") == 0
