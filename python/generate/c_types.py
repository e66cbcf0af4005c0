"""Writes _c.py: the headers' constants, structs and functions for ctypes."""

HEAD = '''"""The library's constants, structs and functions. Made from include/ascgrad by python/generate."""

from ctypes import (Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint8,
                    c_uint32, c_uint64, c_void_p)
'''
PLAIN = {
    "void": "None",
    "bool": "c_bool",
    "char": "c_char",
    "double": "c_double",
    "int": "c_int",
    "unsigned": "c_uint",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "uint8_t": "c_uint8",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
    "size_t": "c_size_t",
}


def c_type(headers, name, count=""):
    """What ctypes calls the type of a result, a parameter or a field, an array's of `count`."""
    if name == "const char *":
        kind = "c_char_p"
    elif "*" in name or name == "function":
        kind = "c_void_p"
    elif name in headers.enums:
        kind = "c_int"
    else:
        kind = PLAIN.get(name, name)
    return f"{kind} * {headers.constants.get(count, count)}" if count else kind


def ordered(headers):
    """The structs' names, each after those that it holds."""
    done = []

    def add(name):
        for item in headers.structs[name]:
            if item.type in headers.structs:
                add(item.type)
        if name not in done:
            done.append(name)

    for name in headers.structs:
        add(name)
    return done


def text(headers):
    lines = [HEAD]
    lines += [f"{name} = {value}" for name, value in headers.constants.items()]
    for name in ordered(headers):
        fields = ", ".join(
            f'("{item.name}", {c_type(headers, item.type, item.count)})' for item in headers.structs[name]
        )
        lines += ["", "", f"class {name}(Structure):", f"    _fields_ = [{fields}]"]
    lines += ["", "", "# name: (result, parameters, their names)", "FUNCTIONS = {"]
    for f in headers.functions.values():
        params = ", ".join(c_type(headers, item.type) for item in f.params)
        names = [item.name for item in f.params]
        lines.append(f'    "{f.name}": ({c_type(headers, f.result)}, [{params}], {names!r}),')
    return "\n".join(lines + ["}", ""])
