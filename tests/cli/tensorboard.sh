#!/bin/sh
# ascgrad train --tensorboard: TensorBoard itself reads the file, also of a run that was killed and resumed; it has what
# metrics.jsonl has, once. PYTHON names a Python that has tensorboard.
. "$abs_top_srcdir/tests/program.sh"
have_python tensorboard || { left_out "no Python with tensorboard"; exit 77; }

status 0 "$ASCGRAD" train $tiny --out runs/whole --tensorboard
# shellcheck disable=SC2086  # $tiny is a list of options
"$ASCGRAD" train $tiny --steps 1000000 --schedule-steps 60 --eval-every 20 --out runs/killed --tensorboard 2>err &
program=$!
tries=0
metrics=runs/killed/metrics.jsonl
until { [ -f $metrics ] && [ "$(wc -l <$metrics)" -ge 9 ]; } || [ $tries -gt 500 ]; do
    tries=$((tries + 1))
    sleep 0.02
done
kill -9 $program
wait $program 2>/dev/null
status 0 "$ASCGRAD" train --out runs/killed --resume --steps 400

"$python" - runs/whole/tensorboard runs/killed/tensorboard <<'END' || fail 'TensorBoard reads something else'
import json, struct, sys
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
f32 = lambda x: struct.unpack("f", struct.pack("f", x))[0]
runs = EventMultiplexer()
runs.AddRunsFromDirectory("runs")
runs.Reload()
assert sorted(runs.Runs()) == ["killed/tensorboard", "whole/tensorboard"], runs.Runs()
for name, tags in runs.Runs().items():
    lines = [json.loads(line) for line in open("runs/" + name.split("/")[0] + "/metrics.jsonl")]
    wanted = {"loss", "lr", "grad_norm", "tokens_per_s", "valid_loss", "valid_ppl", "valid_bits_per_byte"}
    assert set(tags["scalars"]) == wanted, tags
    for tag in wanted:
        got = [(e.step, e.value) for e in runs.Scalars(name, tag)]
        assert got == [(line["step"], f32(line[tag])) for line in lines if tag in line], (name, tag, got)
    walls = [e.wall_time for e in runs.Scalars(name, "loss")]
    assert walls == sorted(walls) and walls[0] > 1.7e9
END
exit $failed
