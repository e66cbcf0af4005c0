"""python3 generate/reference.py: doc/python-reference.md, of the docstrings, on standard output. Needs the package and
PyTorch."""

import inspect
import re

import ascgrad
import ascgrad.torch

HEAD = """# The Python package's classes and functions

Made of the docstrings by `make update-python-reference`; `help(…)` shows the same. The ops are in [ops.md](ops.md);
what leads through all of it is [python.md](python.md).
"""


def signature(thing, name):
    try:
        given = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    plain = [p.replace(annotation=p.empty) for p in given.parameters.values()]
    text = str(given.replace(parameters=plain, return_annotation=given.empty))
    return re.sub(r"\((self|cls)(, )?", "(", name + text).replace("|", "\\|")


def doc(thing):
    """A docstring in Markdown: its own indentation is code."""
    return inspect.getdoc(thing) or ""


def members(cls):
    """The public methods and properties of a class itself, in the order of the source."""
    for name, member in vars(cls).items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        public = not name.startswith("_") and name not in ascgrad.ops.__all__
        if public and callable(function) and getattr(function, "__doc__", None):
            shown = name if isinstance(member, property) else signature(function, name)
            yield f"- `{shown}`: {' '.join(doc(function).split())}"


def entry(name, thing):
    shown = [] if inspect.isclass(thing) and issubclass(thing, Exception) else [f"`{signature(thing, name)}`", ""]
    lines = [f"### {name}", "", *shown, doc(thing)]
    rows = list(members(thing)) if inspect.isclass(thing) else []
    return "\n".join(lines + ([""] + rows if rows else [])).rstrip() + "\n"


def public(module):
    """What a module has under its own names: less ops, modules and constants."""
    names = [name for name in vars(module) if not name.startswith("_") and name not in ascgrad.ops.__all__]
    return sorted((n for n in names if callable(getattr(module, n))), key=str.lower)


def main():
    print(HEAD)
    parts = (("ascgrad", ascgrad, None), ("ascgrad.torch", ascgrad.torch, ascgrad.torch.__all__))
    for title, module, names in parts:
        print(f"## {title}\n")
        for name in names or public(module):
            thing = getattr(module, name)
            if inspect.isclass(thing) and issubclass(thing, ascgrad.torch.Mixing) and name != "Mixing":
                print(f"### {name}\n\nThe mixing `{thing.mixing}`, as Mixing.\n")
            else:
                print(entry(name, thing))


if __name__ == "__main__":
    main()
