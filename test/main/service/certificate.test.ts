import { writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { StartError } from '../../../src/main/config/config.ts';
import { certificateRenewal, expiryWarning, readCertificate } from '../../../src/main/service/certificate.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { PAIR, PEM_FILES } from '../../support/tls/pem-files.ts';

const { cert, key, encryptedKey, renewedKey } = PEM_FILES;
const log = { warn: () => expect.fail() };

async function problemsOf(certFile: string, keyFile: string): Promise<readonly string[]> {
  const error: unknown = await readCertificate({ certFile, keyFile }, log).catch((reason: unknown) => reason);
  if (error instanceof StartError) return error.problems;
  throw new Error('the certificate was accepted, or a bug was found', { cause: error });
}

async function fileWith(text: string): Promise<string> {
  const file = join(await testDirectory(), 'file.pem');
  await writeFile(file, text);
  return file;
}

describe('the certificate and its key', () => {
  it('are read from two files', async () => {
    expect(await readCertificate({ certFile: cert, keyFile: key }, log)).toStrictEqual({
      ...PAIR,
      validTo: expect.any(Date),
    });
  });

  it('can be in one file', async () => {
    const keyAndCert = PAIR.key + PAIR.cert;
    const file = await fileWith(keyAndCert);
    expect(await readCertificate({ certFile: file, keyFile: file }, log)).toMatchObject({
      cert: keyAndCert,
      key: keyAndCert,
    });
  });

  it.each([
    ['TLS_CERT cannot be read: no such file or directory: no/such.pem', 'no/such.pem', key],
    ['TLS_CERT cannot be read: illegal operation on a directory: test', 'test', key],
    ['TLS_CERT has no certificate in PEM form: no start line', 'package.json', key],
    ['TLS_KEY cannot be read: no such file or directory: no/such.pem', cert, 'no/such.pem'],
    ['TLS_KEY is not the private key of TLS_CERT in PEM form: unsupported', cert, cert],
    ['TLS_KEY must be the path of a PEM file, not its contents', cert, PAIR.key],
    ['TLS_KEY is encrypted; the service needs the key without a passphrase', cert, encryptedKey],
    ['TLS_KEY is not the private key of TLS_CERT in PEM form: key values mismatch', cert, renewedKey],
  ])('are refused with the reason: %s', async (problem, certFile, keyFile) => {
    expect(await problemsOf(certFile, keyFile)).toStrictEqual([problem]);
  });

  it('are refused when the second certificate of the chain is broken', async () => {
    const chain = await readFile(cert, 'utf8');
    const file = await fileWith(chain.trimEnd().slice(0, -40));
    expect(await problemsOf(file, key)).toStrictEqual(['TLS_CERT cannot be used: bad end line']);
  });

  it('are refused with an error that quotes no contents of the files, because the contents may be secret', async () => {
    const secret = await fileWith('-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n');
    const problems = [...(await problemsOf(secret, key)), ...(await problemsOf(cert, secret))];
    expect(problems).toHaveLength(2);
    expect(problems.join('\n')).not.toContain('hunter2');
  });
});

it('a second renewal waits for the first renewal, and then reads the files', {
  timeout: 20_000,
}, async () => {
  const file = await fileWith(PAIR.key + PAIR.cert);
  const { promise: secondUse, resolve } = Promise.withResolvers<void>();
  const usedCertificates: string[] = [];
  const useCertificate = (pair: typeof PAIR) => {
    if (usedCertificates.push(pair.cert) === 2) resolve();
    writeFileSync(file, `${PAIR.key}${PAIR.cert}# later\n`);
  };
  const renew = certificateRenewal(
    { certFile: file, keyFile: file },
    useCertificate,
    pino({ level: 'silent' }, { write() {} }),
  );
  for (let n = 0; n < 2; n++) renew();
  await secondUse;

  expect(usedCertificates.map((text) => text.endsWith('# later\n'))).toStrictEqual([false, true]);
});

const certificate = {
  validFromDate: new Date('2026-01-01T00:00:00Z'),
  validToDate: new Date('2026-04-01T00:00:00Z'),
};

it.each([
  ['2025-12-31T23:59:59Z', 'the certificate in TLS_CERT is not valid before 2026-01-01T00:00:00.000Z'],
  ['2026-01-01T00:00:00Z', undefined],
  ['2026-03-17T23:59:59Z', undefined],
  ['2026-03-18T00:00:00Z', 'the certificate in TLS_CERT expires on 2026-04-01T00:00:00.000Z'],
  ['2026-04-01T00:00:00Z', 'the certificate in TLS_CERT expires on 2026-04-01T00:00:00.000Z'],
  ['2026-04-01T00:00:01Z', 'the certificate in TLS_CERT expired on 2026-04-01T00:00:00.000Z'],
])('the warning about the validity of a certificate at %s is: %s', (now, warning) => {
  expect(expiryWarning(certificate, new Date(now))).toBe(warning);
});
