import { glob } from 'node:fs/promises';

/** Where Debian, Fedora and others have it: the form for programs with threads. */
const PLACES = ['/usr/lib/*/faketime', '/usr/lib*/faketime', '/usr/local/lib/faketime'];

/** The path of libfaketime, which moves the time of day of a process; `undefined` where it is not installed. */
export async function findLibfaketime(): Promise<string | undefined> {
  for await (const path of glob(PLACES.map((folder) => `${folder}/libfaketimeMT.so.1`))) return path;
  return undefined;
}
