"""Reads the library's public headers: constants, enumerations, structs and functions, each with its comment.

Not C in general, but the C that the headers are written in: one declaration a statement, a comment before or behind it.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Field:
    """A member of a struct, or a parameter."""

    name: str
    type: str  # "double", "const int *"
    count: str = ""  # of an array: its size as written
    doc: str = ""


@dataclass
class Function:
    name: str
    result: str
    params: list
    doc: str
    section: str  # the comment of the part of the header that it stands in


@dataclass
class Headers:
    constants: dict = field(default_factory=dict)
    enums: dict = field(default_factory=dict)  # name: {enumerator: number}
    structs: dict = field(default_factory=dict)  # name: [Field]
    functions: dict = field(default_factory=dict)
    opaque: set = field(default_factory=set)  # struct and function types that are only pointed to


COMMENT = re.compile(r"/\*.*?\*/", re.S)
CALLBACK = re.compile(r"[\w ]+\**\(\*(\w+)\)\([^()]*\)")
DECLARATOR = re.compile(r"(?P<type>.*?[\s*])(?P<name>\w+)\s*(?:\[(?P<count>[^\]]*)\])?$", re.S)


def plain(comment):
    """A comment's text, without its marks."""
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in comment.strip()[2:-2].strip().split("\n")]
    return "\n".join(lines).strip()


def declare(text, doc=""):
    """The Field of "const double *x[3]"."""
    found = DECLARATOR.match(" ".join(text.split()))
    return Field(found["name"], " ".join(found["type"].split()), found["count"] or "", doc)


def members(body):
    """The fields of a struct's body: "asc_tensor q, k; /* … */ double *at;"."""
    fields = []
    for statement, comment in re.findall(
        r"([^;/]+);[ \t]*(/\*.*?\*/)?", re.sub(r"\n\s*(/\*.*?\*/)", "", body, flags=re.S), re.S
    ):
        doc = " ".join(plain(comment).split()) if comment else ""
        if "(*" in statement:
            fields.append(Field(re.search(r"\(\*(\w+)\)", statement)[1], "function", doc=doc))
            continue
        first, *more = [part.strip() for part in statement.strip().split(",")]
        fields.append(declare(first, doc))
        base = re.sub(r"\s*\*$", "", fields[-1].type)
        for name in more:
            fields.append(declare(f"{base} {name}", doc))
    return fields


class Reader:
    def __init__(self):
        self.headers = Headers()

    def value(self, text):
        """The number that an expression stands for."""
        text = re.sub(r"\b(INT64_MAX)\b", str(2**63 - 1), text)
        text = re.sub(r"\b(INT64_MIN)\b", str(-(2**63)), text)
        text = re.sub(r"(?<=\d)[uUlL]+\b", "", text)
        return eval(text, {"__builtins__": {}}, self.headers.constants)  # the library's own headers

    def enum(self, name, body):
        number, values = 0, {}
        for item in COMMENT.sub("", body).split(","):
            key, _, given = item.strip().partition("=")
            if key:
                number = self.value(given) if given else number
                values[key.strip()] = self.headers.constants[key.strip()] = number
                number += 1
        if name:
            self.headers.enums[name] = values

    def types(self, text):
        for found in re.finditer(r"^#define (ASC_\w+)[ \t]+(\(?-?[\w* +-]+\)?)[ \t]*(?:/\*.*)?$", text, re.M):
            try:
                self.headers.constants[found[1]] = self.value(found[2])
            except (NameError, SyntaxError):
                pass  # no number
        for found in re.finditer(r"^(?:typedef )?enum\s*(\w*)\s*\{(.*?)\}\s*(\w*);", text, re.S | re.M):
            self.enum(found[3] or found[1], found[2])
        for found in re.finditer(r"^(?:typedef )?struct (\w+) \{\n(.*?)^\}", text, re.S | re.M):
            self.headers.structs[found[1]] = members(found[2])
        self.headers.opaque.update(re.findall(r"typedef struct (\w+) \w+;", text))
        self.headers.opaque.update(re.findall(r"typedef [\w *]*?(\w+)\(", text))

    def functions(self, text):
        section = group = ""
        for block in re.split(r"\n\s*\n", text):
            comments = [found for found in COMMENT.finditer(block) if found.start() == 0]
            if comments and comments[0][0].startswith("/* ----"):
                section = plain(re.sub(r" *-{4,} *", "", comments[0][0]))
                block = block[comments[0].end() :].strip()
                comments = [found for found in COMMENT.finditer(block) if found.start() == 0]
            group = plain(comments[0][0]) if comments else ""
            self.block(block, group, section)

    def block(self, block, group, section):
        at = 0
        for found in re.finditer(
            r"^ASC_API\s+(.*?)\b(asc_\w+)\((.*?)\)(?:\s*ASC_PRINTF\([^)]*\))?;[ \t]*(/\*.*?\*/)?", block, re.S | re.M
        ):
            between = [plain(comment[0]) for comment in COMMENT.finditer(block[at : found.start()])]
            group = between[-1] if between else group
            at = found.end()
            result, name, params, behind = found.groups()
            params = CALLBACK.sub(r"function *\1", COMMENT.sub("", params))
            fields = [declare(part) for part in params.split(",") if part.strip() not in ("...", "void")]
            doc = plain(behind) if behind else group
            self.headers.functions[name] = Function(name, " ".join(result.split()), fields, doc, section)


def read(folder):
    """All of the headers in a folder."""
    reader = Reader()
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("*.h"))]
    for text in texts:
        reader.types(text)
    for text in texts:
        reader.functions(text)
    return reader.headers
