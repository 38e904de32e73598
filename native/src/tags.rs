//! The names of elements and what the standard says about each.

pub const VOID: u32 = 1;
pub const SPECIAL: u32 = 1 << 1;
pub const FORMATTING: u32 = 1 << 2;
/// Its start tag ends an open paragraph, its end tag looks for it in scope.
pub const BLOCK: u32 = 1 << 3;
/// Nothing beyond it is in scope.
pub const SCOPE: u32 = 1 << 4;
/// Only parts of a table may stand directly in it.
pub const TABLE_ONLY: u32 = 1 << 5;
pub const TABLE_PART: u32 = 1 << 6;
pub const HEADING: u32 = 1 << 7;
/// Looked at by `html.py` whatever its attributes.
pub const INTERESTING: u32 = 1 << 8;
/// Without text of its own: neither hidden nor a landmark.
pub const EMPTY: u32 = 1 << 9;
/// Its class and id may say what it is for.
pub const NAMED: u32 = 1 << 10;
/// Not for the fast path.
pub const UNUSUAL: u32 = 1 << 11;
/// Its text is none of the page.
pub const UNSEEN: u32 = 1 << 12;
/// Ended by the end of whatever is around it.
pub const IMPLIED_END: u32 = 1 << 13;
/// A line of text ends before its tags.
pub const BREAK: u32 = 1 << 14;
/// Stands in the head.
pub const META: u32 = 1 << 15;

const fn packed(name: &[u8]) -> u64 {
    let mut code = 0;
    let mut at = 0;
    while at < name.len() {
        code = code << 8 | name[at] as u64;
        at += 1;
    }
    code
}

/// A name of up to 16 letters, in small ones.
pub const fn packed_long(name: &[u8]) -> u128 {
    let mut code = 0;
    let mut at = 0;
    while at < name.len() {
        code = code << 8 | name[at].to_ascii_lowercase() as u128;
        at += 1;
    }
    code
}

/// The names that `markup.py` takes for blocks by their first three letters.
const BREAKING: &[u8] = b"dialog div dir pre section article nav header hgroup footer form fieldset figure aside main \
blockquote option address details summary center caption table tbody tfoot thead body html button select legend \
textarea noscript search menu ";
const SHORT_BREAKING: &[u8] = b"p li td th tr dt dd dl ul ol hr br h1 h2 h3 h4 h5 h6 ";

/// Whether `markup.py` puts a break before tags of this name (in small letters).
const fn breaks(name: &[u8]) -> bool {
    let list = if name.len() < 3 { SHORT_BREAKING } else { BREAKING };
    let length = if name.len() < 3 { name.len() } else { 3 };
    let mut start = 0;
    while start + length < list.len() {
        let mut same = 0;
        while same < length && list[start + same] == name[same] {
            same += 1;
        }
        if same == length && (length == 3 || list[start + length] == b' ') {
            return true;
        }
        while list[start] != b' ' {
            start += 1;
        }
        start += 1;
    }
    false
}

