/* tests/suite.h: how a suite is run. */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

/* Whether long sweeps are to be cut short: under sanitizers and valgrind; a plain `make check` has all of them. */
static inline bool thinned(void)
{
    return getenv("ASCGRAD_THIN") != NULL;
}

/* Runs the test cases and frees them; what main returns. A test that takes two minutes hangs. */
#define run_suite(name, ...) run_cases(name, (TCase *const[]){__VA_ARGS__, NULL})

static inline int run_cases(const char *name, TCase *const *cases)
{
    Suite *suite = suite_create(name);
    for (; *cases; cases++) {
        tcase_set_timeout(*cases, 120);
        suite_add_tcase(suite, *cases);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
