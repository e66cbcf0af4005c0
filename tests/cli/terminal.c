/* tests/cli/terminal.c: runs a command with a terminal as its standard error, and copies what comes there to stdout.
 *
 *     terminal COLUMNS NARROWER INTERRUPTS COMMAND...
 *
 * After the third redrawing the terminal becomes NARROWER columns wide, unless that is 0; after the second Ctrl-C is
 * typed, INTERRUPTS times, a fifth of a second apart. The exit status is the command's; 99: there is no terminal. */
#define _XOPEN_SOURCE 600
#define _DEFAULT_SOURCE
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
    int narrower = atoi(argv[2]), interrupts = atoi(argv[3]), redrawn = 0;
    char part[4096];
    for (ssize_t n; (n = read(master, part, sizeof part)) > 0;) {
        fwrite(part, 1, (size_t)n, stdout);
        for (ssize_t i = 0; i + 3 < n; i++) {
            redrawn += memcmp(part + i, "\033[J\r", 4) == 0;
        }
        if (narrower > 0 && redrawn >= 3) {
            set_width(master, narrower);
            narrower = 0;
        }
        for (; interrupts > 0 && redrawn >= 2; interrupts--) {
            if (write(master, "\003", 1) != 1) {
                break;
            }
            usleep(200000);
        }
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
