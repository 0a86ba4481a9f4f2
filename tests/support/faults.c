/* Faults at system calls, for `support/system_faults.py`: what a process writes, syncs, renames or truncates
   below FAULT_FOLDER, or sends to port FAULT_PORT, is counted. From the FAULT_AT-th on, FAULT_LENGTH of them meet
   FAULT_KIND: full, failing, torn, kill or torn-kill. FAULT_LOG gets a line for each. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int seen;

static int below(const char *path) {
    const char *folder = getenv("FAULT_FOLDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int named(const char *path) {
    char folder[4096];
    if (!path || path[0] == '/') return below(path);
    return getcwd(folder, sizeof folder) && below(folder);
}

static int ours(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static int to_port(int file) {
    const char *port = getenv("FAULT_PORT");
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    if (!port || getpeername(file, (struct sockaddr *)&at, &size) || at.ss_family != AF_INET) return 0;
    return ntohs(((struct sockaddr_in *)&at)->sin_port) == atoi(port);
}

static void note(const char *kind, const char *call) {
    const char *log = getenv("FAULT_LOG");
    char line[128];
    if (!log) return;
    int length = snprintf(line, sizeof line, "%d %s at %s\n", seen, kind, call);
    long file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file >= 0) {
        syscall(SYS_write, file, line, length);
        syscall(SYS_close, file);
    }
}

/* 0: go on; 1: it fails, errno is set; 2: a part of it, then it fails; 3: a part of it, then the end. */
static int fault(const char *call) {
    const char *kind = getenv("FAULT_KIND"), *at = getenv("FAULT_AT"), *length = getenv("FAULT_LENGTH");
    if (!kind || !at) return 0;
    int number = __sync_add_and_fetch(&seen, 1), first = atoi(at);
    if (number < first || number >= first + (length ? atoi(length) : 1)) return 0;
    note(kind, call);
    if (!strcmp(kind, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(kind, "torn-kill")) return 3;
    errno = strcmp(kind, "failing") ? ENOSPC : EIO;
    return strcmp(kind, "torn") ? 1 : 2;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define WRITING(name, parameters, part, whole)                                                                 \
    ssize_t name parameters {                                                                                  \
        int what = ours(file) ? fault(#name) : 0, kept;                                                        \
        if (what >= 2 && size > 1) {                                                                           \
            kept = errno;                                                                                      \
            part;                                                                                              \
            errno = kept;                                                                                      \
        }                                                                                                      \
        if (what == 3) kill(getpid(), SIGKILL);                                                                \
        if (what) return -1;                                                                                   \
        return whole;                                                                                          \
    }

WRITING(write, (int file, const void *text, size_t size), REAL(write)(file, text, size / 2),
        REAL(write)(file, text, size))
WRITING(pwrite, (int file, const void *text, size_t size, off_t at), REAL(pwrite)(file, text, size / 2, at),
        REAL(pwrite)(file, text, size, at))
WRITING(pwrite64, (int file, const void *text, size_t size, off64_t at),
        REAL(pwrite64)(file, text, size / 2, at), REAL(pwrite64)(file, text, size, at))

#define CHANGING(name, parameters, mine, whole)                                                                \
    int name parameters {                                                                                      \
        int what = mine ? fault(#name) : 0;                                                                    \
        if (what == 3) kill(getpid(), SIGKILL);                                                                \
        if (what) return -1;                                                                                   \
        return whole;                                                                                          \
    }

CHANGING(fsync, (int file), ours(file), REAL(fsync)(file))
CHANGING(fdatasync, (int file), ours(file), REAL(fdatasync)(file))
CHANGING(ftruncate, (int file, off_t size), ours(file), REAL(ftruncate)(file, size))
CHANGING(ftruncate64, (int file, off64_t size), ours(file), REAL(ftruncate64)(file, size))
CHANGING(rename, (const char *from, const char *to), named(to), REAL(rename)(from, to))
CHANGING(renameat, (int a, const char *from, int b, const char *to), named(to), REAL(renameat)(a, from, b, to))
CHANGING(mkdir, (const char *path, mode_t mode), named(path), REAL(mkdir)(path, mode))

ssize_t send(int file, const void *text, size_t size, int flags) {
    int what = to_port(file) ? fault("send") : 0;
    if (what >= 2 && size > 1) REAL(send)(file, text, size / 2, flags);
    if (what == 3) kill(getpid(), SIGKILL);
    if (what) {
        shutdown(file, SHUT_RDWR);
        errno = EPIPE;
        return -1;
    }
    return REAL(send)(file, text, size, flags);
}
