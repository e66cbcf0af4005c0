/* tests/cli/terminal.c: runs a command with a terminal as its standard error, and copies what comes there to stdout.
 *
 *     terminal COLUMNS [SEEN DEED]... -- COMMAND...
 *
 * Once SEEN has come, and DEED is ^C, Ctrl-C is typed; else DEED is the width that the terminal has from then on. What
 * is to be seen is waited for one after another. The exit status is the command's; 99: there is no terminal. */
#define _XOPEN_SOURCE 600
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static void set_width(int fd, int columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    if (ioctl(fd, TIOCSWINSZ, &size)) {
        exit(99);
    }
}

static void run(const char *name, char **command)
{
    setsid();
    int fd = open(name, O_RDWR);
    if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) || dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0) {
        _exit(99);
    }
    int out = open("terminal.out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, STDOUT_FILENO);
    execvp(command[0], command);
    _exit(99);
}

/* A byte has come: whether the last ones that have are the text. They begin anew where they are. */
static bool have_seen(const char *text, int byte)
{
    enum { LONGEST = 64 };
    static char last[LONGEST];
    size_t n = strlen(text);
    memmove(last, last + 1, LONGEST - 1);
    last[LONGEST - 1] = (char)byte;
    if (n > LONGEST || memcmp(last + LONGEST - n, text, n) != 0) {
        return false;
    }
    memset(last, 0, LONGEST);
    return true;
}

static void act(int master, const char *deed)
{
    if (strcmp(deed, "^C") != 0) {
        set_width(master, atoi(deed));
    } else if (write(master, "\003", 1) != 1) {
        exit(99);
    }
}

int main(int argc, char **argv)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), command = 2;
    while (command + 2 < argc && strcmp(argv[command], "--") != 0) {
        command += 2;
    }
    if (command + 1 >= argc || master < 0 || grantpt(master) || unlockpt(master)) {
        return 99;
    }
    char name[100];
    snprintf(name, sizeof name, "%s", ptsname(master));
    set_width(master, atoi(argv[1]));
    pid_t child = fork();
    if (child == 0) {
        close(master);
        run(name, argv + command + 1);
    }
    char **next = argv + 2, part[4096];
    for (ssize_t n; (n = read(master, part, sizeof part)) > 0;) {
        fwrite(part, 1, (size_t)n, stdout);
        for (ssize_t i = 0; i < n; i++) {
            if (next < argv + command && have_seen(next[0], part[i])) {
                act(master, next[1]);
                next += 2;
            }
        }
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
