import { stripVTControlCharacters } from 'node:util';
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { DONE, run, SERVICE, SERVICE_ENV } from '../../support/process.ts';
import { startService } from '../../support/service.ts';
import { ask, KEY } from '../../support/client.ts';

// The command `script` of util-linux runs another program on a terminal. Some systems have a different `script`.
const SCRIPT = 'script';
const hasScript = spawnSync(SCRIPT, ['--version']).stdout?.includes('util-linux') ?? false;

it('each request is logged as one JSON line with exactly the expected fields', async () => {
  const { url, log, stop } = await startService({ API_KEYS: `ci=${KEY}` });
  await ask(`${url}/v1/pets/1?a=b`, { headers: { 'x-request-id': 'my-request' } });
  await ask(`${url}/livez`, { key: '' });

  await stop();
  const requests = log.filter(({ msg }) => msg === 'request');
  const number = expect.any(Number);
  const commonFields = { level: 30, msg: 'request', time: number, durationMs: number };
  expect(requests).toStrictEqual([
    {
      ...commonFields,
      requestId: 'my-request',
      method: 'GET',
      route: '/v1/pets/:petId',
      status: 400,
      client: '127.0.0.1',
      keyId: 'ci',
      keyLabel: 'ci',
    },
    {
      ...commonFields,
      requestId: expect.stringMatching(/^[\da-f-]{36}$/),
      method: 'GET',
      route: '/livez',
      status: 200,
    },
  ]);
});

it.runIf(hasScript)(
  'a service on a terminal logs text, answers requests after Ctrl-S, and exits with code 0 after Ctrl-C (needs `script` of util-linux)',
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

    // Ctrl-S stops the output of a terminal, and Ctrl-Q continues the output.
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
