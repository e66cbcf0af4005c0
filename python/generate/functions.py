"""Writes ops.py and ops.pyi: a function for each op, its tensors in the registry's order, then its attributes."""

import os
import re
import textwrap

from c_types import PLAIN

HEAD = '''"""The ops. Made from the library's registry and headers by python/generate.

Inputs are tensors and arrays, and beside one of those numbers and lists. A result is new. return_NAME=True has a
further result, NAME, follow the first, in a tuple."""

from ctypes import byref, c_int, c_int32, c_int64, c_size_t, c_uint64

from . import _c
from ._call import choice, inputs, ints, last, listed, longs, same, several, sized, tupled, value
from ._given import flag, letters, real, whole
from ._library import catch_up, ctx, fail, lock, mode, pending, state
from ._library import raw as lib  # all arguments are checked here
from ._tensor import Handle, Tensor, dtype_number, new
from ._tensor import result as one
'''
# What _tensor.result does, where it is called: small tensors' ops are a fifth faster.
ONE = """with lock:
    if pending or mode.off._is_owned() is not state.off:
        catch_up()
    handle = {call}
    if not handle.tag:
        fail()
    y = new(Tensor)
    y._as_parameter_ = handle
    return y"""
STUB = '''"""Made as ops.py is."""

from typing import Any, List, Literal, Optional, Tuple, Union, overload

from ._tensor import Tensor
from ._types import Input

Result = Union[Tensor, Tuple[Tensor, ...]]

'''
ARITHMETIC = ("add", "sub", "mul", "truediv", "pow", "matmul")
OPERATORS = (*ARITHMETIC, *(f"r{name}" for name in ARITHMETIC), "eq", "ne", "lt", "le", "gt", "ge")
VARIADIC = (("reshape", "shape"), ("permute", "order"))
BY_HAND = {"asc_tensor_split", "asc_arange"}
GIVE_BACK = {"asc_cast", "asc_contiguous", "asc_dropout"}  # their input, where there is nothing to do
GIVEN = "given"  # has no default

# The attributes whose default is not 0, false, or the first of the choices; "op.attribute" is of one op.
DEFAULTS = {
    "a": GIVEN,
    "after": GIVEN,
    "b": GIVEN,
    "beta": 1.0,
    "cap": GIVEN,
    "correction": 1,
    "dilation": 1,
    "dim": -1,
    "dim0": GIVEN,
    "dim1": GIVEN,
    "dims": None,
    "dtype": GIVEN,
    "eps": 1e-5,
    "equation": GIVEN,
    "before": GIVEN,
    "groups": 1,
    "heads": GIVEN,
    "hi": GIVEN,
    "ignore": -100,
    "index": GIVEN,
    "k": GIVEN,
    "lo": GIVEN,
    "M": GIVEN,
    "N": GIVEN,
    "offsets": (),
    "order": GIVEN,
    "p": GIVEN,
    "radius": GIVEN,
    "shape": GIVEN,
    "shift": GIVEN,
    "sizes": GIVEN,
    "smoothing": GIVEN,
    "step": 1,
    "stop": 2**63 - 1,
    "tuples": GIVEN,
    "concat.dim": 0,
    "stack.dim": 0,
    "neighbor_count": 16,
    "ascender.radius": 2,
    "ascender_background.radius": 2,
    "attention.cap": 0.0,
    "grassmann.eps": 1e-8,
    "linear_attention.eps": 1e-6,
    "linear_cross_entropy_top.cap": 0.0,
    "plucker_wedge.eps": 1e-8,
    "plucker_wedge_past.eps": 1e-8,
    "plucker_wedge_past.offsets": GIVEN,
    "row_norm.eps": 1e-6,
    "scale_shift.b": 0.0,
    "subspace.eps": 1e-8,
    "tril.k": 0,
    "k_of": None,
}
# Lists of whose length the library asks nothing: how many numbers they have, and why.
SIZED = {"after": "len(before), 'as before has'", "k_of": "heads, 'one a head'"}
RENAMED = {"k": "neighbor_count", "neighbors": "neighbor_rule"}  # attributes called as an input is
KINDS = {"bool": (False, "bool"), "double": (0.0, "float")}  # default and name; of all other numbers 0 and int


