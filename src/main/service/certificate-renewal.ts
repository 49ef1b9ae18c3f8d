import type { Logger } from 'pino';
import type { HttpServer } from '../../adapters/http/server/listen.ts';
import { InvalidConfig, type TlsFiles } from '../config/config.ts';
import { expiryWarning, readCertificate } from './certificate.ts';

export type RenewalOptions = { readonly now: () => Date; readonly log: Logger };

/**
 * A function that reads the certificate and its key again, for new connections. It logs a pair that cannot be used, and
 * the one from before stays in use. Calls follow each other, so that the last one decides.
 */
export function certificateRenewal(
  files: TlsFiles,
  server: Pick<HttpServer, 'renewCertificate'>,
  { now, log }: RenewalOptions,
): () => Promise<void> {
  const renew = async () => {
    try {
      const certificate = await readCertificate(files);
      server.renewCertificate(certificate);
      const { validTo } = certificate;
      log.info({ validTo }, 'TLS_CERT and TLS_KEY were read again, for new connections');
      const warning = expiryWarning(certificate, now());
      if (warning !== undefined) log.warn(warning);
    } catch (error) {
      if (!(error instanceof InvalidConfig)) throw error;
      const { problems } = error;
      log.error({ problems }, 'TLS_CERT and TLS_KEY were read again and refused; the old pair stays in use');
    }
  };
  let last = Promise.resolve();
  return () => (last = last.then(renew));
}
