import type { Logger } from 'pino';

/** A logger for the audit trail: who did what. It writes at every log level except `silent`. */
export function auditLog(log: Logger): Logger {
  return log.level === 'silent' ? log : log.child({}, { level: 'info' });
}