def common(names):
    """What the enumerators of one type begin with."""
    return os.path.commonprefix(list(names)).rpartition("_")[0] + "_"


class Function:
    """One function of the library's, and what Python's is made of."""

    def __init__(self, headers, known, f):
        self.headers, self.f, self.op = headers, f, f.name[4:]
        self.tensors, self.attributes, self.outputs = [], [], []  # of attributes (name, default, type)
        self.leading = 0  # attributes before the first tensor
        self.several = None  # the tensors that there may be any number of
        self.lines, self.arguments, self.notes = [], [], []
        self.equation = known["equation"] if known else ""
        params = list(f.params[1:])
        while params:
            self.take(params.pop(0), params)
        if any(name == "dims" for name, *_ in self.attributes):  # PyTorch's word serves, too
            self.attributes.append(("dim", None, "Any"))
            self.lines.insert(0, "dims = dims if dim is None else dim")
        if self.op in ("softmax", "log_softmax"):  # as PyTorch's are called
            self.attributes.append(("dim", -1, "int"))
            self.lines.append(f"if dim != -1:\n    last({self.op!r}, x, dim)")
        order = [name.rstrip("?") for name in known["inputs"]] if known else []
        self.tensors.sort(key=lambda name: order.index(name) if name in order else len(order))
        if known:
            self.optional = {name.rstrip("?") for name in known["inputs"] if name.endswith("?")}
        else:
            self.optional = {name for name in self.tensors if re.search(rf"\b{name}( \([^)]*\))? or null\b", f.doc)}

    # ---- reading the parameters ----

    def take(self, item, rest):
        """Takes a parameter, and those that belong to it."""
        struct = item.type.replace("const ", "").rstrip(" *")
        if item.type.endswith("*") and struct in self.headers.structs and struct != "asc_tensor":
            self.struct(item.name, struct)
        elif item.type == "asc_tensor":
            self.tensors.append(item.name)
            self.arguments.append(f"{item.name}")
        elif item.type == "asc_tensor *":
            self.output(item.name, "asc_tensor", f"out_{item.name}")
        elif item.type == "const asc_tensor *":
            rest.pop(0)
            self.several = item.name
            self.lines.append(f"{item.name}, handles = listed({self.op!r}, {item.name})")
            self.arguments += ["handles", f"len({item.name})"]
        elif item.type == "int" and rest and rest[0].type in ("const int *", "const int64_t *"):
            self.arguments.append(f"len({rest[0].name})")
            while rest and rest[0].type in ("const int *", "const int64_t *"):
                self.arguments.append(self.numbers(rest.pop(0)))
        else:
            self.arguments.append(self.attribute(item))

    def output(self, name, struct, result):
        self.outputs.append((name, result))
        self.lines.append(f"out_{name} = " + ("Handle()" if struct == "asc_tensor" else f"_c.{struct}()"))
        self.arguments.append(f"byref(out_{name}) if return_{name} else None")

    def struct(self, name, struct):
        fields = self.headers.structs[struct]
        if name == "losses":
            self.output(name, struct, ", ".join(f"out_losses.{field.name}" for field in fields))
            return
        values = []
        for field in fields:
            if field.count:
                self.scalars(field, values)
            elif field.type == "asc_tensor":
                self.tensors.append(field.name)
                values.append(f"{field.name}={field.name}._as_parameter_")
            elif field.name.startswith("n_"):
                count = "tupled(k, tuples)" if field.name == "n_tuples" else f"len({field.name[2:]})"
                values.append(f"{field.name}={count}")
            elif "*" in field.type:
                values.append(f"{field.name}={self.numbers(field)}")
            else:
                values.append(f"{field.name}={self.attribute(field)}")
            if field.doc:
                self.notes.append(f"{field.name}: {field.doc}")
        self.lines.append(f"c_{name} = _c.{struct}({', '.join(values)})")
        self.arguments.append(f"byref(c_{name})")

    def scalars(self, field, values):
        """An array of tensors whose names an enumeration has."""
        enum = next(names for names in self.headers.enums.values() if field.count in names)
        names = [name[len(common(enum)) :].lower() for name in enum if name != field.count]
        if "background" in self.op:
            enum = self.headers.enums["asc_background_scalar"]
            names = [name[len(common(enum)) :].lower() for name in enum if not name.endswith("SCALARS")]
        self.tensors += names
        handles = ", ".join(f"{name}._as_parameter_" for name in names)
        values.append(f"{field.name}=(_c.asc_tensor * {self.headers.constants[field.count]})({handles})")

    # ---- attributes ----

    def attribute(self, item):
        """Adds an attribute; the expression for the library's value of it."""
        name, kind = RENAMED[item.name] if item.name in self.tensors else item.name, item.type
        enum = self.headers.enums.get(kind)
        if kind == "asc_dtype":
            return self.added(name, GIVEN, "Any", f"dtype_number({name})")
        if enum:
            names = {key[len(common(enum)) :].lower(): number for key, number in enum.items()}
            return self.added(
                name, next(iter(names)), f"Literal{list(names)!r}", f"choice({name!r}, {name}, {names!r})"
            )
        if kind == "const char *":
            return self.added(name, GIVEN, "str", f"letters({name!r}, {name})")
        default, python = KINDS.get(kind, (0, "int"))
        given = {"bool": f"flag({name!r}, {name})", "float": f"real({name!r}, {name})"}
        return self.added(name, default, python, given.get(python, f"whole({name!r}, {name}, {PLAIN[kind]})"))

    def numbers(self, item):
        """The same of a list of whole numbers; None where its default is that."""
        name = item.name
        make = "ints" if item.type == "const int *" else "longs"
        self.added(name, GIVEN, "Any", "")
        self.lines.append(f"{name} = {make}({name!r}, {name})")
        if name in SIZED:
            self.lines.append(f"sized({name!r}, {name}, {SIZED[name]})")
        return f"{name}.buffer_info()[0]"

    def added(self, name, default, python, expression):
        default = DEFAULTS.get(f"{self.op}.{name}", DEFAULTS.get(name, default))
        self.leading += not self.tensors and not self.several
        self.attributes.append((name, default, python))
        return expression

    # ---- writing ----

    def parameters(self, typed):
        """The parameters, in order."""

        def written(name, python, default=GIVEN):
            hint = f": {python}" if typed else ""
            equal = " = " if typed else "="
            return f"{name}{hint}" + ("" if default == GIVEN else f"{equal}{default!r}")

        attributes = [written(name, python, default) for name, default, python in self.attributes]
        parts = attributes[: self.leading] if self.tensors or self.several else []
        later = attributes[len(parts) :]
        loose = False  # a default has come
        for name in self.tensors:
            loose = loose or name in self.optional
            parts.append(written(name, "Optional[Input]", None) if loose else written(name, "Input"))
        if self.several:
            parts.append(written(f"*{self.several}", "Any"))
        defaults = [default for _, default, _ in self.attributes[len(attributes) - len(later) :]]
        follows = any(a != GIVEN and b == GIVEN for a, b in zip(defaults, defaults[1:]))
        star = self.outputs and not later
        if later and not self.several and (follows or (loose and GIVEN in defaults)):
            parts.append("*")
        parts += later
        if self.outputs:
            parts += ["*"] * bool((star or "*" not in parts) and not self.several)
            parts += [written(f"return_{name}", "bool", False) for name, _ in self.outputs]
        return ", ".join(parts)

    def body(self):
        lines = []
        if self.tensors and not self.optional and len(self.tensors) < 3:
            names = ", ".join(self.tensors)
            wrong = " or ".join(f"type({name}) is not Tensor" for name in self.tensors)
            comma = "," * (len(self.tensors) == 1)
            lines += [f"if {wrong}:", f"    {names}{comma} = inputs({self.op!r}, {names})"]
        elif self.tensors:
            names = ", ".join(self.tensors)
            lines.append(f"{names}{',' * (len(self.tensors) == 1)} = inputs({self.op!r}, {names})")
        lines += self.lines
        call = f"({', '.join([f'lib.{self.f.name}'] + self.arguments)})"
        if self.f.result == "double":
            lines.append(f"return value{call}")
        elif self.outputs:
            wanted = " + ".join(f"([{result}] if return_{name} else [])" for name, result in self.outputs)
            lines += [f"y = one{call}", f"return several(y, {wanted})"]
        elif self.f.name in GIVE_BACK:
            lines.append(f"return same{call}")
        else:
            handles = [f"{part}._as_parameter_" if part in self.tensors else part for part in self.arguments]
            lines.append(ONE.format(call=f"lib.{self.f.name}({', '.join(['ctx', *handles])})"))
        return textwrap.indent("\n".join(lines), "    ")

    def docstring(self):
        parts = [self.equation, self.f.doc, self.f.section if "\n" in self.f.section else "", "\n".join(self.notes)]
        text = "\n\n".join(part for part in parts if part) or self.op
        text = re.sub(r"\basc_(?=[a-z])", "", text).replace("\\", "\\\\").replace('"""', "'''")
        return textwrap.indent(f'"""{text}"""', "    ", lambda line: bool(line.strip()))

    def source(self):
        return f"\n\ndef {self.op}({self.parameters(False)}):\n{self.docstring()}\n{self.body()}\n"

    def stub(self, method=False):
        result = "float" if self.f.result == "double" else "Result" if self.outputs else "Tensor"
        parameters = self.parameters(True)
        if method:
            parameters = parameters.replace(f"{self.tensors[0]}: Input", "self", 1)
        written = f"def {self.op}({parameters}) -> {result}: ...\n"
        if not self.outputs:
            return written
        alone = re.sub(r"(return_\w+): bool", r"\1: Literal[False]", written).replace("-> Result", "-> Tensor")
        return f"@overload\n{alone}@overload\n{written}"


