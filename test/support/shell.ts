import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Program, ROOT, run } from './process.ts';
import { testDirectory } from './test-directory.ts';

/** A new directory in which the commands of a document run. It has links to the parts of the project that they use. */
export async function freshClone(): Promise<string> {
  const directory = await testDirectory();
  const needed = ['bin', 'examples', 'node_modules', 'package.json'];
  await Promise.all(needed.map((name) => symlink(join(ROOT, name), join(directory, name))));
  return directory;
}

/** A shell in which a test runs commands, as a person does who follows a document. Services run in its background. */
export class Shell {
  readonly program: Program;
  #blocks = 0;
  #services = 0;

  constructor(cwd: string) {
    // Port 0 means any free port. 400 requests are enough for the tour of the README. After the tour, its test needs
    // more.
    this.program = run('bash', ['-euo', 'pipefail'], { PORT: '0', RATE_LIMIT: '400/1h' }, cwd);
    this.program.write(`trap 'kill $(jobs -p); wait' EXIT\n`);
  }

  /** Runs the commands, which must succeed. Resolves with what they print. */
  async prints(lines: string): Promise<string> {
    const [before, after] = [`== ${this.#blocks}\n`, `== ${++this.#blocks}\n`];
    this.program.write(`${lines}\necho '${after.trim()}'\n`);
    await this.program.printed(new RegExp(after));
    const { stdout } = this.program;
    const start = stdout.indexOf(before);
    return stdout.slice(start < 0 ? 0 : start + before.length, stdout.indexOf(after));
  }

  /**
   * Runs commands, the last of which starts a service. Resolves with a line that the service prints on standard error:
   * by default the `curl` command to paste.
   *
   * @param sign the beginning of the line. Every service that this shell starts must print one such line
   */
  async starts(lines: string, sign = '  curl '): Promise<string> {
    // The test does not run `npm ci`, because this command would remove the packages that the test uses.
    const start = lines.replace('npm ci --omit=dev && ', '').replace('PORT=3001', 'PORT=0');
    await this.prints(start.replace(/npm start$/m, 'npm start >&2 &'));
    const printed = new RegExp(`(?:${sign}[^]*?){${++this.#services}}\\n`);
    const [text] = await this.program.printed(printed, 'stderr');
    return text.slice(text.lastIndexOf(sign));
  }
}
