/**
 * Says who opened a connection to a `mongod`: returns the port of a member of the replica set, or the application name
 * of a client. Both are in the first message of the connection, as BSON. A member with test commands enabled sends its
 * port in the field `hostInfo`. A client sends its name in `application.name`.
 */
export function sourceOf(message: Buffer): string {
  const port = textOf('hostInfo', message)?.split(':').at(-1);
  const application = message.indexOf('application\0');
  return port ?? (application < 0 ? undefined : textOf('name', message.subarray(application))) ?? '';
}

/** Reads the value of the first field with this name. In BSON, a length of 4 bytes and the text follow the name. */
function textOf(field: string, document: Buffer): string | undefined {
  const at = document.indexOf(`${field}\0`);
  if (at < 0) return undefined;
  const start = at + field.length + 1 + 4;
  return document.toString('latin1', start, document.indexOf(0, start));
}
