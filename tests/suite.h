/* tests/suite.h: how a suite is run. */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

/* Whether sweeps that run the same code again and again are to be whole, as tests/house/sweeps.sh has them. */
static inline bool in_full(void)
{
    return getenv("ASCGRAD_FULL") != NULL;
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
