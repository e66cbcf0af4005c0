/* tests/cli/terminal.c: runs a command with a terminal as its standard error, and copies what comes there to stdout.
 *
 *     terminal COLUMNS NARROWER INTERRUPTS COMMAND...
 *
 * After the third redrawing the terminal becomes NARROWER columns wide, unless that is 0. After the fifth Ctrl-C is
 * typed, if INTERRUPTS is not 0; again, if it is 2, as soon as the command has answered. It does nothing by the clock,
 * so that it sees the same on a machine of any speed. The exit status is the command's; 99: there is no terminal. */
#define _GNU_SOURCE
#include <fcntl.h>
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

static char seen[1 << 24];

/* How often TEXT stands in what has been seen. */
static int count(const char *text)
{
    int n = 0;
    for (const char *at = seen; (at = strstr(at, text)); at++) {
        n++;
    }
    return n;
}

static void watch(int master, int narrower, int interrupts)
{
    int typed = 0;
    size_t n = 0;
    for (ssize_t more; (more = read(master, seen + n, sizeof seen - 1 - n)) > 0; n += (size_t)more) {
        fwrite(seen + n, 1, (size_t)more, stdout);
        int redrawn = count("\033[J\r");
        if (narrower > 0 && redrawn >= 3) {
            set_width(master, narrower);
            narrower = 0;
        }
        if (typed < interrupts && (typed == 0 ? redrawn >= 5 : count("a second interrupt") > 0)) {
            typed += write(master, "\003", 1) == 1;
        }
    }
}

int main(int argc, char **argv)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (argc < 5 || master < 0 || grantpt(master) || unlockpt(master)) {
        return 99;
    }
    char name[100];
    snprintf(name, sizeof name, "%s", ptsname(master));
    set_width(master, atoi(argv[1]));
    pid_t child = fork();
    if (child == 0) {
        close(master);
        run(name, argv + 4);
    }
    watch(master, atoi(argv[2]), atoi(argv[3]));
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
