/* Refuses every lock of a file with ENOLCK, as an NFS without its lock daemon. Preload it with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int without_locks(const char *name, int descriptor, int command, void *argument) {
  if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK) {
    errno = ENOLCK;
    return -1;
  }
  return ((int (*)(int, int, void *))dlsym(RTLD_NEXT, name))(descriptor, command, argument);
}

#define WITHOUT_LOCKS(name) \
  int name(int descriptor, int command, ...) { \
    va_list arguments; \
    va_start(arguments, command); \
    void *argument = va_arg(arguments, void *); \
    va_end(arguments); \
    return without_locks(#name, descriptor, command, argument); \
  }

WITHOUT_LOCKS(fcntl)
WITHOUT_LOCKS(fcntl64)
