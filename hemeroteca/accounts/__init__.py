"""Who may do what: people with one of three roles, and the tokens that programs use in their name.

A reader looks, an editor also orders crawls, an administrator also manages people. Passwords and tokens are kept as
hashes only. `services` is the only writer of these tables.
"""
