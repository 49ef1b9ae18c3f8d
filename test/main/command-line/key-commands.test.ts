import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testDirectory } from '../../support/test-directory.ts';
import { ask } from '../../support/client.ts';
import { Command, runFailing, FULL_DISK, expectRefusal, runCommand } from '../../support/command.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { startService } from '../../support/service.ts';

/** The form of a token: the secret that a client sends. The first part in parentheses is the id of its key. */
const TOKEN_FORM = /^pets_([0-9a-f]{16})_[0-9A-Za-z]{49}$/;
const DAY_MS = 86_400_000;
/** The id of a key that no storage has. */
const ID = '0123456789abcdef';

type Env = Record<string, string>;

/** The variables of a service and of commands that use the same new SQLite file. API_KEYS has no key. */
async function makeEnv(): Promise<Env> {
  return { DATABASE_URL: `sqlite:${await testDirectory()}/petstore.db`, API_KEYS: '' };
}

async function runKeys(env: Env, ...args: readonly string[]): Promise<Command> {
  return runCommand(['keys', ...args], env);
}

/** Creates a key. `id` is empty if the command prints more on standard output than one line with the token. */
async function createKey(env: Env, ...args: readonly string[]): Promise<{ id: string; token: string }> {
  const { stdout } = await runKeys(env, 'create', ...args);
  const [, id = ''] = TOKEN_FORM.exec(stdout.replace(/\n$/, '')) ?? [];
  return { id, token: stdout.trim() };
}

