import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';

/** Who opens a connection: a member of the replica set by its port, or a client by its application name. */
export type Source = string;

type Link = { readonly client: Socket; readonly server: Socket; source: Source | undefined };

/**
 * A way to one member that can be cut for some of its users, as a broken network does: nothing arrives, and no end is
 * told. MongoDB's own tests use mongobridge like this. With test commands enabled, a mongod says its address
 * in the first message of a connection.
 */
export class Bridge implements AsyncDisposable {
  readonly #target: number;
  readonly #server = createServer({ noDelay: true }, (client) => this.#join(client));
  readonly #links = new Set<Link>();
  #isCut: (source: Source) => boolean = () => false;

  /** @param target the port of the member */
  constructor(target: number) {
    this.#target = target;
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Cuts the way for these sources, old connections and new ones, and opens it for all others. */
  cut(isCut: (source: Source) => boolean): void {
    this.#isCut = isCut;
    for (const link of this.#links) this.#flow(link);
  }

  #join(client: Socket): void {
    const server = createConnection({ host: '127.0.0.1', port: this.#target, noDelay: true });
    const link: Link = { client, server, source: undefined };
    this.#links.add(link);
    const end = () => {
      this.#links.delete(link);
      client.destroy();
      server.destroy();
    };
    // After an error, 'close' follows.
    for (const socket of [client, server]) socket.on('error', () => {}).on('close', end);
    client.on('data', (chunk: Buffer) => {
      link.source ??= sourceIn(chunk);
      server.write(chunk);
      this.#flow(link);
    });
    server.on('data', (chunk: Buffer) => client.write(chunk));
  }

  #flow({ client, server, source }: Link): void {
    const isCut = source !== undefined && this.#isCut(source);
    for (const socket of [client, server]) {
      if (isCut) socket.pause();
      else if (socket.isPaused()) socket.resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const { client } of this.#links) client.destroy();
    await closed;
  }
}

/** In the first message of a connection, as BSON: the field `hostInfo` of a mongod, or the name of an application. */
function sourceIn(message: Buffer): Source {
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
