import { stripVTControlCharacters } from 'node:util';
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { DONE, run, SERVICE, SERVICE_ENV } from '../../support/process.ts';
import { startService } from '../../support/service.ts';
import { ask, KEY } from '../../support/client.ts';

// The `script` of util-linux runs a program on a terminal. Other systems have a different `script`.
const SCRIPT = 'script';
const hasScript = spawnSync(SCRIPT, ['--version']).stdout?.includes('util-linux') ?? false;

it('the log contains a JSON line with exactly these fields for each request', async () => {
  const { url, log, stop } = await startService({ API_KEYS: `ci=${KEY}` });
  await ask(`${url}/v1/pets/1?a=b`, { headers: { 'x-request-id': 'my-request' } });
  await ask(`${url}/livez`, { key: '' });

  await stop();
  const requests = log.filter(({ msg }) => msg === 'request');
  const always = { level: 30, msg: 'request', time: expect.any(Number), durationMs: expect.any(Number) };
  expect(requests).toStrictEqual([
    {
      ...always,
      requestId: 'my-request',
      method: 'GET',
      route: '/v1/pets/:petId',
      status: 400,
      client: '127.0.0.1',
      keyId: 'ci',
      keyLabel: 'ci',
    },
    {
      ...always,
      requestId: expect.stringMatching(/^[\da-f-]{36}$/),
      method: 'GET',
      route: '/livez',
      status: 200,
    },
  ]);
});

it.runIf(hasScript)(
  'the log is text on a terminal: Ctrl-S stops no request, and Ctrl-C ends with exit code 0 (needs script of util-linux)',
  async () => {
    const command = `exec '${process.execPath}' ${SERVICE.join(' ')}`;
    const terminal = run(SCRIPT, ['--quiet', '--return', '--command', command, '/dev/null'], {
      ...SERVICE_ENV,
      API_KEYS: KEY,
      SHELL: '/bin/sh',
    });
    const [, url = ''] = await terminal.printed(/listening on (http:[\d./:]+)/);
    await ask(`${url}/livez`);
    await ask(`${url}/nowhere`);
    await terminal.printed(/no route/);

    const ctrl = { c: '\u0003', q: '\u0011', s: '\u0013' };
    terminal.write(ctrl.s);
    for (let n = 0; n < 100; n++) expect((await ask(`${url}/livez`)).status).toBe(200);
    await ask(`${url}/livez`, { headers: { 'x-request-id': 'the-last-request' } });
    terminal.write(ctrl.q);
    await terminal.printed(/the-last-request/);

    terminal.write(ctrl.c);
    expect(await terminal.ended).toStrictEqual(DONE);
    const text = stripVTControlCharacters(terminal.stdout).replaceAll('\r\n', '\n');
    expect(text).toMatch(/^\[[\d:.]+\] INFO: listening on http:.*\n/m);
    expect(text).toMatch(/^\[[\d:.]+\] INFO: GET \/livez 200 [\d.]+ ms \{"requestId":"[\da-f-]{36}"\}\n/m);
    expect(text).toMatch(
      /^\[[\d:.]+\] INFO: GET no route 404 [\d.]+ ms \{"requestId":"[\da-f-]{36}","client":"127.0.0.1"\}\n/m,
    );
    expect(text).toMatch(/^\^C\[[\d:.]+\] INFO: shutting down \{"reason":"SIGINT"\}\n/m);
    expect(text).toMatch(/^\[[\d:.]+\] INFO: stopped \{"cutOff":0\}\n/m);
  },
);
