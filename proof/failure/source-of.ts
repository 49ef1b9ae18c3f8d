/**
 * Who opens a connection: a member of the replica set by its port, or a client by its application name. Both are in the
 * first message of the connection, as BSON: the field `hostInfo`, which a mongod sends with test commands enabled, or
 * the name of the application.
 */
export function sourceOf(message: Buffer): string {
  const port = textOf('hostInfo', message)?.split(':').at(-1);
  const application = message.indexOf('application\0');
  return port ?? (application < 0 ? undefined : textOf('name', message.subarray(application))) ?? '';
}

/** The value of the first field with this name: after the name, four bytes with its length, and the text. */
function textOf(field: string, document: Buffer): string | undefined {
  const at = document.indexOf(`${field}\0`);
  if (at < 0) return undefined;
  const start = at + field.length + 1 + 4;
  return document.toString('latin1', start, document.indexOf(0, start));
}
