"""URLs as the web writes them: mostly sane, often odd, sometimes hostile."""

from hypothesis import strategies as st

PIECES = [
    *(
        "a",
        "b",
        "index.html",
        "Map.html",
        "A",
        "1",
        "2024",
        "..",
        ".",
        "...",
        ".a",
        "/",
        "//",
        "/",
        "/",
        "?",
        "&",
        "=",
        ";",
    ),
    *(
        "%41",
        "%7e",
        "%7E",
        "%2e",
        "%2E%2e",
        "%2F",
        "%25",
        "%",
        "%zz",
        "%u00e9",
        "%U00e9",
        "%C3%B1",
        "%c3%b1",
        "%20",
        "%00",
    ),
    *(
        "ñ",
        "日本",
        "\ud800",
        " ",
        "\t",
        "\n",
        "\\",
        "|",
        "[",
        "]",
        "^",
        "`",
        "{",
        "}",
        '"',
        "'",
        "<",
        ">",
        "~",
        "!",
        "*",
        "(",
        ")",
    ),
    *(
        "utm_source=x",
        "&utm_campaign=y",
        "fbclid=1",
        ";jsessionid=AB12",
        ";JSESSIONID=1",
        "PHPSESSID=abc",
        "&b=2",
        "a=1",
    ),
    *(
        "sid=0123456789abcdef0123",
        "sessionid=12",
        "#",
        "#frag",
        ":",
        "@",
        "+",
        ",",
        "$",
        "&&",
        "..;jsessionid=1",
        "http:",
        "https:",
    ),
]
HOSTS = [
    *(
        "example.org",
        "www.example.org",
        "www.www.example.org",
        "EXAMPLE.org",
        "example.org.",
        "example.org..",
        "a..b",
        "localhost",
    ),
    *(
        "españa.es",
        "xn--espaa-rta.es",
        "www.com",
        "127.0.0.1",
        "0x7f.1",
        "[::1]",
        "foo.09..",
        "example.org:80",
        "example.org:443",
    ),
    *(
        "example.org:8080",
        "example.org.:81",
        "u:p@example.org",
        "exa_mple.org",
        "a-.b",
        "xn--.org",
        ".",
        "%65xample.org",
    ),
]

tails = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8).map("".join)
web_urls = st.builds(
    "{}://{}{}".format,
    st.sampled_from(["http", "https", "HTTPS"]),
    st.sampled_from(HOSTS),
    tails.map(lambda t: "/" + t),
)
hrefs = (
    tails
    | web_urls
    | tails.map("/{}".format)
    | tails.map("../{}".format)
    | tails.map("../../{}".format)
    | tails.map("//example.com/{}".format)
    | st.text(max_size=20)
)
