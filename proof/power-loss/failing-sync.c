/* Makes one sync of a file fail: the FAIL_AT-th fsync or fdatasync of the file FAIL_FILE by this process. Compile this
 * file with -shared -fPIC, and preload the library with LD_PRELOAD.
 *
 * Linux reports the error of a failed write-back once to each open file description (the kernel's record of one open)
 * that exists at this moment, and not to later ones. This library does the same: the next sync of each description
 * fails. strace shows each failed sync as a sync_file_range that the kernel refuses. Its offset is 0 for the sync that
 * loses pages, and 1 for a sync that only receives the error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DESCRIPTORS = 1024, REFUSED_FLAG = 0x80 };

/* Marks a description whose next sync must fail. The kernel stores this signal number (F_SETSIG) per description, and
 * uses the number only with O_ASYNC. */
enum { ERROR_MARK = 40 };

static atomic_int syncs;

static int is_the_file(int descriptor) {
  const char *file = getenv("FAIL_FILE");
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (file == NULL || length < 0) return 0;
  path[length] = '\0';
  return strcmp(path, file) == 0;
}

static int sync_or_fail(const char *name, int descriptor) {
  int offset = 1;
  const char *at = getenv("FAIL_AT");
  if (is_the_file(descriptor) && at != NULL && atomic_fetch_add(&syncs, 1) + 1 == atoi(at)) {
    offset = 0;
    for (int each = 0; each < MAX_DESCRIPTORS; each++)
      if (is_the_file(each)) fcntl(each, F_SETSIG, ERROR_MARK);
  }
  if (fcntl(descriptor, F_GETSIG) != ERROR_MARK) return ((int (*)(int))dlsym(RTLD_NEXT, name))(descriptor);
  fcntl(descriptor, F_SETSIG, 0);
  sync_file_range(descriptor, offset, 0, REFUSED_FLAG);
  errno = EIO;
  return -1;
}

int fsync(int descriptor) { return sync_or_fail("fsync", descriptor); }
int fdatasync(int descriptor) { return sync_or_fail("fdatasync", descriptor); }
