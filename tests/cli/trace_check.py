"""Checks a trace as a viewer reads it: python3 trace_check.py FILE STEPS. Events nest: calls in a phase, that in a
step."""
import json
import sys

trace = json.load(open(sys.argv[1]))
steps = int(sys.argv[2])
events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
names = {e["name"]: e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"}
assert set(names) == {"process_name", "thread_name"}, names
assert trace["displayTimeUnit"] == "ms"

open_ends, parents, seen = [], [], {}
last = 0.0
for e in events:
    begin, end = e["ts"], round(e["ts"] + e["dur"], 3)
    assert e["dur"] >= 0 and begin >= last, e  # sorted, the outer one first
    last = begin
    while open_ends and open_ends[-1] <= begin:
        open_ends.pop()
        parents.pop()
    assert not open_ends or end <= open_ends[-1], ("not within its outer event", e)
    path = parents + [e["name"].split()[0] + " again" * (e["cat"] == "again")]
    seen[tuple(path)] = seen.get(tuple(path), 0) + 1
    if e["cat"] != "phase":
        assert path[-2] in ("forward", "backward") and path[-3] == "step", path
        assert e["args"]["shapes"].count("->") == 1 and e["args"]["label"], e
        assert e["args"].get("gflops", 1) > 0 and e["args"].get("gb_per_s", 1) > 0, e
    assert 0 <= e["args"]["busy"] < 1.01, e
    open_ends.append(end)
    parents.append(path[-1])



def count(*end):
    return sum(n for path, n in seen.items() if path[-len(end):] == end)


assert count("step") == steps, (steps, seen)
for phase in ("data", "forward", "backward", "clip", "optimiser"):
    assert count("step", phase) == steps, (phase, seen)
assert count("forward", "linear") == count("backward", "linear") >= steps, seen

profile = trace["profile"]
assert profile["step_seconds"] <= profile["seconds"]
assert sum(r["seconds"] for r in profile["phases"]) <= profile["seconds"]
assert sum(r["seconds"] for r in profile["ops"]) <= profile["step_seconds"]
for table in ("phases", "parts", "ops"):
    times = [r["seconds"] for r in profile[table]]
    assert times == sorted(times, reverse=True), table
print(profile["steps"])
