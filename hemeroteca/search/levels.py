"""One level of parentheses of a query: its clauses as they are read, and what signs, AND and OR make of them."""

from __future__ import annotations

from hemeroteca.search.clauses import Clause, Fuzzy, Group, Node, Wildcard, Word
from hemeroteca.search.operators import PROPERTIES, field_of


class Level:
    """The clauses of one level of parentheses, as they are read."""

    def __init__(self, operator: str) -> None:
        self.operator = operator  # whose values they are, in `site:(a OR b)`
        self.clauses: list[Clause] = []
        self.joins: list[str] = []  # what stands before each clause: "", OR, AND
        self.sign = ""  # of the next clause: "", +, -
        self.join = ""  # before it

    def is_operator(self, kind: str | None, piece: str) -> bool:
        """Whether a piece only says something about the clause after it; it is taken note of."""
        if kind == "bar" or piece == "OR":
            self.join = "OR"
        elif piece in ("AND", "&&"):
            self.join = "AND"
        elif piece == "NOT":
            self.sign = "-"
        elif kind == "sign":
            self.sign = "-" if piece in "-−!" else "+"
        else:
            return False
        return True

    def add(self, node: Node | None) -> None:
        if node is not None:
            occurs = {"-": "not", "+": "must", "": "may"}[self.sign]
            asked_of_a_property = field_of(self.operator[:-1]) in PROPERTIES
            if occurs == "may" and not isinstance(node, Word | Wildcard | Fuzzy) and not asked_of_a_property:
                occurs = "must"
            self.clauses.append(Clause(node, occurs))
            self.joins.append(self.join)
        self.sign, self.join = "", ""

    def replace_last(self) -> None:
        """The next clause stands where the last one stood."""
        if self.clauses.pop().occurs == "not":
            self.sign = "-"
        self.join = self.joins.pop()

    @property
    def either(self) -> bool:
        """All of it is alternatives: a OR b OR c."""
        return "OR" in self.joins[1:] and "" not in self.joins[1:]

    def group(self) -> Group:
        return Group(tuple(_joined(self.clauses, self.joins)))


def _joined(clauses: list[Clause], joins: list[str]) -> list[Clause]:
    """Give AND and OR their meaning. AND binds closer than OR; words side by side are wanted, not required."""
    if "OR" not in joins[1:] and "AND" not in joins[1:]:
        return clauses
    runs: list[list[int]] = []
    for i, join in enumerate(joins):
        if i and join in ("OR", "AND"):
            runs[-1].append(i)
        else:
            runs.append([i])
    out: list[Clause] = []
    for run in runs:
        if len(run) == 1:
            out.append(clauses[run[0]])
            continue
        alternatives: list[list[Clause]] = [[clauses[run[0]]]]
        for i in run[1:]:
            if joins[i] == "AND":
                alternatives[-1].append(clauses[i])
            else:
                alternatives.append([clauses[i]])
        groups = [
            Clause(part[0].node if part[0].occurs != "not" else Group((part[0],)))
            if len(part) == 1
            else Clause(Group(tuple(Clause(c.node, "must" if c.occurs != "not" else "not") for c in part)))
            for part in alternatives
        ]
        if len(runs) == 1 and len(groups) > 1:
            return groups
        if len(groups) == 1:
            inner = groups[0].node
            assert isinstance(inner, Group)
            out += inner.clauses
        else:
            out.append(Clause(Group(tuple(groups)), "must"))
    return out
