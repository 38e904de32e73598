//! What is plain is read, what is not is refused with its reason. That both readings agree is tested from Python
//! (tests/extract/test_native.py), which has the other one.

use hemeroteca_native::{Limits, Place, Reason, fingerprints, is_stuffed, read, simhash, without_digits};

const LIMITS: Limits = Limits {
    html_bytes: 4 << 20,
    html_tags: 100_000,
    depth: 1000,
    text_chars: 1_000_000,
    line_chars: 500,
    description_chars: 1000,
    headings_chars: 4000,
    anchor_chars: 200,
    context_chars: 30,
    href_chars: 4096,
    links: 50_000,
    css_bytes: 2 << 20,
};

/// The answer as a string that shows its texts.
fn answer(page: &str, context: bool) -> String {
    String::from_utf8_lossy(&read(page.as_bytes(), &LIMITS, context, None).expect("it is plain")).into_owned()
}

#[test]
fn texts_links_and_references() {
    let found = answer("<title>A &amp; B</title><p>x &nLt; &eacute; &#8364;<a href='/y'>link</a>", false);
    for part in ["A & B", "/y", "link", "x \u{226a}\u{20d2} é €link"] {
        assert!(found.contains(part), "{part} in {found}");
    }
}

#[test]
fn a_context_belongs_to_its_own_anchor() {
    let page = "<p>about trains <a href=1>more</a> or not</p><p>about ships <a href=2>more</a> or less</p>";
    let found = answer(page, true);
    assert!(found.contains("about trains more or not about ships more or"));
    assert!(found.contains("ains more or not about ships more or less"));
    assert!(!answer(page, false).contains("or not about"));
}

#[test]
fn what_is_hidden_is_no_context() {
    assert!(
        answer("<p>seen<b hidden>unseen</b> <a href=x> word </a><script>y</script> end", true)
            .contains("seen word end")
    );
}

#[test]
fn reasons() {
    for (page, reason) in [
        ("<table>x<tr><td>y</table>", Reason::Table),
        ("<p>&unheardof;", Reason::Reference),
        ("<p>\0", Reason::Characters),
        ("<template></template>", Reason::Element),
        ("<a href=x>a<a href=y>b</a></a>", Reason::Nesting),
        ("<p =x>", Reason::Markup),
    ] {
        assert_eq!(read(page.as_bytes(), &LIMITS, false, None).unwrap_err(), reason, "{page}");
    }
    let few = Limits { links: 1, ..LIMITS };
    assert_eq!(read(b"<a href=x>x</a><a href=y>y</a>", &few, false, None).unwrap_err(), Reason::Limit);
}

#[test]
fn links_lead_to_the_keys_of_their_addresses() {
    let place = Place { directory: "http://example.org/a/", host: 1, page: 2 };
    let found = read(b"<a href='../b/c.html#d'>x</a>", &LIMITS, false, Some(&place)).unwrap();
    // blake2b of http://example.org/b/c.html with a digest of eight bytes
    let key = [0x8d, 0x58, 0x42, 0xf2, 0xc8, 0x25, 0x83, 0x4d];
    assert!(found.windows(8).any(|window| window == key));
}

#[test]
fn texts_alike_have_fingerprints_alike() {
    let text: String = (0..200).map(|number| format!("word{} ", number * 7919 % 1000)).collect();
    let other = text.replacen("word", "ward", 1);
    assert!((simhash(text.as_bytes()) ^ simhash(other.as_bytes())).count_ones() < 8);
    assert_eq!(without_digits(b"a1b22c"), b"abc");
}

#[test]
fn what_a_page_says_without_addresses_and_its_own_numbers() {
    let own = ["7".to_owned()].into();
    let found = |text: &str| fingerprints(text, b"", &own);
    assert_eq!(found("page 7 of 70 is at http://x.test/7 and /y"), found("page  of 70 is at  and "));
    assert_ne!(found("page 7 of 70").0, found("page 7 of 71").0);
    assert_eq!(found("page 7 of 70").1, found("page 8 of 71").1);
    assert_ne!(found("and/or"), found("and"));
    assert_ne!(fingerprints("a", b"\nb", &own), found("a"));
}

#[test]
fn words_that_are_only_repeated() {
    let prose = (0..1000).map(|number| format!("word{number} ")).collect::<String>();
    for (text, stuffed) in [("", false), (" \u{a0}\x1f", false), ("buy ", true), (&*prose, false)] {
        assert_eq!(is_stuffed(&text.repeat(3), 0.2, 0.05, 20_000), stuffed, "{text:.40}");
    }
    assert!(is_stuffed(&prose.repeat(25), 0.2, 0.05, 20_000));
}
