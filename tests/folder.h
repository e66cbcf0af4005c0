/* tests/folder.h: a folder of the test's own for its files. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

/* What is written atomically waits for the disk each time: memory is faster. */
static void make_folder(void)
{
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/ascgrad-test-XXXXXX" : "/tmp/ascgrad-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

/* Removes a file, or a folder and all in it. */
static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char name[512];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            remove_tree(name);
        }
    }
    if (dir) {
        closedir(dir);
    }
    remove(path);
}

#endif
