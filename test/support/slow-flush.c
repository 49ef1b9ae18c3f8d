/* Delays every fsync and fdatasync by FLUSH_MS milliseconds. Compile with -shared -fPIC, preload with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int flush_after_pause(const char *name, int descriptor) {
  const char *text = getenv("FLUSH_MS");
  double ms = text == NULL ? 0 : atof(text);
  struct timespec pause = {(time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000};
  nanosleep(&pause, NULL);
  return ((int (*)(int))dlsym(RTLD_NEXT, name))(descriptor);
}

int fsync(int descriptor) { return flush_after_pause("fsync", descriptor); }
int fdatasync(int descriptor) { return flush_after_pause("fdatasync", descriptor); }
