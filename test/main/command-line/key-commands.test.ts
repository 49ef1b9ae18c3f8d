import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testDirectory } from '../../support/test-directory.ts';
import { ask } from '../../support/client.ts';
import { Command, runFailing, FULL_DISK, expectRefusal, runCommand } from '../../support/command.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { startService } from '../../support/service.ts';

const KEY_FORM = /^pets_([0-9a-f]{16})_[0-9A-Za-z]{49}$/;
const DAY_MS = 86_400_000;
const ID = '0123456789abcdef';

type Env = Record<string, string>;

async function makeEnv(): Promise<Env> {
  return { DATABASE_URL: `sqlite:${await testDirectory()}/petstore.db`, API_KEYS: '' };
}

async function runKeys(env: Env, ...args: readonly string[]): Promise<Command> {
  return runCommand(['keys', ...args], env);
}

/** Creates a key, which must be the only text on standard output. */
async function createKey(env: Env, ...args: readonly string[]): Promise<{ id: string; key: string }> {
  const { stdout } = await runKeys(env, 'create', ...args);
  const [, id = ''] = KEY_FORM.exec(stdout.replace(/\n$/, '')) ?? [];
  return { id, key: stdout.trim() };
}

function auditLinesOf(program: Command): Record<string, unknown>[] {
  return program.stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

async function statusOf(url: string, key: string): Promise<number> {
  return (await ask(`${url}/v1/pets`, { key })).status;
}

describe('petstore keys', () => {
  // test/deploy/mongodb-roles.test.ts runs these commands on MongoDB.
  it('creates, lists, rotates and revokes keys while a service runs, and the service applies each change', async () => {
    const env = await makeEnv();
    const oldKey = await createKey(env, '--label', 'Kasse 3', '--expires', 'never');
    const clock = fakeClock();
    const { url, madeKey } = await startService(env);
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
    const { key, id, replaces, ...keyFields } = JSON.parse(rotationOutput);
    expect([id, replaces]).toStrictEqual([KEY_FORM.exec(key)?.[1], oldKey.id]);
    expect(keyFields).toMatchObject({ label: 'Kasse 3', state: 'active' });
    expect(Date.parse(keyFields.expiresAt) - Date.parse(keyFields.createdAt)).toBe(365 * DAY_MS);
    expect([await statusOf(url, oldKey.key), await statusOf(url, key)]).toStrictEqual([200, 200]);

    const { stdout: nextKey } = await runKeys(env, 'rotate', id, '--overlap', '0s', '--expires', 'never');
    expect(nextKey).toMatch(/^pets_\w+\n$/);
    expect(JSON.parse((await runKeys(env, 'revoke', oldKey.id, '--json')).stdout).state).toBe('revoked');
    clock.advance(10_000);
    expect([await statusOf(url, oldKey.key), await statusOf(url, key)]).toStrictEqual([401, 401]);
    expect(await statusOf(url, nextKey.trim())).toBe(200);
  });

  it('writes an audit line for each change to standard error', async () => {
    const env = await makeEnv();
    const create = await runKeys(env, 'create', '--label', 'till', '--expires', '2d');
    const [, id] = KEY_FORM.exec(create.stdout.trim())!;
    const line = { level: 30, time: expect.any(Number), keyId: id, keyLabel: 'till' };
    const scopes = ['pets:read', 'pets:write'];
    const expiresAt = expect.any(String);
    expect(auditLinesOf(create)).toStrictEqual([
      { ...line, audit: 'key.created', scopes, expiresAt, msg: 'audit' },
    ]);

    const rotate = await runKeys(env, 'rotate', id!);
    const [, nextId] = KEY_FORM.exec(rotate.stdout.trim())!;
    expect(auditLinesOf(rotate)).toMatchObject([
      { ...line, keyId: nextId, audit: 'key.created' },
      { ...line, audit: 'key.replaced', expiresAt },
    ]);

    const revoke = await runKeys(env, 'revoke', id!);
    expect(auditLinesOf(revoke)).toMatchObject([
      { ...line, audit: 'key.revoked', revokedAt: expect.any(String) },
    ]);
    expect(revoke.stdout).toBe(`the key ${id} is revoked; every service refuses it within 10 seconds\n`);
    const repetition = await runKeys(env, 'revoke', id!);
    expect(repetition.stdout).toContain(
      `is revoked already, since ${String(auditLinesOf(revoke)[0]!['revokedAt'])}; `,
    );
    expect(repetition.stderr).toBe('');
    const revokeWithFullOutput = await runFailing(['keys', 'revoke', nextId!], env, { stdout: FULL_DISK });
    for (const { stderr } of [create, rotate, revoke, revokeWithFullOutput]) {
      expect(stderr).toContain(`petstore: wrote to ${env['DATABASE_URL']}\n`);
    }
  });

  it('shows keys as text', async () => {
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
    const CREATE = ['create', '--label', 'x'];

    it('writes the key to a new file that only its owner can read, and does not print it', async () => {
      const directory = await testDirectory();
      const env = { DATABASE_URL: `sqlite:${directory}/petstore.db` };
      const file = join(directory, 'key');
      const create = await runKeys(env, ...CREATE, '--output', file);
      const [token = '', id = ''] = KEY_FORM.exec((await readFile(file, 'utf8')).replace(/\n$/, '')) ?? [];
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect(create.stdout).toBe(`the key ${id} is in ${file}\n`);
      const { url } = await startService(env);
      expect(await statusOf(url, token)).toBe(200);

      const rotate = await runKeys(env, 'rotate', id, '--output', `${file}-2`, '--json');
      const [secondToken = '', nextId] = KEY_FORM.exec((await readFile(`${file}-2`, 'utf8')).trim()) ?? [];
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
      await expectRefusal(['keys', ...CREATE, '--output', file], `${file} exists; choose another FILE`, {
        env,
      });
      expect([await readdir(directory), await readFile(file, 'utf8')]).toStrictEqual([['mine'], 'mine']);
    });

    it('leaves no file when no key was created', async () => {
      const directory = await testDirectory();
      const env = { DATABASE_URL: `sqlite:${directory}/petstore.db` };
      await createKey(env, '--label', 'x');
      const before = await readdir(directory);
      const file = ['--output', join(directory, 'key')];
      await expectRefusal(['keys', 'rotate', ID, ...file], `no key has the id ${ID}`, { env });
      expect(await readdir(directory)).toStrictEqual(before);
    });
  });
});
