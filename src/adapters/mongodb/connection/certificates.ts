import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { MongoClient } from 'mongodb';
import type { StorageLog } from '../../../application/ports/storage-health.ts';

/** The options of a connection string that name a file in PEM form, each with what `tls.connect` gets of the file. */
export const CERTIFICATE_FILES = [
  ['tlsCAFile', ['ca']],
  ['tlsCRLFile', ['crl']],
  ['tlsCertificateKeyFile', ['cert', 'key']],
] as const;

/**
 * Reads the files of certificates that the connection string names, for new connections. Does nothing without such
 * files. Fills the arrays that `createClient` has passed to the driver: docs/decisions.md, "MongoDB's certificates
 * are read into arrays that the driver has".
 *
 * @throws the error of a file that cannot be read or used. The client then keeps what it has
 */
export async function readCertificates({ options }: MongoClient): Promise<void> {
  const named = CERTIFICATE_FILES.filter(([file]) => options.tls && options[file] !== undefined);
  if (named.length === 0) return;
  const pems = await Promise.all(named.map(([file]) => readFile(options[file]!)));
  const read = named.flatMap(([, names], n) => names.map((name) => [name, pems[n]!] as const));
  // Node ignores an authority's file that has no certificate.
  for (const [name, pem] of read) if (name === 'ca') void new X509Certificate(pem);
  createSecureContext({ passphrase: options.passphrase, ...Object.fromEntries(read) });
  for (const [name, pem] of read) (options[name] as Buffer[])[0] = pem;
}

/**
 * Reads the certificates again whenever a connection fails, because a new certificate may be the reason. The driver
 * tries to connect again soon after. Logs a problem with the files when it is new.
 *
 * @returns a function that reads them again at once, and logs that too
 */
export function renewCertificates(client: MongoClient, log?: StorageLog): () => Promise<void> {
  let told = '';
  const renew = async () => {
    let problem = '';
    await readCertificates(client).catch(({ message }: Error) => (problem = message));
    if (problem !== '' && problem !== told)
      log?.warn(`the certificates of MongoDB cannot be used, so the old ones stay: ${problem}`);
    told = problem;
  };
  client.on('serverHeartbeatFailed', () => void renew());
  client.on('connectionCheckOutFailed', () => void renew());
  return async () => {
    told = '';
    await renew();
    if (told === '') log?.warn('the certificates of MongoDB were read again, for new connections');
  };
}
