import type { DiskEvent } from './disk-event.ts';

/** What strace records. The index in shared memory is left out: it does not survive, and SQLite makes it anew. */
const CALLS =
  'openat,mkdir,write,writev,pwrite64,ftruncate,fsync,fdatasync,sync_file_range,rename,renameat2,link,linkat,unlink,unlinkat';

/** The options with which strace prints everything that {@link readTrace} needs. */
export const STRACE_OPTIONS = ['-f', '-y', '-xx', '-s', '1000000', '-e', `trace=${CALLS}`] as const;

type Call = {
  readonly name: string;
  readonly args: string;
  readonly result: string;
  /** How many events there were when the call began. */
  readonly began: number;
};

/**
 * The events in a trace, in the order of the ends of the calls. A write counts from its beginning on: its bytes may reach
 * the disk, or not, before it returns.
 *
 * @param present the files that exist already; new ones are added
 */
export function readTrace(
  trace: string,
  directory: string,
  present: Set<string>,
  first: number,
): DiskEvent[] {
  const events: DiskEvent[] = [];
  const unfinished = new Map<string, Omit<Call, 'result'>>();
  const add = (call: Call) => events.push(...eventsOf(call, directory, present));
  for (const line of trace.split('\n')) {
    const [, pid = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const began = first + events.length;
    const [, name, args, result] = /^(\w+)\((.*)\) += (\S+)/.exec(rest) ?? [];
    if (name !== undefined) {
      add({ name, args: args!, result: result!, began });
      continue;
    }
    const [, begun, beginning] = /^(\w+)\((.*) <unfinished \.\.\.>$/.exec(rest) ?? [];
    if (begun !== undefined) {
      if (begun.includes('write')) add({ name: begun, args: beginning!, result: '0', began });
      else unfinished.set(pid, { name: begun, args: beginning!, began });
      continue;
    }
    const [, end, outcome] = /^<\.\.\. \w+ resumed>(.*)\) += (\S+)/.exec(rest) ?? [];
    const call = unfinished.get(pid);
    unfinished.delete(pid);
    if (call !== undefined && outcome !== undefined)
      add({ ...call, args: call.args + end!, result: outcome });
  }
  return events;
}

function eventsOf({ name, args, result, began }: Call, directory: string, present: Set<string>): DiskEvent[] {
  if (result.startsWith('-') && name !== 'sync_file_range') return [];
  // No start finds a file without a name.
  if (args.includes('>(deleted)')) return [];
  const texts = Array.from(args.matchAll(/"((?:\\x[\da-f]{2})*)"/g), ([, hex = '']) => bytesOf(hex));
  const acknowledged = name.startsWith('write') ? answeredPet(Buffer.concat(texts)) : undefined;
  if (acknowledged !== undefined) return [{ type: 'acknowledged', pets: [acknowledged] }];
  const file = decoded(/^\d+<([^>]*)>/.exec(args)?.[1] ?? '');
  const names = texts.map(String);
  const paths = file === '' ? names.filter((path) => path.startsWith('/')) : [file];
  const [path = '', to = ''] = paths;
  if (!`${path}/`.startsWith(`${directory}/`) || path.endsWith('-shm')) return [];
  switch (name) {
    case 'openat':
      if (!args.includes('O_CREAT') || present.has(path)) return [];
      present.add(path);
      return [{ type: 'create', path }];
    case 'mkdir':
      return [{ type: 'mkdir', path }];
    case 'write':
      // One writer appends to such a file.
      return [{ type: 'write', path, offset: -1, bytes: texts[0]! }];
    case 'writev':
      return [{ type: 'write', path, offset: -1, bytes: Buffer.concat(texts) }];
    case 'pwrite64':
      return [{ type: 'write', path, offset: Number(/, (\d+)$/.exec(args)?.[1]), bytes: texts[0]! }];
    case 'ftruncate':
      return [{ type: 'truncate', path, size: Number(/, (\d+)$/.exec(args)?.[1]) }];
    case 'fsync':
    case 'fdatasync':
      // A program that is killed does not learn how its sync ends.
      return result === '?' ? [] : [{ type: 'sync', path, covers: began }];
    case 'sync_file_range':
      // See failing-sync.c: its offset tells whether this was the first descriptor that was told of the failure.
      return [{ type: args.includes('>, 0, ') ? 'failed' : 'sync', path, covers: began }];
    case 'rename':
    case 'renameat2':
      present.delete(path);
      present.add(to);
      return [{ type: 'rename', path, to }];
    case 'unlink':
    case 'unlinkat':
      present.delete(path);
      return [{ type: 'unlink', path }];
    default:
      throw new Error(`the model of a disk does not know ${name}`);
  }
}

/** The JSON of the pet in an answer: it is stored, or was found. */
function answeredPet(bytes: Buffer): string | undefined {
  const [head = '', body = ''] = bytes.toString().split('\r\n\r\n');
  return /^HTTP\/1\.1 20[01] /.test(head) && body.startsWith('{"id":') ? body : undefined;
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}

/** A path, which strace prints in hex too. */
function decoded(path: string): string {
  return path.startsWith('\\x') ? bytesOf(path).toString() : path;
}
