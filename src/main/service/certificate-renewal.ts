import type { Logger } from 'pino';
import { InvalidConfig, type TlsFiles } from '../config/config.ts';
import { expiryWarning, readCertificate } from './certificate.ts';
import type { Service } from './start.ts';

/**
 * A function that reads the certificate and its key again, for new connections. It logs a pair that cannot be used, and
 * the one from before stays in use. Calls follow each other, so that the last one decides.
 *
 * @param starting calls wait for the start, and do nothing if it fails
 */
export function certificateRenewal(
  files: TlsFiles,
  starting: Promise<Pick<Service, 'useCertificate'>>,
  log: Logger,
): () => void {
  const renew = async ({ useCertificate }: Pick<Service, 'useCertificate'>) => {
    try {
      const certificate = await readCertificate(files);
      useCertificate(certificate);
      const { validTo } = certificate;
      log.info({ validTo }, 'TLS_CERT and TLS_KEY were read again, for new connections');
      const warning = expiryWarning(certificate, new Date());
      if (warning !== undefined) log.warn(warning);
    } catch (error) {
      if (!(error instanceof InvalidConfig)) throw error;
      const { problems } = error;
      log.error({ problems }, 'TLS_CERT and TLS_KEY were read again and refused; the old pair stays in use');
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    last = last.then(() => starting.then(renew, () => undefined));
  };
}
