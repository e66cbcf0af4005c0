#!/bin/sh
# ascgrad gradcheck --plugin, bench ops --plugin: ops from a shared object, and clear words for a wrong one.
. "$abs_top_srcdir/tests/program.sh"
example=$abs_top_srcdir/examples/my_op.c

# build NAME [FLAG...]: NAME.so of NAME.c, which need not be linked with the library. Only the first may fail to be.
build() {
    name=$1
    shift
    # shellcheck disable=SC2086  # CC may hold flags
    $CC -std=c11 -shared -fPIC -I"$abs_top_srcdir/include" "$@" "$name.c" -o "$name.so" 2>build.err && return
    cat build.err
    [ "$name" = good ] || { fail "$name.c does not compile"; return; }
    echo "skipped: needs a compiler that makes shared objects"
    exit 77
}

cp "$example" good.c
build good
status 0 "$ASCGRAD" gradcheck --plugin good.so
lines out 1
has out '^x_log_x .* ok, .* digits, .* elements'
status 0 "$ASCGRAD" gradcheck --plugin "$PWD/good.so" x_log_x tanh
lines out 2
status 2 "$ASCGRAD" gradcheck --plugin good.so x_log_y
has err "^ascgrad gradcheck: unknown op 'x_log_y'; did you mean 'x_log_x'?$"
status 2 "$ASCGRAD" gradcheck --plugin good.so quaternion
has err "^ascgrad gradcheck: unknown op 'quaternion'; the plugin has x_log_x; ascgrad info --ops lists the library's$"
status 2 "$ASCGRAD" bench ops --plugin good.so x_log_y
has err "^ascgrad bench ops: unknown op 'x_log_y'; did you mean 'x_log_x'?$"
status 0 "$ASCGRAD" gradcheck --plugin ./good.so --mutants
has out '^x_log_x .* 1/1 '
status 0 "$ASCGRAD" gradcheck --plugin good.so --json
has out '"op": "x_log_x", "passed": true'
status 0 "$ASCGRAD" bench ops --plugin good.so --seconds 0
has out '^x_log_x .* % memory .* (32,128,1024)$'
sed 's/\.bench = &large,//' "$example" >untimed.c
build untimed
status 2 "$ASCGRAD" bench ops --plugin untimed.so --seconds 0 x_log_x
has err '^ascgrad bench ops: x_log_x: its descriptor has no call to time (`bench`)$'
sed 's/x_log_x/xlogx/g' "$example" >second.c
build second
status 0 "$ASCGRAD" bench ops --plugin untimed.so --plugin second.so --seconds 0
has out '^x_log_x  *skipped: its descriptor has no call to time (`bench`)$'
has out '^xlogx .* % memory '
status 0 "$ASCGRAD" bench ops --plugin untimed.so --plugin second.so --seconds 0 --json
has out '"op": "x_log_x", "skipped": "skipped: .*"op": "xlogx", "inputs"'

# in C++
if [ -n "${CXX-}" ]; then
    cat >cxx.cc <<'EOF'
#include <ascgrad/op.h>
static asc_status infer(asc_call *c) { return asc_call_output(c, 0, c->in[0].dtype, c->in[0].ndim, c->in[0].shape); }
static asc_status forward(asc_call *) { return ASC_OK; }
const asc_op *const *asc_plugin_ops(unsigned abi)
{
    static asc_sample sample{};
    sample.in[0].kind = 'f';
    static asc_op op{};
    op.abi = ASC_OP_ABI, op.name = "cxx", op.equation = "y = 0", op.inputs = "x", op.n_out = 1;
    op.infer = infer, op.forward = forward, op.samples = &sample, op.n_samples = 1;
    static const asc_op *const ops[] = {&op, nullptr};
    return abi == ASC_OP_ABI ? ops : nullptr;
}
EOF
    # shellcheck disable=SC2086  # CXX may hold flags
    $CXX -std=c++11 -shared -fPIC -fvisibility=hidden -I"$abs_top_srcdir/include" cxx.cc -o cxx.so || fail 'cxx.cc'
    status 0 "$ASCGRAD" gradcheck --plugin cxx.so
    has out '^cxx '
fi

# of several
status 0 "$ASCGRAD" gradcheck --plugin good.so --plugin ./second.so
lines out 2
has out '^x_log_x .* ok, '
has out '^xlogx .* ok, '
status 2 "$ASCGRAD" gradcheck --plugin good.so --plugin=second.so quaternion
has err 'the plugin has x_log_x, xlogx; '
status 2 "$ASCGRAD" gradcheck --plugin good.so --plugin "$PWD/good.so"
has err '^ascgrad gradcheck: .*/good.so: .*there is an op of this name'
status 3 "$ASCGRAD" bench ops --plugin second.so --plugin none.so
has err '^ascgrad bench ops: none.so: cannot be loaded: '
status 0 "$ASCGRAD" bench ops --plugin good.so --plugin second.so --seconds 0 --json
has out '"op": "x_log_x".*"op": "xlogx"'

# an op whose gradient is wrong
sed 's/(1 + log(/(1.001 + log(/' "$example" >wrong.c
build wrong
status 1 "$ASCGRAD" gradcheck --plugin wrong.so
has out '^x_log_x .* FAIL  sample 0, differences: x\[0, 0\] analytic .* numeric .* bound '

# |x - 1|, at 1: 15 elements and 1, and 5 and 3 of the variants of length 1
sed -e 's/get(&call->in\[0\], i) \* log(get(&call->in\[0\], i))/fabs(get(\&call->in[0], i) - 1)/' \
    -e 's/(1 + log(get(&call->in\[0\], i)))/0.5/' -e 's/\.lo = \.1, \.hi = 4/.lo = 1, .hi = 1/' "$example" >kink.c
