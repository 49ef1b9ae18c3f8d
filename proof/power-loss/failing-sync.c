/* Makes one sync of a file fail: the FAIL_AT-th fsync or fdatasync of the file FAIL_FILE by this process. Like Linux, it
 * tells every description of the file that is open at this moment, each once, and none that is opened later. strace shows
 * a failed sync as a sync_file_range that the kernel refuses. Its offset is 0 for the first and 1 for the others, which
 * lose nothing more. Compile it with -shared -fPIC, preload it with LD_PRELOAD. */
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

/* A number that the kernel keeps for each open description. It means nothing without O_ASYNC. */
enum { TO_BE_TOLD = 40 };

static atomic_int syncs;

static int is_of_the_file(int descriptor) {
  const char *file = getenv("FAIL_FILE");
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (file == NULL || length < 0) return 0;
  path[length] = '\0';
  return strcmp(path, file) == 0;
}

static int sync_or_fail(const char *name, int descriptor) {
  int others = 1;
  const char *at = getenv("FAIL_AT");
  if (is_of_the_file(descriptor) && at != NULL && atomic_fetch_add(&syncs, 1) + 1 == atoi(at)) {
    others = 0;
    for (int each = 0; each < MAX_DESCRIPTORS; each++)
      if (is_of_the_file(each)) fcntl(each, F_SETSIG, TO_BE_TOLD);
  }
  if (fcntl(descriptor, F_GETSIG) != TO_BE_TOLD) return ((int (*)(int))dlsym(RTLD_NEXT, name))(descriptor);
  fcntl(descriptor, F_SETSIG, 0);
  sync_file_range(descriptor, others, 0, REFUSED_FLAG);
  errno = EIO;
  return -1;
}

int fsync(int descriptor) { return sync_or_fail("fsync", descriptor); }
int fdatasync(int descriptor) { return sync_or_fail("fdatasync", descriptor); }
