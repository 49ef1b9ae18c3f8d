/* Refuses every file lock with ENOLCK, as NFS does without its lock daemon. Preload the library with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int refuse_lock(const char *name, int descriptor, int command, void *argument) {
  if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK) {
    errno = ENOLCK;
    return -1;
  }
  return ((int (*)(int, int, void *))dlsym(RTLD_NEXT, name))(descriptor, command, argument);
}

#define REFUSE_LOCKS_OF(name) \
  int name(int descriptor, int command, ...) { \
    va_list arguments; \
    va_start(arguments, command); \
    void *argument = va_arg(arguments, void *); \
    va_end(arguments); \
    return refuse_lock(#name, descriptor, command, argument); \
  }

REFUSE_LOCKS_OF(fcntl)
REFUSE_LOCKS_OF(fcntl64)