build kink
status 0 "$ASCGRAD" gradcheck --plugin kink.so
has out '^x_log_x .* ok, .*, 24 kinks'
status 0 "$ASCGRAD" gradcheck --plugin kink.so --json
has out '"kinks": 24.*"kink": {"sample": 0,'

# wild NAME STATUS LINE SED [OPTION...]: an op with this change is checked: the exit status, and its line.
wild() {
    sed "$4" "$example" >"$1.c"
    build "$1" -D_GNU_SOURCE
    name=$1 wanted_status=$2 line=$3
    shift 4
    status "$wanted_status" "$ASCGRAD" gradcheck --plugin "$name.so" "$@"
    has out "$line"
}
loop='for (int64_t i = 0; i < call->in\[0\].numel; i++) {'
if [ -z "${ASCGRAD_SANITIZED-}" ]; then # which has its own way to end
wild segfault 1 '^x_log_x  *FAIL  ended by signal 11, ' "s/$loop/*(volatile int *)8 = 1; &/"
has err '^ascgrad gradcheck: segfault.so: x_log_x: ended by signal 11, .* while it was checked$'
status 1 "$ASCGRAD" gradcheck --plugin segfault.so x_log_x tanh
lines out 2
has out '^tanh .* ok, '
status 1 "$ASCGRAD" gradcheck --plugin segfault.so --json
has out '"op": "x_log_x", "passed": false, "error": "ended by signal 11'
status 1 "$ASCGRAD" bench ops --plugin segfault.so --plugin second.so --seconds 0
has err '^ascgrad bench ops: segfault.so: x_log_x: ended by signal 11, .* while it was timed$'
has out '^x_log_x  *ended by signal 11, '
has out '^xlogx .* % memory '
lines out 6
status 1 "$ASCGRAD" bench ops --plugin segfault.so --seconds 0 --json
has out '"op": "x_log_x", "error": "ended by signal 11'
fi
sed "s/$loop/if (call->in[0].numel > 0) { return asc_call_fail(call, \"not today\"); } &/" "$example" >fails.c
build fails
status 1 "$ASCGRAD" bench ops --plugin fails.so --plugin second.so --seconds 0
has err '^ascgrad bench ops: x_log_x: not today$'
has out '^x_log_x  *fails: its message stands on standard error$'
has out '^xlogx .* % memory '
wild aborts 1 '^x_log_x  *FAIL  ended by signal 6, ' "s/$loop/extern void abort(void); abort(); &/"
wild leaves 1 '^x_log_x  *FAIL  ended the process, exit status 0$' "s/$loop/extern void exit(int); exit(0); &/"
wild endless 1 '^x_log_x  *FAIL  no sign for 0.5 s$' "s/$loop/for (volatile int k = 1; k;) { } &/" --limit 0.5
wild noisy 0 '^x_log_x .* ok, ' "s/$loop/puts(\"garbage\"); &/"
lines out 1
has err '^garbage$'
wild beyond 1 '^x_log_x  *FAIL ' 's/put(&call->out\[0\], i, /put(\&call->out[0], i + 1, /'
has err '^ascgrad gradcheck: x_log_x: forward writes out of bounds, behind output 0, f64 (3, 5)$'

# refused NAME WORDS [STATUS]: exit status 2, and a message with these words and the file's name.
refused() {
    status "${3-2}" "$ASCGRAD" gradcheck --plugin "$1"
    has err "^ascgrad gradcheck: $1: .*$2"
    lines err 1
    lines out 0
}

refused missing.so 'cannot be loaded: .*[Nn]o such file' 3
echo 'not a shared object' >text.so
refused text.so 'cannot be loaded: ' 3
head -c 300 good.so >cut.so
refused cut.so 'cannot be loaded: ' 3
: >empty.so
refused empty.so 'cannot be loaded: ' 3
mkdir folder.so
refused folder.so 'cannot be loaded: ' 3
echo 'int other;' >none.c
build none
refused none.so 'exports no function asc_plugin_ops'
echo 'extern int nowhere(void); int asc_plugin_ops(void) { return nowhere(); }' >unresolved.c
build unresolved
refused unresolved.so 'cannot be loaded: .*nowhere' 3

# changed NAME SED WORDS: the example with this change is refused.
changed() {
    sed "$2" "$example" >"$1.c"
    build "$1"
    refused "$1.so" "$3"
}
returns='s/return abi == ASC_OP_ABI ? ops : NULL/return'
changed other_abi "$returns abi == 2 ? ops : NULL/" 'has ops for ABI 2, expected ABI 3: compile it anew'
changed no_abi "$returns NULL/" 'has no ops for ABI 3: compile it anew'
changed old_op 's/\.abi = ASC_OP_ABI/.abi = 7/' 'the op has ABI 7, expected 3'
changed no_ops 's/{&x_log_x, NULL}/{NULL}/' 'has no ops$'
changed no_infer 's/\.infer = infer, //' 'x_log_x: name, equation, inputs, infer and forward are needed'
changed taken 's/"x_log_x"/"tanh"/' 'tanh: there is an op of this name'
changed no_samples 's/\.n_samples = 2/.n_samples = 0/' 'x_log_x: no samples'
changed null_samples 's/\.samples = samples, //' 'x_log_x: n_samples is 2, samples is NULL'
changed dies 's/return abi == ASC_OP_ABI/extern void abort(void); abort(); &/' \
    'ended by signal 6, .* while it was loaded'
changed no_outputs 's/\.n_out = 1/.n_out = 0/' 'x_log_x: 1 inputs, 0 outputs'
exit $failed
