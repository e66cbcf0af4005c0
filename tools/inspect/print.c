/* tools/inspect/print.c: the numbers as tables. */
#include <math.h>

#include "tools/inspect/inspect.h"

double inspect_value(const json_t *number)
{
    return json_is_number(number) ? json_number_value(number) : NAN;
}

void inspect_print_number(int width, int digits, double value)
{
    if (isfinite(value)) {
        cli_print("%*.*f", width, digits, value);
    } else {
        cli_print("%*s", width, "-");
    }
}

/* 0 stands for planes that have no relations, or pairs without a plane: rounding leaves all others some residual. */
static void print_residual(const json_t *residual)
{
    double value = inspect_value(residual);
    if (value > 0) {
        cli_print("%10.1e", value);
    } else {
        cli_print("%10s", "-");
    }
}

/* ---- attention: a line for each head ---- */

static void print_head(const inspection *in, int64_t l, int64_t h, bool swarm)
{
    cli_print("%5lld  %-11s %4lld", (long long)l, inspect_text(in, l, "mixing", 0), (long long)h);
    inspect_print_number(9, 3, inspect_number(in, l, "entropy", h));
    inspect_print_number(10, 2, inspect_number(in, l, "distance", h));
    inspect_print_number(7, 3, inspect_number(in, l, "self", h));
    if (swarm) {
        inspect_print_number(10, 4, inspect_number(in, l, "omega_align", h));
        inspect_print_number(9, 4, inspect_number(in, l, "omega_sep", h));
        inspect_print_number(9, 4, inspect_number(in, l, "omega_coh", h));
        inspect_print_number(9, 3, inspect_number(in, l, "size_base", h));
        inspect_print_number(9, 3, inspect_number(in, l, "pushed", h));
        cli_print("  %s", inspect_text(in, l, "dominant", h));
    }
    putchar('\n');
}

static void print_heads(const inspection *in)
{
    bool any = false, swarm = false;
    for (int64_t l = 0; l < in->layers; l++) {
        any = any || inspect_heads(in, l) > 0;
        swarm = swarm || inspect_has_omega(in, l);
    }
    if (!any) {
        return;
    }
    cli_print("\nattention: entropy in nats, mean distance |i - j|, share on the token itself%s\n",
              swarm
                  ? ";\nomega of each bias, size of S base (rms), share of the pairs that separation pushes below the "
                    "threshold, the bias that weighs most"
                  : "");
    cli_print("layer  mixing      head  entropy  distance   self%s\n",
              swarm ? "   w align    w sep    w coh   S base   pushed  most" : "");
    for (int64_t l = 0; l < in->layers; l++) {
        for (int64_t h = 0; h < inspect_heads(in, l); h++) {
            print_head(in, l, h, swarm);
        }
    }
}

/* ---- planes: a line for each pair, and one for each layer ---- */

static void print_pairs(const inspection *in, int64_t l)
{
    json_t *pairs = inspect_member(in, l, "pairs"), *pair;
    size_t i;
    json_array_foreach(pairs, i, pair) {
        json_t *angles = json_object_get(pair, "next_angles");
        cli_print("%5lld  %-8s", (long long)l, json_string_value(json_object_get(pair, "pair")));
        print_residual(json_object_get(pair, "residual_max"));
        print_residual(json_object_get(pair, "residual_rms"));
        for (size_t a = 0; a < 2; a++) {
            inspect_print_number(9, 1, inspect_value(json_array_get(angles, a)));
        }
        putchar('\n');
    }
}

static void print_layer(const inspection *in, int64_t l)
{
    json_t *gate = inspect_member(in, l, "gate");
    json_t *quantiles = json_object_get(gate, "quantiles_5_25_50_75_95"), *quantile;
    size_t i;
    cli_print("%5lld", (long long)l);
    inspect_print_number(8, 3, inspect_value(json_object_get(gate, "mean")));
    json_array_foreach(quantiles, i, quantile) {
        inspect_print_number(7, 3, inspect_value(quantile));
    }
    inspect_print_number(12, 3, inspect_number(in, l, "mean_share", 0));
    inspect_print_number(11, 1, inspect_number(in, l, "angles_to_layer_below", 0));
    inspect_print_number(9, 1, inspect_number(in, l, "angles_to_layer_below", 1));
    putchar('\n');
}

static void print_planes(const inspection *in)
{
    bool begun = false;
    for (int64_t l = 0; l < in->layers; l++) {
        if (inspect_has_planes(in, l) && !begun) {
            puts("\nplanes: residual of the Pluecker relations, mean principal angles to the next token's plane "
                 "(degrees)");
            puts("layer  pair       res max   res rms  theta 1  theta 2");
            begun = true;
        }
        print_pairs(in, l);
    }
}

static void print_gates(const inspection *in)
{
    bool begun = false;
    for (int64_t l = 0; l < in->layers; l++) {
        if (!inspect_member(in, l, "gate")) {
            continue;
        }
        if (!begun) {
            puts("\ngate: share of h, its quantiles; what the mean plane has of all (1: they are one); angles to the "
                 "layer below");
            puts("layer    mean     5%    25%    50%    75%    95%  mean plane    theta 1  theta 2");
            begun = true;
        }
        print_layer(in, l);
    }
}

void inspect_print(const inspection *in)
{
    cli_print("%lld token%s:", (long long)in->tokens.n, in->tokens.n == 1 ? "" : "s");
    for (int64_t i = 0; i < in->tokens.n && i < 24; i++) {
        cli_print(" %s", in->tokens.texts[i]);
    }
    puts(in->tokens.n > 24 ? " ..." : "");
    print_heads(in);
    print_planes(in);
    print_gates(in);
    inspect_print_paths(in);
}
