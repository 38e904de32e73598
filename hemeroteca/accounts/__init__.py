"""People, their roles, and the tokens that programs use in their name.

permissions  `Actor` and the one table of who may do what: `can(actor, action, thing)`, `require(…)`
services     people, passwords, sign-in and tokens; the only writer of these tables
display      how somebody wants pages shown: language, time zone, page size, titles, theme
throttle     slows down guessing of passwords
models       the tables; passwords and tokens are kept as hashes only
"""

from hemeroteca.accounts.permissions import STRANGER, SYSTEM, Actor, PermissionDenied, Role, can, require

__all__ = ["STRANGER", "SYSTEM", "Actor", "PermissionDenied", "Role", "can", "require"]
