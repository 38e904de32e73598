"""Replay: archived pages with their scripts, pictures and styles, on an origin that shares nothing with the console.

    addresses   where replay is for whoever asks, and the tickets that let members in
    program     how `hemeroteca serve` runs it
    install     makes the environment of its own that pywb needs
    server      the process itself: pywb's rewriting in front of our index and our files. It runs in that other
                environment, so it imports nothing of ours, and nothing of ours imports it

What is replayed was written by strangers and runs: it must never be served under a name that the console answers to,
because cookies ignore ports. docs/decisions/0063-replay.md tells how that is kept.
"""