macro_rules! tags {
    ($($name:ident $text:literal $flags:expr;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Tag { Other, $($name),* }

        static FLAGS: &[u32] = &[0, $($flags | if breaks($text) { BREAK } else { 0 }),*];

        #[allow(non_upper_case_globals)]
        mod codes { $(pub const $name: u64 = super::packed($text);)* }

        fn by_code(code: u64) -> Tag {
            match code { $(codes::$name => Tag::$name,)* _ => Tag::Other }
        }
    };
}

const B: u32 = BLOCK | SPECIAL;
const F: u32 = FORMATTING;
const H: u32 = HEADING | SPECIAL;
const S: u32 = SPECIAL;
const V: u32 = VOID | SPECIAL;
const I: u32 = INTERESTING;

tags! {
    A b"a" F;
    Abbr b"abbr" 0;
    Address b"address" B;
    Applet b"applet" UNUSUAL;
    Area b"area" V | I | EMPTY;
    Article b"article" B | I;
    Aside b"aside" B | I;
    Audio b"audio" I;
    B b"b" F;
    Base b"base" V | I | EMPTY | META;
    Basefont b"basefont" UNUSUAL;
    Bgsound b"bgsound" UNUSUAL;
    Big b"big" F;
    Body b"body" S;
    Br b"br" V;
    Button b"button" S | I | UNSEEN;
    Caption b"caption" S | SCOPE | TABLE_PART;
    Center b"center" B;
    Cite b"cite" 0;
    Code b"code" F;
    Col b"col" V | TABLE_PART;
    Colgroup b"colgroup" S | TABLE_PART;
    Dd b"dd" S | IMPLIED_END;
    Details b"details" B;
    Dialog b"dialog" BLOCK;
    Dir b"dir" B;
    Div b"div" B | NAMED;
    Dl b"dl" B;
    Dt b"dt" S | IMPLIED_END;
    Em b"em" F;
    Embed b"embed" V | I | EMPTY;
    Fieldset b"fieldset" B;
    Figure b"figure" B;
    Font b"font" F;
    Footer b"footer" B | I;
    Form b"form" S;
    Frame b"frame" UNUSUAL;
    Frameset b"frameset" UNUSUAL;
    H1 b"h1" H | I;
    H2 b"h2" H | I;
    H3 b"h3" H | I;
    H4 b"h4" H;
    H5 b"h5" H;
    H6 b"h6" H;
    Head b"head" S;
    Header b"header" B | I;
    Hgroup b"hgroup" B;
    Hr b"hr" V;
    Html b"html" S | SCOPE;
    Italic b"i" F;
    Iframe b"iframe" S | I | UNSEEN;
    Image b"image" UNUSUAL;
    Img b"img" V | I | EMPTY;
    Input b"input" V | I | EMPTY;
    Isindex b"isindex" UNUSUAL;
    Keygen b"keygen" UNUSUAL;
    Label b"label" I | UNSEEN;
    Li b"li" S | IMPLIED_END;
    Link b"link" V | I | EMPTY | META;
    Listing b"listing" UNUSUAL;
    Main b"main" B | I;
    Marquee b"marquee" UNUSUAL;
    Math b"math" UNUSUAL;
    Menu b"menu" B;
    Menuitem b"menuitem" UNUSUAL;
    Meta b"meta" V | I | EMPTY | META;
    Nav b"nav" B | I;
    Nobr b"nobr" UNUSUAL;
    Noembed b"noembed" UNUSUAL;
    Noframes b"noframes" UNUSUAL;
    Noscript b"noscript" S | I | UNSEEN;
    Object b"object" S | SCOPE | I;
    Ol b"ol" B;
    Optgroup b"optgroup" IMPLIED_END;
    Option b"option" IMPLIED_END | I | UNSEEN;
    P b"p" B | IMPLIED_END;
    Param b"param" V;
    Pre b"pre" B;
    Rb b"rb" UNUSUAL;
    Rp b"rp" UNUSUAL;
    Rt b"rt" UNUSUAL;
    Rtc b"rtc" UNUSUAL;
    Strikethrough b"s" F;
    Script b"script" S | I | UNSEEN | META;
    Search b"search" UNUSUAL;
    Section b"section" B | NAMED;
    Select b"select" S | I | UNSEEN;
    Small b"small" F;
    Source b"source" V | I | EMPTY;
    Span b"span" 0;
    Strike b"strike" F;
    Strong b"strong" F;
    Style b"style" S | I | UNSEEN | META;
    Summary b"summary" B;
    Svg b"svg" 0;
    Table b"table" S | SCOPE | TABLE_ONLY | NAMED;
    Tbody b"tbody" S | TABLE_ONLY | TABLE_PART;
    Td b"td" S | SCOPE | TABLE_PART | NAMED;
    Template b"template" UNUSUAL;
    Textarea b"textarea" S | I | UNSEEN;
    Tfoot b"tfoot" S | TABLE_ONLY | TABLE_PART;
    Th b"th" S | SCOPE | TABLE_PART;
    Thead b"thead" S | TABLE_ONLY | TABLE_PART;
    Time b"time" I;
    Title b"title" S | META;
    Tr b"tr" S | TABLE_ONLY | TABLE_PART;
    Track b"track" V | I | EMPTY;
    Tt b"tt" F;
    Underline b"u" F;
    Ul b"ul" B | NAMED;
    Use b"use" UNUSUAL;
    Video b"video" I;
    Wbr b"wbr" V;
    Xmp b"xmp" UNUSUAL;
}

/// The tag of a name of any case, with its flags.
pub fn known(name: &[u8]) -> (Tag, u32) {
    if name.len() > 8 {
        return known_long(name);
    }
    let mut code = 0;
    for byte in name {
        code = code << 8 | u64::from(byte.to_ascii_lowercase());
    }
    let tag = by_code(code);
    if tag == Tag::Other {
        return (tag, breaks_any(name));
    }
    (tag, FLAGS[tag as usize])
}

fn known_long(name: &[u8]) -> (Tag, u32) {
    // They differ in nothing from `address`, but their names: those are compared as written.
    if name.eq_ignore_ascii_case(b"blockquote") || name.eq_ignore_ascii_case(b"figcaption") {
        return (Tag::Other, B | BREAK);
    }
    if name.eq_ignore_ascii_case(b"plaintext") {
        return (Tag::Other, UNUSUAL);
    }
    (Tag::Other, breaks_any(name))
}

fn breaks_any(name: &[u8]) -> u32 {
    let mut lowered = [0; 3];
    let length = name.len().min(3);
    for (to, from) in lowered.iter_mut().zip(name) {
        *to = from.to_ascii_lowercase();
    }
    if length == 3 && breaks(&lowered) { BREAK } else { 0 }
}
