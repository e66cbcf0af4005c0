"""What PyTorch's gradcheck says of seven mutants of three ops. Prints a table; needs torch. doc/gradcheck.md has the
result.

The mutants are those of ascgrad/check.h. Each op is an autograd.Function around PyTorch's own forward and gradient, so
that only what a mutant changes can be found. "overwritten in place of accumulated" has no place in a Function, which
returns gradients: it is a hook of the leaf that throws away what .grad held."""
import torch
from torch.autograd import Function, gradcheck

torch.manual_seed(0)


def tensors(*shapes):
    return [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes]


def linear(x, w, b):
    return torch.nn.functional.linear(x, w, b)


def softmax(x):
    return torch.softmax(x, -1)


def layer_norm(x, w, b):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], w, b)


OPS = {
    "linear": (linear, lambda: tensors((2, 3, 5), (4, 5), (4,))),
    "softmax": (softmax, lambda: tensors((2, 3, 5))),
    "layer_norm": (layer_norm, lambda: tensors((2, 3, 5), (5,), (5,))),
}


def true_grads(f, inputs, dy):
    with torch.enable_grad():
        leaves = [t.detach().requires_grad_() for t in inputs]
        return list(torch.autograd.grad(f(*leaves), leaves, dy))


def dropped(f, inputs, grads, dy, i):
    less = dy.clone()
    less.view(-1)[0] = 0
    return true_grads(f, inputs, less)[i]


def swap(f, inputs, grads, dy, i):
    """With the next input of as many elements."""
    j = next((j for j in range(i + 1, len(inputs)) if inputs[j].numel() == inputs[i].numel()), None)
    if j is not None:
        a, b = grads[i].reshape(grads[j].shape), grads[j].reshape(grads[i].shape)
        grads[j] = a
        return b
    return grads[i]


MUTANTS = {
    "wrong sign": lambda f, x, g, dy, i: -g[i],
    "times 1.01": lambda f, x, g, dy, i: 1.01 * g[i],
    "term dropped": dropped,
    "swapped": swap,
    "overwritten": None,
    "not written": lambda f, x, g, dy, i: None,
    "times 1.0005": lambda f, x, g, dy, i: 1.0005 * g[i],  # not one of the seven
    "shifted": lambda f, x, g, dy, i: g[i].reshape(-1).roll(-1).reshape(g[i].shape),
}


def mutant(f, spoil, i):
    class Op(Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return f(*inputs)

        @staticmethod
        def backward(ctx, dy):
            grads = true_grads(f, ctx.saved_tensors, dy)
            if spoil:
                grads[i] = spoil(f, ctx.saved_tensors, grads, dy, i)
            return tuple(grads)

    return Op.apply


def caught(name, kind, i, fast):
    f, make = OPS[name]
    inputs = make()
    if kind == "overwritten":
        inputs[i].register_hook(lambda _: setattr(inputs[i], "grad", None))
    op = mutant(f, MUTANTS[kind], i)
    return not gradcheck(op, inputs, raise_exception=False, fast_mode=fast)


def changes(name, kind, i):
    """Swapping needs a partner, as in ascgrad."""
    inputs = OPS[name][1]()
    return kind != "swapped" or any(t.numel() == inputs[i].numel() for t in inputs[i + 1:])


def main():
    print(f"torch {torch.__version__}")
    for fast in (False, True):
        print("gradcheck, fast_mode" if fast else "gradcheck")
        for name in OPS:
            n = len(OPS[name][1]())
            assert gradcheck(mutant(OPS[name][0], None, 0), OPS[name][1](), fast_mode=fast)
            cells = []
            for kind in MUTANTS:
                made = [i for i in range(n) if changes(name, kind, i)]
                cells.append(f"{kind} {sum(caught(name, kind, i, fast) for i in made)}/{len(made)}")
            print(f"  {name:12}", ", ".join(cells))


main()
