"""Blocks that differ at every visit are learned; news, prices and what changes now and then are not."""

from itertools import pairwise

from hemeroteca.change import ChangeRules, Judgement, NoiseModel, Snapshot, compare
from tests.change.pages import html

RULES = ChangeRules()


def watch(pages: list[Snapshot], model: NoiseModel | None = None) -> tuple[NoiseModel, list[Judgement]]:
    model = model or NoiseModel()
    changes = []
    for old, new in pairwise(pages):
        changes.append(compare(old, new, RULES, frozenset(model.noisy())))
        model.observe(changes[-1])
    return model, changes


def page(box: str, news: str = "The news of the day") -> Snapshot:
    return html(
        f'<main><h1>Town</h1><p class="lead">{news}</p></main><aside class="box"><p class="q">{box}</p></aside>'
    )


def test_a_block_in_which_only_digits_change_becomes_noise():
    model, changes = watch([page(f"Lucky number {n * 37}") for n in range(8)])
    assert changes[0].important
    assert changes[-1].total == 0
    assert changes[-1].ignored == ["body/aside.box/p.q"]
    assert model.noisy() == ["body/aside.box/p.q"]


def test_a_block_whose_texts_come_back_becomes_noise():
    quotes = ["To be", "Or not", "Who knows"]
    _, changes = watch([page(quotes[n % 3]) for n in range(9)])
    assert changes[0].important
    assert not changes[-1].important


def test_a_block_with_new_words_at_each_of_many_visits_becomes_noise():
    texts = [f"{chr(97 + n) * 5} {chr(110 + n) * 4}" for n in range(12)]
    _, changes = watch([page(text) for text in texts])
    assert changes[5].important
    assert not changes[-1].important


def test_news_and_prices_are_never_learned():
    headlines = [f"{chr(97 + n) * 5} happened in {chr(110 + n) * 4}" for n in range(12)]
    model, changes = watch([page("fixed", headline) for headline in headlines])
    assert all(change.important for change in changes)
    model, changes = watch([page(f"Hoy: {n},50 €") for n in range(12)])
    assert all(change.important for change in changes)
    assert model.noisy() == []


def article(text: str) -> Snapshot:
    return html(f'<div id="content"><h1>Town</h1><p>{text}</p></div>')


def test_edits_of_many_pages_teach_nothing():
    """Ten articles of a site are edited, then edited again: that says nothing of the next visit."""
    model = NoiseModel()
    for turn in range(2):
        for number in range(10):
            old, new = (article(f"{chr(97 + number) * 5} opened in {chr(104 + turn + n) * 4}") for n in (0, 1))
            model.observe(compare(old, new, RULES, frozenset(model.noisy())), number)
    assert model.noisy() == []


def test_a_clock_on_all_pages_is_learned_from_their_second_difference_on():
    model = NoiseModel()
    for turn in range(2):
        for number in range(3):
            assert model.noisy() == []
            model.observe(
                compare(page(f"Now {turn}"), page(f"Now {turn + 1}"), RULES, frozenset(model.noisy())), number
            )
    assert model.noisy() == ["body/aside.box/p.q"]


def test_where_most_text_of_a_page_stands_is_not_noise_even_if_it_differs_at_every_visit():
    words = [f"{chr(97 + n) * 5} met {chr(110 + n) * 4}, " * 20 for n in range(12)]
    model, changes = watch([article(text) for text in words])
    assert model.noisy() == ["body/div#content/p"]
    assert all(change.important for change in changes)
    small = html(f'<div id="content"><p>old word</p></div><aside>{"much other text " * 20}</aside>')
    other = html(f'<div id="content"><p>new one</p></div><aside>{"much other text " * 20}</aside>')
    assert not compare(small, other, RULES, frozenset(model.noisy())).important


def test_what_is_new_beside_the_noise_still_counts():
    model, _ = watch([page(f"Lucky number {n * 37}") for n in range(8)])
    change = compare(
        page("Lucky number 1", "The bridge stands"),
        page("Lucky number 2", "The bridge fell"),
        RULES,
        frozenset(model.noisy()),
    )
    assert change.important
    assert (change.words_removed, change.words_added) == (1, 1)


def test_a_block_that_rests_is_no_longer_noise():
    model, _ = watch([page(f"Lucky number {n * 37}") for n in range(8)])
    for _ in range(3):
        model.observe(compare(page("1"), page("1"), RULES, frozenset(model.noisy())))
    assert model.noisy() == []


def test_rotating_pictures_become_noise():
    def pictures(n: int) -> Snapshot:
        return html(f'<p>text</p><div class="hero"><img src="/photo{n}.jpg"></div>')

    _, changes = watch([pictures(n * 7 % 5) for n in range(9)])
    assert changes[0].important
    assert not changes[-1].important


def test_a_model_is_small_and_survives_as_json():
    model, _ = watch([html("".join(f"<p id=x{chr(97 + k)}>{n} {k}</p>" for k in range(26))) for n in range(20)])
    data = model.to_json()
    assert len(data) < 10_000
    again = NoiseModel.from_json(data)
    assert again == model
    assert again.noisy() == model.noisy() != []
    assert NoiseModel.from_json(b"nonsense") == NoiseModel()


def test_a_hostile_site_cannot_make_a_model_grow():
    model = NoiseModel()
    for n in range(30):
        old, new = (html("".join(f"<p class=c{n}{'x' * k}>{v}</p>" for k in range(150))) for v in "ab")
        model.observe(compare(old, new, RULES, frozenset(model.noisy())))
    assert len(model.blocks) <= 200
    assert len(model.to_json()) < 50_000
