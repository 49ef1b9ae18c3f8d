import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { MongoClient } from 'mongodb';
import type { StorageLog } from '../../../application/ports/storage-health.ts';

/** Each option names a PEM file, which fills options of `tls.connect`. */
export const CERTIFICATE_FILES = [
  ['tlsCAFile', ['ca']],
  ['tlsCRLFile', ['crl']],
  ['tlsCertificateKeyFile', ['cert', 'key']],
] as const;

/**
 * Reads the certificate files of the connection string, for new connections: docs/decisions.md, "MongoDB's
 * certificates are read into arrays that the driver has".
 *
 * @throws the error of a file that cannot be read or used. The client then keeps what it has
 */
export async function readCertificates({ options }: MongoClient): Promise<void> {
  const named = CERTIFICATE_FILES.filter(([file]) => options.tls && options[file] !== undefined);
  if (named.length === 0) return;
  const pems = await Promise.all(named.map(([file]) => readFile(options[file]!)));
  const read = named.flatMap(([, names], n) => names.map((name) => [name, pems[n]!] as const));
  // Node ignores a `ca` that has no certificate.
  for (const [name, pem] of read) if (name === 'ca') void new X509Certificate(pem);
  createSecureContext({ passphrase: options.passphrase, ...Object.fromEntries(read) });
  for (const [name, pem] of read) (options[name] as Buffer[])[0] = pem;
}

/**
 * Reads the certificates when a connection fails, because a new one may be the reason. The driver connects again soon
 * after.
 *
 * @returns a function that reads the certificates immediately, and logs that
 */
export function renewCertificates(client: MongoClient, log?: StorageLog): () => Promise<void> {
  let logged = '';
  const renew = async () => {
    let problem = '';
    await readCertificates(client).catch(({ message }: Error) => (problem = message));
    if (problem !== '' && problem !== logged)
      log?.warn(`the certificates of MongoDB cannot be used, so the old ones stay: ${problem}`);
    logged = problem;
  };
  client.on('serverHeartbeatFailed', () => void renew());
  client.on('connectionCheckOutFailed', () => void renew());
  return async () => {
    logged = '';
    await renew();
    if (logged === '') log?.warn('the certificates of MongoDB were read again, for new connections');
  };
}
