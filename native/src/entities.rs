//! Named character references: the common ones. A page with another is not plain.

/// Sorted by name, each written with a semicolon.
#[rustfmt::skip]
static NAMED: &[(&str, char)] = &[
    ("AElig", '\u{c6}'), ("AMP", '\u{26}'), ("Aacute", '\u{c1}'), ("Abreve", '\u{102}'), ("Acirc", '\u{c2}'),
    ("Agrave", '\u{c0}'), ("Alpha", '\u{391}'), ("Aogon", '\u{104}'), ("Aring", '\u{c5}'), ("Atilde", '\u{c3}'),
    ("Auml", '\u{c4}'), ("Beta", '\u{392}'), ("COPY", '\u{a9}'), ("Cacute", '\u{106}'), ("Ccaron", '\u{10c}'),
    ("Ccedil", '\u{c7}'), ("Chi", '\u{3a7}'), ("Dagger", '\u{2021}'), ("Delta", '\u{394}'), ("ETH", '\u{d0}'),
    ("Eacute", '\u{c9}'), ("Ecaron", '\u{11a}'), ("Ecirc", '\u{ca}'), ("Egrave", '\u{c8}'), ("Eogon", '\u{118}'),
    ("Epsilon", '\u{395}'), ("Eta", '\u{397}'), ("Euml", '\u{cb}'), ("GT", '\u{3e}'), ("Gamma", '\u{393}'),
    ("Gbreve", '\u{11e}'), ("Iacute", '\u{cd}'), ("Icirc", '\u{ce}'), ("Igrave", '\u{cc}'), ("Iota", '\u{399}'),
    ("Iuml", '\u{cf}'), ("Kappa", '\u{39a}'), ("LT", '\u{3c}'), ("Lambda", '\u{39b}'), ("Lstrok", '\u{141}'),
    ("Mu", '\u{39c}'), ("Nacute", '\u{143}'), ("NoBreak", '\u{2060}'), ("Ntilde", '\u{d1}'), ("Nu", '\u{39d}'),
    ("OElig", '\u{152}'), ("Oacute", '\u{d3}'), ("Ocirc", '\u{d4}'), ("Odblac", '\u{150}'), ("Ograve", '\u{d2}'),
    ("Omega", '\u{3a9}'), ("Omicron", '\u{39f}'), ("Oslash", '\u{d8}'), ("Otilde", '\u{d5}'), ("Ouml", '\u{d6}'),
    ("Phi", '\u{3a6}'), ("Pi", '\u{3a0}'), ("Prime", '\u{2033}'), ("Psi", '\u{3a8}'), ("QUOT", '\u{22}'),
    ("REG", '\u{ae}'), ("Rcaron", '\u{158}'), ("Rho", '\u{3a1}'), ("Sacute", '\u{15a}'), ("Scaron", '\u{160}'),
    ("Scedil", '\u{15e}'), ("Sigma", '\u{3a3}'), ("THORN", '\u{de}'), ("Tau", '\u{3a4}'), ("Theta", '\u{398}'),
    ("Uacute", '\u{da}'), ("Ucirc", '\u{db}'), ("Udblac", '\u{170}'), ("Ugrave", '\u{d9}'), ("Upsilon", '\u{3a5}'),
    ("Uring", '\u{16e}'), ("Uuml", '\u{dc}'), ("Xi", '\u{39e}'), ("Yacute", '\u{dd}'), ("Yuml", '\u{178}'),
    ("Zacute", '\u{179}'), ("Zcaron", '\u{17d}'), ("Zdot", '\u{17b}'), ("ZeroWidthSpace", '\u{200b}'),
    ("Zeta", '\u{396}'), ("aacute", '\u{e1}'), ("abreve", '\u{103}'), ("acirc", '\u{e2}'), ("acute", '\u{b4}'),
    ("aelig", '\u{e6}'), ("agrave", '\u{e0}'), ("alefsym", '\u{2135}'), ("alpha", '\u{3b1}'), ("amp", '\u{26}'),
    ("and", '\u{2227}'), ("ang", '\u{2220}'), ("aogon", '\u{105}'), ("apos", '\u{27}'), ("aring", '\u{e5}'),
    ("ast", '\u{2a}'), ("asymp", '\u{2248}'), ("atilde", '\u{e3}'), ("auml", '\u{e4}'), ("bdquo", '\u{201e}'),
    ("beta", '\u{3b2}'), ("blacktriangleright", '\u{25b8}'), ("brvbar", '\u{a6}'), ("bsol", '\u{5c}'),
    ("bull", '\u{2022}'), ("bullet", '\u{2022}'), ("cacute", '\u{107}'), ("cap", '\u{2229}'), ("ccaron", '\u{10d}'),
    ("ccedil", '\u{e7}'), ("cedil", '\u{b8}'), ("cent", '\u{a2}'), ("centerdot", '\u{b7}'), ("check", '\u{2713}'),
    ("chi", '\u{3c7}'), ("circ", '\u{2c6}'), ("clubs", '\u{2663}'), ("colon", '\u{3a}'), ("comma", '\u{2c}'),
    ("commat", '\u{40}'), ("cong", '\u{2245}'), ("copy", '\u{a9}'), ("crarr", '\u{21b5}'), ("cup", '\u{222a}'),
    ("curren", '\u{a4}'), ("dArr", '\u{21d3}'), ("dagger", '\u{2020}'), ("darr", '\u{2193}'), ("dash", '\u{2010}'),
    ("deg", '\u{b0}'), ("delta", '\u{3b4}'), ("diams", '\u{2666}'), ("divide", '\u{f7}'), ("dollar", '\u{24}'),
    ("eacute", '\u{e9}'), ("ecaron", '\u{11b}'), ("ecirc", '\u{ea}'), ("egrave", '\u{e8}'), ("empty", '\u{2205}'),
    ("emsp", '\u{2003}'), ("ensp", '\u{2002}'), ("eogon", '\u{119}'), ("epsilon", '\u{3b5}'), ("equals", '\u{3d}'),
    ("equiv", '\u{2261}'), ("eta", '\u{3b7}'), ("eth", '\u{f0}'), ("euml", '\u{eb}'), ("euro", '\u{20ac}'),
    ("excl", '\u{21}'), ("exist", '\u{2203}'), ("fflig", '\u{fb00}'), ("filig", '\u{fb01}'), ("fllig", '\u{fb02}'),
    ("fnof", '\u{192}'), ("forall", '\u{2200}'), ("frac12", '\u{bd}'), ("frac14", '\u{bc}'), ("frac34", '\u{be}'),
    ("frasl", '\u{2044}'), ("gamma", '\u{3b3}'), ("gbreve", '\u{11f}'), ("ge", '\u{2265}'), ("grave", '\u{60}'),
    ("gt", '\u{3e}'), ("hArr", '\u{21d4}'), ("hairsp", '\u{200a}'), ("half", '\u{bd}'), ("harr", '\u{2194}'),
    ("hearts", '\u{2665}'), ("hellip", '\u{2026}'), ("horbar", '\u{2015}'), ("hyphen", '\u{2010}'),
    ("iacute", '\u{ed}'), ("icirc", '\u{ee}'), ("iexcl", '\u{a1}'), ("igrave", '\u{ec}'), ("image", '\u{2111}'),
    ("infin", '\u{221e}'), ("inodot", '\u{131}'), ("int", '\u{222b}'), ("iota", '\u{3b9}'), ("iquest", '\u{bf}'),
    ("isin", '\u{2208}'), ("iuml", '\u{ef}'), ("kappa", '\u{3ba}'), ("lArr", '\u{21d0}'), ("lambda", '\u{3bb}'),
    ("lang", '\u{27e8}'), ("laquo", '\u{ab}'), ("larr", '\u{2190}'), ("larrhk", '\u{21a9}'), ("lbrace", '\u{7b}'),
    ("lbrack", '\u{5b}'), ("lceil", '\u{2308}'), ("lcub", '\u{7b}'), ("ldquo", '\u{201c}'), ("le", '\u{2264}'),
    ("lfloor", '\u{230a}'), ("longrightarrow", '\u{27f6}'), ("lowast", '\u{2217}'), ("lowbar", '\u{5f}'),
    ("loz", '\u{25ca}'), ("lpar", '\u{28}'), ("lrm", '\u{200e}'), ("lsaquo", '\u{2039}'), ("lsqb", '\u{5b}'),
    ("lsquo", '\u{2018}'), ("lstrok", '\u{142}'), ("lt", '\u{3c}'), ("macr", '\u{af}'), ("mdash", '\u{2014}'),
    ("micro", '\u{b5}'), ("middot", '\u{b7}'), ("minus", '\u{2212}'), ("mu", '\u{3bc}'), ("nabla", '\u{2207}'),
    ("nacute", '\u{144}'), ("nbsp", '\u{a0}'), ("ndash", '\u{2013}'), ("ne", '\u{2260}'), ("nearr", '\u{2197}'),
    ("ni", '\u{220b}'), ("not", '\u{ac}'), ("notin", '\u{2209}'), ("nsub", '\u{2284}'), ("ntilde", '\u{f1}'),
    ("nu", '\u{3bd}'), ("num", '\u{23}'), ("numsp", '\u{2007}'), ("oacute", '\u{f3}'), ("ocirc", '\u{f4}'),
    ("odblac", '\u{151}'), ("oelig", '\u{153}'), ("ograve", '\u{f2}'), ("oline", '\u{203e}'), ("omega", '\u{3c9}'),
    ("omicron", '\u{3bf}'), ("oplus", '\u{2295}'), ("or", '\u{2228}'), ("ordf", '\u{aa}'), ("ordm", '\u{ba}'),
    ("oslash", '\u{f8}'), ("otilde", '\u{f5}'), ("otimes", '\u{2297}'), ("ouml", '\u{f6}'), ("para", '\u{b6}'),
    ("part", '\u{2202}'), ("percnt", '\u{25}'), ("period", '\u{2e}'), ("permil", '\u{2030}'), ("perp", '\u{22a5}'),
    ("phi", '\u{3c6}'), ("phone", '\u{260e}'), ("pi", '\u{3c0}'), ("piv", '\u{3d6}'), ("plus", '\u{2b}'),
    ("plusmn", '\u{b1}'), ("pound", '\u{a3}'), ("prime", '\u{2032}'), ("prod", '\u{220f}'), ("prop", '\u{221d}'),
    ("psi", '\u{3c8}'), ("puncsp", '\u{2008}'), ("quest", '\u{3f}'), ("quot", '\u{22}'), ("rArr", '\u{21d2}'),
    ("radic", '\u{221a}'), ("rang", '\u{27e9}'), ("raquo", '\u{bb}'), ("rarr", '\u{2192}'), ("rarrw", '\u{219d}'),
    ("rbrace", '\u{7d}'), ("rbrack", '\u{5d}'), ("rcaron", '\u{159}'), ("rceil", '\u{2309}'), ("rcub", '\u{7d}'),
    ("rdquo", '\u{201d}'), ("real", '\u{211c}'), ("reg", '\u{ae}'), ("rfloor", '\u{230b}'), ("rho", '\u{3c1}'),
    ("rlm", '\u{200f}'), ("rpar", '\u{29}'), ("rsaquo", '\u{203a}'), ("rsqb", '\u{5d}'), ("rsquo", '\u{2019}'),
    ("sacute", '\u{15b}'), ("sbquo", '\u{201a}'), ("scaron", '\u{161}'), ("scedil", '\u{15f}'), ("sdot", '\u{22c5}'),
    ("searr", '\u{2198}'), ("sect", '\u{a7}'), ("semi", '\u{3b}'), ("shy", '\u{ad}'), ("sigma", '\u{3c3}'),
    ("sigmaf", '\u{3c2}'), ("sim", '\u{223c}'), ("sol", '\u{2f}'), ("spades", '\u{2660}'), ("star", '\u{2606}'),
    ("starf", '\u{2605}'), ("sub", '\u{2282}'), ("sube", '\u{2286}'), ("sum", '\u{2211}'), ("sup", '\u{2283}'),
    ("sup1", '\u{b9}'), ("sup2", '\u{b2}'), ("sup3", '\u{b3}'), ("supe", '\u{2287}'), ("szlig", '\u{df}'),
    ("tau", '\u{3c4}'), ("tcedil", '\u{163}'), ("there4", '\u{2234}'), ("theta", '\u{3b8}'), ("thetasym", '\u{3d1}'),
    ("thinsp", '\u{2009}'), ("thorn", '\u{fe}'), ("tilde", '\u{2dc}'), ("times", '\u{d7}'), ("trade", '\u{2122}'),
    ("triangleright", '\u{25b9}'), ("uArr", '\u{21d1}'), ("uacute", '\u{fa}'), ("uarr", '\u{2191}'),
    ("ucirc", '\u{fb}'), ("udblac", '\u{171}'), ("ugrave", '\u{f9}'), ("uml", '\u{a8}'), ("upsih", '\u{3d2}'),
    ("upsilon", '\u{3c5}'), ("uring", '\u{16f}'), ("uuml", '\u{fc}'), ("vert", '\u{7c}'), ("weierp", '\u{2118}'),
    ("xi", '\u{3be}'), ("yacute", '\u{fd}'), ("yen", '\u{a5}'), ("yuml", '\u{ff}'), ("zacute", '\u{17a}'),
    ("zcaron", '\u{17e}'), ("zdot", '\u{17c}'), ("zeta", '\u{3b6}'), ("zwj", '\u{200d}'), ("zwnj", '\u{200c}'),
];

