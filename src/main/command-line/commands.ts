import type { Command } from './command.ts';

/** Each command is loaded when it is used: the service starts without the code of the others. */
const COMMANDS = {
  serve: async () => (await import('./serve-command.ts')).serveCommand,
  migrate: async () => (await import('./migrate-command.ts')).migrateCommand,
  backup: async () => (await import('./backup-command.ts')).backupCommand,
  export: async () => (await import('./export-command.ts')).exportCommand,
  import: async () => (await import('./import-command.ts')).importCommand,
  copy: async () => (await import('./copy-command.ts')).copyCommand,
  keys: async () => (await import('./key-commands.ts')).keysCommand,
  'keys create': async () => (await import('./key-commands.ts')).createCommand,
  'keys list': async () => (await import('./key-commands.ts')).listCommand,
  'keys show': async () => (await import('./key-commands.ts')).showCommand,
  'keys revoke': async () => (await import('./key-commands.ts')).revokeCommand,
  'keys rotate': async () => (await import('./key-commands.ts')).rotateCommand,
} satisfies Readonly<Record<string, () => Promise<Command>>>;

type Found = { readonly command: Command; readonly args: readonly string[] };

/** @returns `undefined` when there is no such command; `serve` when the command line names none */
export async function findCommand(argv: readonly string[]): Promise<Found | undefined> {
  const [first = '', second = ''] = argv;
  if (first === '' || first.startsWith('-')) return { command: await COMMANDS.serve(), args: argv };
  for (const [name, words] of [
    [`${first} ${second}`, 2],
    [first, 1],
  ] as const) {
    if (isCommand(name)) return { command: await COMMANDS[name](), args: argv.slice(words) };
  }
  return undefined;
}

function isCommand(name: string): name is keyof typeof COMMANDS {
  return Object.hasOwn(COMMANDS, name);
}