def functions(headers, registry, declared):
    """What the headers of ops declare that makes a tensor or a number."""
    for name in declared:
        f = headers.functions[name]
        if name not in BY_HAND and f.result in ("asc_tensor", "double") and f.params[0].type == "asc_ctx *":
            yield Function(headers, registry.get(name[4:]), f)


def methods_stub(methods):
    """_methods.pyi: what _operators.py gives tensors."""
    lines = [f.stub(method=True) for f in methods if f.op not in ("reshape", "permute")]
    lines += [f"def {name}(self, *{given}: Any) -> Tensor: ...\n" for name, given in VARIADIC]
    lines += [f"def __{name}__(self, other: Any) -> Tensor: ...\n" for name in OPERATORS]
    lines += [f"def __{name}__(self) -> Tensor: ...\n" for name in ("neg", "abs")]
    ignored = "  # type: ignore[override]"
    lines = [line.rstrip() + ignored + "\n" if re.match(r"def __(eq|ne)__", line) else line for line in lines]
    return STUB + "\nclass Methods:\n" + textwrap.indent("".join(lines), "    ")


def texts(headers, registry, declared):
    """ops.py, ops.pyi and _methods.pyi."""
    written = list(functions(headers, registry, declared))
    names = [f.op for f in written]
    methods = [f for f in written if f.tensors[:1] in (["x"], ["a"], ["logits"]) and not f.leading]
    source = HEAD + "".join(f.source() for f in written)
    source += f"\n\n__all__ = {names!r}\nMETHODS = {[f.op for f in methods]!r}  # their first input is the tensor\n"
    stub = STUB + "".join(f.stub() for f in written) + f"\n__all__ = {names!r}\nMETHODS: List[str]\n"
    return source, stub, methods_stub(methods)
