"""REST under /api/v1 (OpenAPI at /api/v1/docs), and the protocols of the field. Shapes and routes only: whatever is
decided or looked up happens in services and queries of the rooms below; pages of the console call the same ones.

    routes      every route with its permission, in one list
    access      whose request it is: a token, a session, a stranger
    problems    every error as a problem detail (RFC 9457)
    shapes      what bodies and answers have in common
    search, captures, crawls, sites, jobs, watch (watch_shapes), wiki, signals, status      one module per noun
    fetch (for clients of the fleet), devices (for its devices), bot (for owners of visited sites)
    cdx, memento, opensearch      what other archives' tools, browsers and feed readers speak
"""