/// Those that mean a character without a semicolon, too.
static BARE: &str = "\
AElig AMP Aacute Acirc Agrave Aring Atilde Auml COPY Ccedil ETH Eacute Ecirc Egrave Euml GT Iacute Icirc \
Igrave Iuml LT Ntilde Oacute Ocirc Ograve Oslash Otilde Ouml QUOT REG THORN Uacute Ucirc Ugrave Uuml Yacute \
aacute acirc acute aelig agrave amp aring atilde auml brvbar ccedil cedil cent copy curren deg divide eacute \
ecirc egrave eth euml frac12 frac14 frac34 gt iacute icirc iexcl igrave iquest iuml laquo lt macr micro middot \
nbsp not ntilde oacute ocirc ograve ordf ordm oslash otilde ouml para plusmn pound quot raquo reg sect shy \
sup1 sup2 sup3 szlig thorn times uacute ucirc ugrave uml uuml yacute yen yuml";

/// The character that `name;` stands for.
pub fn named(name: &str) -> Option<char> {
    match name {
        "nbsp" => return Some('\u{a0}'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "amp" => return Some('&'),
        _ => {}
    }
    NAMED.binary_search_by(|entry| entry.0.cmp(name)).ok().map(|found| NAMED[found].1)
}

/// The length of a name without a semicolon that `text` begins with: of any one, not of the longest.
pub fn bare(text: &str) -> Option<usize> {
    BARE.split(' ').find(|name| text.starts_with(name)).map(str::len)
}
