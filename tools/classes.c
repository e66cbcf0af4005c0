/* tools/classes.c: see classes.h. */
#include "tools/classes.h"

#include "tools/cli.h"

json_t *classes_names(const asc_dataset *data)
{
    json_t *names = json_array();
    const char *name;
    for (int32_t i = 0; (name = asc_dataset_class(data, i)); i++) {
        json_array_append_new(names, cli_json_string(name));
    }
    return names;
}

json_t *classes_confusion(const int64_t *confusion, int64_t n)
{
    json_t *rows = json_array();
    for (int64_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (int64_t j = 0; j < n; j++) {
            json_array_append_new(row, json_integer((json_int_t)confusion[i * n + j]));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

void classes_print(const json_t *names, const int64_t *confusion, int64_t n)
{
    cli_print("of each class, how many were taken for which:\n");
    for (int64_t i = 0; i < n; i++) {
        cli_print("%16s", json_string_value(json_array_get(names, (size_t)i)));
        for (int64_t j = 0; j < n; j++) {
            cli_print(" %7lld", (long long)confusion[i * n + j]);
        }
        cli_print("\n");
    }
}
