"""Recipes: what may be chosen where a library leaves the choice to its user."""
import dataclasses


def choice(default, *others):
    """A field that is one of some texts."""
    return dataclasses.field(default=default, metadata={"of": (default, *others)})


def parse(kind, text):
    """A recipe of the dataclass kind from key=value,key=value; what is not named stays."""
    fields = {f.name: f for f in dataclasses.fields(kind)}
    chosen = {}
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        if key not in fields:
            raise SystemExit(f"recipe {part!r}: want one of {', '.join(fields)}")
        of = fields[key].metadata.get("of")
        if of and value not in of:
            raise SystemExit(f"recipe {part!r}: want {key}= one of {', '.join(of)}")
        try:
            chosen[key] = value if of else float(value)
        except ValueError:
            raise SystemExit(f"recipe {part!r}: want {key}= a number") from None
    return kind(**chosen)