function auditLinesOf(program: Command): Record<string, unknown>[] {
  return program.stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

/** The status of the answer to a request with this token. */
async function statusOf(url: string, token: string): Promise<number> {
  return (await ask(`${url}/v1/pets`, { key: token })).status;
}

describe('petstore keys', () => {
  // test/deploy/mongodb-roles.test.ts runs these commands on MongoDB.
  it('lists, rotates and revokes keys while a service runs, and the service applies each change', async () => {
    const env = await makeEnv();
    const oldKey = await createKey(env, '--label', 'Kasse 3', '--expires', 'never');
    const clock = fakeClock();
    const { url, madeKey } = await startService(env);
    // A service makes a key only if its storage has never had one.
    expect(madeKey).toBeUndefined();
    expect(JSON.parse((await runKeys(env, 'list', '--json')).stdout)).toStrictEqual([
      {
        id: oldKey.id,
        label: 'Kasse 3',
        state: 'active',
        scopes: ['pets:read', 'pets:write'],
        rateLimit: null,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
        expiresAt: null,
        revokedAt: null,
        lastUsedAt: null,
        originId: null,
      },
    ]);

    const rotationOutput = (await runKeys(env, 'rotate', oldKey.id, '--overlap', '1h', '--json')).stdout;
    const { key: token, id, replaces, ...keyFields } = JSON.parse(rotationOutput);
    expect([id, replaces]).toStrictEqual([TOKEN_FORM.exec(token)?.[1], oldKey.id]);
    expect(keyFields).toMatchObject({ label: 'Kasse 3', state: 'active' });
    expect(Date.parse(keyFields.expiresAt) - Date.parse(keyFields.createdAt)).toBe(365 * DAY_MS);
    expect([await statusOf(url, oldKey.token), await statusOf(url, token)]).toStrictEqual([200, 200]);

    const { stdout: newestToken } = await runKeys(env, 'rotate', id, '--overlap', '0s', '--expires', 'never');
    expect(newestToken).toMatch(/^pets_\w+\n$/);
    expect(JSON.parse((await runKeys(env, 'revoke', oldKey.id, '--json')).stdout).state).toBe('revoked');
    // A service applies a change of a key within 10 seconds.
    clock.advance(10_000);
    expect([await statusOf(url, oldKey.token), await statusOf(url, token)]).toStrictEqual([401, 401]);
    expect(await statusOf(url, newestToken.trim())).toBe(200);
  });

  it('writes an audit line for each change to standard error', async () => {
    const env = await makeEnv();
    const create = await runKeys(env, 'create', '--label', 'till', '--expires', '2d');
    const [, id] = TOKEN_FORM.exec(create.stdout.trim())!;
    const fields = { level: 30, time: expect.any(Number), keyId: id, keyLabel: 'till' };
    const scopes = ['pets:read', 'pets:write'];
    const someTime = expect.any(String);
    expect(auditLinesOf(create)).toStrictEqual([
      { ...fields, audit: 'key.created', scopes, expiresAt: someTime, msg: 'audit' },
    ]);

    const rotate = await runKeys(env, 'rotate', id!);
    const [, nextId] = TOKEN_FORM.exec(rotate.stdout.trim())!;
    expect(auditLinesOf(rotate)).toMatchObject([
      { ...fields, keyId: nextId, audit: 'key.created' },
      { ...fields, audit: 'key.replaced', expiresAt: someTime },
    ]);

    const revoke = await runKeys(env, 'revoke', id!);
    expect(auditLinesOf(revoke)).toMatchObject([{ ...fields, audit: 'key.revoked', revokedAt: someTime }]);
    expect(revoke.stdout).toBe(`the key ${id} is revoked; every service refuses it within 10 seconds\n`);
    const secondRun = await runKeys(env, 'revoke', id!);
    const { revokedAt } = auditLinesOf(revoke)[0]!;
    expect(secondRun.stdout).toContain(`is revoked already, since ${String(revokedAt)}; `);
    expect(secondRun.stderr).toBe('');
    const revokeWithFullOutput = await runFailing(['keys', 'revoke', nextId!], env, { stdout: FULL_DISK });
    // A command names the storage that it has changed, even if standard output cannot be written.
    for (const { stderr } of [create, rotate, revoke, revokeWithFullOutput]) {
      expect(stderr).toContain(`petstore: wrote to ${env['DATABASE_URL']}\n`);
    }
  });

  it('shows and lists keys as text', async () => {
    const env = await makeEnv();
    const { id } = await createKey(env, '--label', 'Müller & Söhne', '--rate-limit', '10/1m');
    await runKeys(env, 'revoke', id);
    const show = await runKeys(env, 'show', id);
    expect(show.stdout).toMatch(/^state: +revoked$/m);
    expect(show.stdout).toMatch(/^rateLimit: +10\/60s$/m);
    const list = await runKeys(env, 'list');
    expect(list.stdout).toMatch(
      new RegExp(
        `^ID +STATE +SCOPES +CREATED +EXPIRES +LAST USED +LABEL\\n` +
          `${id}  revoked  pets:read,pets:write  (\\S+T\\d\\d:\\d\\dZ  ){2}never +Müller & Söhne\\n$`,
      ),
    );
    const shownKey = JSON.parse((await runKeys(env, 'show', id, '--json')).stdout);
    expect(shownKey).toMatchObject({ id, rateLimit: '10/60s' });
  });

  it('revokes a new key when an interruption arrives before the key is printed', async () => {
    const env = await makeEnv();
    let stderrText = '';
    const stderr = {
      write(line: string) {
        stderrText += line;
        if (line.includes('key.created')) command.interrupt('SIGINT');
      },
    };
    const command = new Command(['keys', 'create', '--label', 'x'], env, { stderr });
    expect(await command.ended).toBe(130);
    expect(command.stdout).toBe('');
    expect(stderrText).toMatch(/"key.created".*\npetstore: interrupted\n.*"key.revoked".*\n$/);
    expect(JSON.parse((await runKeys(env, 'list', '--json')).stdout)).toMatchObject([{ state: 'revoked' }]);
  });

  describe('with --output', () => {
    const CREATE_ARGS = ['create', '--label', 'x'];

    it('writes the key to a new file that only its owner can read, and does not print it', async () => {
      const directory = await testDirectory();
      const env = { DATABASE_URL: `sqlite:${directory}/petstore.db` };
      const file = join(directory, 'key');
      const create = await runKeys(env, ...CREATE_ARGS, '--output', file);
      const [token = '', id = ''] = TOKEN_FORM.exec((await readFile(file, 'utf8')).replace(/\n$/, '')) ?? [];
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect(create.stdout).toBe(`the key ${id} is in ${file}\n`);
      const { url } = await startService(env);
      expect(await statusOf(url, token)).toBe(200);

      const rotate = await runKeys(env, 'rotate', id, '--output', `${file}-2`, '--json');
      const [secondToken = '', nextId] = TOKEN_FORM.exec((await readFile(`${file}-2`, 'utf8')).trim()) ?? [];
      const { key, ...answer } = JSON.parse(rotate.stdout);
      expect([key, answer]).toMatchObject([undefined, { id: nextId, replaces: id, file: `${file}-2` }]);
      for (const outputText of [create.stdout, create.stderr, rotate.stdout, rotate.stderr]) {
        expect([outputText.includes(token), outputText.includes(secondToken)]).toStrictEqual([false, false]);
      }
    });

    it('refuses an existing file, and creates neither a key nor a database', async () => {
      const directory = await testDirectory();
      const file = join(directory, 'mine');
      await writeFile(file, 'mine');
      const env = { DATABASE_URL: `sqlite:${directory}/petstore.db` };
      const args = ['keys', ...CREATE_ARGS, '--output', file];
      await expectRefusal(args, `${file} exists; choose another FILE`, { env });
      expect([await readdir(directory), await readFile(file, 'utf8')]).toStrictEqual([['mine'], 'mine']);
    });

    it('creates no file when the key to rotate does not exist', async () => {
      const directory = await testDirectory();
      const env = { DATABASE_URL: `sqlite:${directory}/petstore.db` };
      await createKey(env, '--label', 'x');
      const oldFiles = await readdir(directory);
      const output = ['--output', join(directory, 'key')];
      await expectRefusal(['keys', 'rotate', ID, ...output], `no key has the id ${ID}`, { env });
      expect(await readdir(directory)).toStrictEqual(oldFiles);
    });
  });
});
