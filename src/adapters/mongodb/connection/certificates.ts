import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { MongoClient } from 'mongodb';
import type { StorageLog } from '../../../application/ports/storage-health.ts';

/** The options that name a PEM file, each with the options of `tls.connect` for its content. */
export const CERTIFICATE_OPTIONS = [
  ['tlsCAFile', ['ca']],
  ['tlsCRLFile', ['crl']],
  ['tlsCertificateKeyFile', ['cert', 'key']],
] as const;

/**
 * Reads the certificate files of the connection string, for new connections. See docs/decisions.md, "MongoDB's
 * certificates are read into arrays that the driver has".
 *
 * @throws the error of a file that cannot be read or used. The client then keeps its certificates
 */
export async function readCertificates({ options }: MongoClient): Promise<void> {
  const namedFiles = CERTIFICATE_OPTIONS.filter(([file]) => options.tls && options[file] !== undefined);
  if (namedFiles.length === 0) return;
  const pems = await Promise.all(namedFiles.map(([file]) => readFile(options[file]!)));
  const contents = namedFiles.flatMap(([, tlsNames], n) => tlsNames.map((name) => [name, pems[n]!] as const));
  // Node itself would accept a `ca` file without a certificate.
  for (const [name, pem] of contents) if (name === 'ca') void new X509Certificate(pem);
  createSecureContext({ passphrase: options.passphrase, ...Object.fromEntries(contents) });
  for (const [name, pem] of contents) (options[name] as Buffer[])[0] = pem;
}

/**
 * Reads the certificates again when a connection fails, so that the next connection uses renewed files.
 *
 * @returns a function that reads the certificates immediately, and logs the result
 */
export function renewCertificates(client: MongoClient, log?: StorageLog): () => Promise<void> {
  let loggedProblem = '';
  const renew = async () => {
    let problem = '';
    await readCertificates(client).catch(({ message }: Error) => (problem = message));
    if (problem !== '' && problem !== loggedProblem)
      log?.warn(`the new certificates for MongoDB cannot be used, so the old ones stay in use: ${problem}`);
    loggedProblem = problem;
  };
  client.on('serverHeartbeatFailed', () => void renew());
  client.on('connectionCheckOutFailed', () => void renew());
  return async () => {
    loggedProblem = '';
    await renew();
    if (loggedProblem === '') log?.warn('the certificates of MongoDB were read again, for new connections');
  };
}
