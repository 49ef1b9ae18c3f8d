import type { DiskEvent } from './disk-event.ts';

/**
 * The system calls that strace records. Calls on the `-shm` file are ignored later, because SQLite can create this file
 * from the log.
 */
const CALLS =
  'openat,mkdir,write,writev,pwrite64,ftruncate,fsync,fdatasync,sync_file_range,rename,renameat2,link,linkat,unlink,unlinkat';

/** The options with which strace prints everything that {@link readTrace} needs. */
export const STRACE_OPTIONS = ['-f', '-y', '-xx', '-s', '1000000', '-e', `trace=${CALLS}`] as const;

type Call = {
  readonly name: string;
  readonly args: string;
  readonly result: string;
  /** The number of events before the call began. */
  readonly eventsBefore: number;
};

/**
 * Reads the events in a trace of strace, in the order in which the calls ended. Only a write is placed where it began,
 * because its bytes may reach the disk before the call returns.
 *
 * @param existingFiles the files that exist before the trace. The function keeps the set up to date
 * @param firstNumber the number of the first event
 */
export function readTrace(
  trace: string,
  directory: string,
  existingFiles: Set<string>,
  firstNumber: number,
): DiskEvent[] {
  const events: DiskEvent[] = [];
  const unfinishedCalls = new Map<string, Omit<Call, 'result'>>();
  const add = (call: Call) => events.push(...eventsOf(call, directory, existingFiles));
  for (const line of trace.split('\n')) {
    const [, pid = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const eventsBefore = firstNumber + events.length;
    const [, name, args, result] = /^(\w+)\((.*)\) += (\S+)/.exec(rest) ?? [];
    if (name !== undefined) {
      add({ name, args: args!, result: result!, eventsBefore });
      continue;
    }
    const [, unfinishedName, firstArgs] = /^(\w+)\((.*) <unfinished \.\.\.>$/.exec(rest) ?? [];
    if (unfinishedName !== undefined) {
      const call = { name: unfinishedName, args: firstArgs!, eventsBefore };
      if (unfinishedName.includes('write')) add({ ...call, result: '0' });
      else unfinishedCalls.set(pid, call);
      continue;
    }
    const [, lastArgs, finalResult] = /^<\.\.\. \w+ resumed>(.*)\) += (\S+)/.exec(rest) ?? [];
    const call = unfinishedCalls.get(pid);
    unfinishedCalls.delete(pid);
    if (call !== undefined && finalResult !== undefined)
      add({ ...call, args: call.args + lastArgs!, result: finalResult });
  }
  return events;
}

function eventsOf(call: Call, directory: string, existingFiles: Set<string>): DiskEvent[] {
  const { name, args, result, eventsBefore } = call;
  if (result.startsWith('-') && name !== 'sync_file_range') return [];
  // The name of this file is deleted, so no later start finds the file.
  if (args.includes('>(deleted)')) return [];
  const texts = Array.from(args.matchAll(/"((?:\\x[\da-f]{2})*)"/g), ([, hex = '']) => bytesOf(hex));
  const acknowledgedPet = name.startsWith('write') ? answeredPet(Buffer.concat(texts)) : undefined;
  if (acknowledgedPet !== undefined) return [{ type: 'acknowledged', pets: [acknowledgedPet] }];
  const file = decodePath(/^\d+<([^>]*)>/.exec(args)?.[1] ?? '');
  const names = texts.map(String);
  const paths = file === '' ? names.filter((path) => path.startsWith('/')) : [file];
  const [path = '', newPath = ''] = paths;
  if (!`${path}/`.startsWith(`${directory}/`) || path.endsWith('-shm')) return [];
  switch (name) {
    case 'openat':
      if (!args.includes('O_CREAT') || existingFiles.has(path)) return [];
      existingFiles.add(path);
      return [{ type: 'create', path }];
    case 'mkdir':
      return [{ type: 'mkdir', path }];
    case 'write':
      // No offset is needed, because only one writer appends to this file.
      return [{ type: 'write', path, offset: -1, bytes: texts[0]! }];
    case 'writev':
      return [{ type: 'write', path, offset: -1, bytes: Buffer.concat(texts) }];
    case 'pwrite64':
      return [{ type: 'write', path, offset: Number(/, (\d+)$/.exec(args)?.[1]), bytes: texts[0]! }];
    case 'ftruncate':
      return [{ type: 'truncate', path, size: Number(/, (\d+)$/.exec(args)?.[1]) }];
    case 'fsync':
    case 'fdatasync':
      // The result is `?` when the program was killed during the sync: then nothing may rely on this sync.
      return result === '?' ? [] : [{ type: 'sync', path, coversBefore: eventsBefore }];
    case 'sync_file_range':
      // This call stands for a failed sync: see failing-sync.c. A sync with offset 0 loses pages. A sync with offset 1
      // only reports the same failure to another open file.
      return [{ type: args.includes('>, 0, ') ? 'failed' : 'sync', path, coversBefore: eventsBefore }];
    case 'rename':
    case 'renameat2':
      existingFiles.delete(path);
      existingFiles.add(newPath);
      return [{ type: 'rename', path, to: newPath }];
    case 'unlink':
    case 'unlinkat':
      existingFiles.delete(path);
      return [{ type: 'unlink', path }];
    default:
      throw new Error(`the model of a disk does not know ${name}`);
  }
}

/** The JSON of the pet in an HTTP answer 200 or 201. `undefined` for any other write. */
function answeredPet(bytes: Buffer): string | undefined {
  const [head = '', body = ''] = bytes.toString().split('\r\n\r\n');
  return /^HTTP\/1\.1 20[01] /.test(head) && body.startsWith('{"id":') ? body : undefined;
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}

/** Decodes a path that strace has printed in hexadecimal. */
function decodePath(path: string): string {
  return path.startsWith('\\x') ? bytesOf(path).toString() : path;
}
