#!/usr/bin/env python3
"""What messages cost a step of a training on several processes, by the LogGP model: the table of parallel.md.

usage: ranks_cost.py [--shard-optimizer] [--in-turns] [--overhead S] [--gbits G,G,…] [--ranks R,R,…]
                     SECONDS=MODEL.safetensors…

MODEL is a model that `ascgrad train` saved, SECONDS how long a step of one process computes, as in
0.9=runs/a/model.safetensors.
Prints for each number of processes, 2 … 1024, what a process sends, and the efficiency of each model in per cent.
"""
import argparse
import json
import struct

LINE, PIECE, VERDICT, COMMAND, NORM_PIECE = 64, 1 << 22, 430, 440, 1 << 16


def read_sizes(path):
    """The numbers in each tensor of a safetensors file, in the file's order."""
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    sizes = []
    for name, entry in head.items():
        if name != "__metadata__":
            n = 1
            for length in entry["shape"]:
                n *= length
            sizes.append(n)
    return sizes


def find_segments(sizes, ranks, divided):
    """The bytes of which each rank ends with the sum."""
    if not divided:
        return [4 * sum(sizes) / ranks] * ranks
    own = [0] * ranks
    for n in sorted(sizes, reverse=True):
        own[own.index(min(own))] += 4 * n
    return own


class Network:
    """Each rank's clock; a message costs an overhead at either end and time for each byte."""

    def __init__(self, ranks, overhead, per_byte, in_turns):
        self.clock, self.overhead, self.per_byte, self.in_turns = [0.0] * ranks, overhead, per_byte, in_turns
        self.sent, self.messages = [0.0] * ranks, [0] * ranks

    def exchange(self, bit, sends, piece=None):
        """All pairs whose numbers differ in a bit send each other what `sends` says, in pieces."""
        for r, clock in enumerate(self.clock):
            other = r ^ bit
            if r > other:
                continue
            left, right = sends[r], sends[other]
            while left + right > 0:
                out, back = min(left, piece or left), min(right, piece or right)
                self.exchange_piece(r, other, out, back)
                left, right = left - out, right - back

    def exchange_piece(self, r, other, out, back):
        o, clock = self.overhead, self.clock
        sent = clock[r] + (o + out * self.per_byte if out else 0)
        received = max(clock[other], sent) + o if out else clock[other]
        returned = (received if self.in_turns else clock[other]) + (o + back * self.per_byte if back else 0)
        clock[r] = max(sent, returned) + o if back else sent
        clock[other] = returned if self.in_turns else max(returned, received)
        for rank, n in ((r, out), (other, back)):
            self.sent[rank] += n
            self.messages[rank] += n > 0


def predict(sizes, ranks, overhead, per_byte, divided=False, in_turns=False):
    """The network after a step that computes nothing."""
    net = Network(ranks, overhead, per_byte, in_turns)
    own, head = find_segments(sizes, ranks, divided), [VERDICT + len(sizes)] * ranks
    squares = [8 * sum(-(-n // NORM_PIECE) for n in sizes)] * ranks
    bits = [1 << k for k in range(ranks.bit_length() - 1)]
    # at each level the sums of the ranks that agree in the bits below
    ranges = [own]
    for bit in reversed(bits):
        ranges.append([n + ranges[-1][r ^ bit] for r, n in enumerate(ranges[-1])])
    ranges.reverse()  # ranges[k]: before level k
    for k, bit in enumerate(bits):
        net.exchange(bit, head)
        net.exchange(bit, [ranges[k + 1][r ^ bit] for r in range(ranks)], PIECE)
    for bit in bits if divided else []:
        net.exchange(bit, head)
        net.exchange(bit, squares)
    for k, bit in reversed(list(enumerate(bits))):
        net.exchange(bit, head)
        net.exchange(bit, ranges[k + 1])
    order = len(bits) * (2 * overhead + COMMAND * per_byte)  # to take the step
    net.clock = [c + order for c in net.clock]
    return net


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shard-optimizer", action="store_true")
    parser.add_argument("--in-turns", action="store_true", help="a communicator without exchange")
    parser.add_argument("--overhead", type=float, default=5e-6, help="seconds at either end of a message")
    parser.add_argument("--gbits", default="10,100,400")
    parser.add_argument("--ranks", default="2,4,8,16,64,256,1024")
    parser.add_argument("--seconds", action="store_true", help="the time of messages in place of the efficiency")
    parser.add_argument("model", nargs="+")
    a = parser.parse_args()
    models = [(float(m.split("=", 1)[0]), read_sizes(m.split("=", 1)[1])) for m in a.model]
    speeds = [float(g) for g in a.gbits.split(",")]
    print("| R | messages | MB sent | " + " | ".join(f"{g:g} Gbit/s" for g in speeds) + " |")
    print("| --- | --- | --- |" + " --- |" * len(speeds))
    for ranks in map(int, a.ranks.split(",")):
        cells = []
        for g in speeds:
            nets = [predict(sizes, ranks, a.overhead, 8e-9 / g, a.shard_optimizer, a.in_turns) for _, sizes in models]
            times = [max(n.clock) for n in nets]
            cells.append(", ".join(f"{t:.4g}" if a.seconds else f"{100 * c / (c + t):.1f}"
                                   for t, (c, _) in zip(times, models)))
        print(f"| {ranks:,} | {max(nets[0].messages)} | {max(nets[0].sent) / 1e6:.1f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
