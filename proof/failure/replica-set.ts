import type { Document } from 'mongodb';
import { TcpProxy } from '../../test/support/tcp-proxy.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { freePort } from './free-port.ts';
import { Member } from './member.ts';
import { sourceOf } from './source-of.ts';
import { until } from './until.ts';

const NAME = 'failure';
const MEMBER_COUNT = 3;

export type ReplicaSetOptions = {
  /** The settings of the replica set. By default, members elect a new primary after a second. */
  readonly settings?: Document;
  /** The parameters of each mongod. */
  readonly parameters?: Readonly<Record<string, number>>;
  /** Whether each member has a proxy in front of it, which {@link ReplicaSet.isolate} needs. */
  readonly hasProxies?: boolean;
};

/** A replica set of three `mongod` processes on loopback. */
export class ReplicaSet implements AsyncDisposable {
  readonly members: readonly Member[];
  readonly #proxies: ReadonlyMap<Member, TcpProxy>;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    members: readonly Member[],
    proxies: ReadonlyMap<Member, TcpProxy>,
    resources: AsyncDisposableStack,
  ) {
    this.members = members;
    this.#proxies = proxies;
    this.#resources = resources;
  }

  static async start({
    settings = { electionTimeoutMillis: 1_000, heartbeatIntervalMillis: 200 },
    parameters = {},
    hasProxies = false,
  }: ReplicaSetOptions = {}): Promise<ReplicaSet> {
    await using stack = new AsyncDisposableStack();
    const members: Member[] = [];
    const proxies = new Map<Member, TcpProxy>();
    for (let index = 0; index < MEMBER_COUNT; index++) {
      const { path: directory } = stack.use(await temporaryDirectory(NAME));
      const [port, proxyPort] = [await freePort(), hasProxies ? await freePort() : undefined];
      const member = stack.use(new Member({ directory, port, setName: NAME, parameters, proxyPort }));
      members.push(member);
      if (proxyPort === undefined) continue;
      const proxy = stack.use(new TcpProxy({ host: '127.0.0.1', port }));
      proxies.set(member, await proxy.listen(proxyPort));
    }
    await Promise.all(members.map((member) => member.start()));
    await members[0]?.admin({
      replSetInitiate: {
        _id: NAME,
        members: members.map(({ address }, _id) => ({ _id, host: address })),
        settings,
      },
    });
    const set = new ReplicaSet(members, proxies, stack.move());
    await set.whole();
    return set;
  }

  url(database: string): string {
    return `mongodb://${this.members.map(({ address }) => address).join(',')}/${database}?replicaSet=${NAME}`;
  }

  /** Waits until a member is primary, and returns this member. */
  async primary(): Promise<Member> {
    return until('a primary', async () => {
      const running = this.members.filter((member) => member.isResponsive);
      const greetings = await Promise.all(running.map((member) => member.hello()));
      return running[greetings.findIndex((hello) => hello?.['isWritablePrimary'] === true)];
    });
  }

  /**
   * Cuts the connections between `member` and the other members, in both directions, and the connections of the
   * services to `member`.
   *
   * @param staysWithMember returns whether a service stays connected to `member`. Its argument is the `appName` in the
   *   database URL of the service. Such a service reaches only `member`. Each other service reaches the other members.
   */
  isolate(member: Member, staysWithMember: (application: string) => boolean = () => false): void {
    for (const [target, proxy] of this.#proxies) {
      proxy.cut((firstMessage) => {
        if (firstMessage === undefined) return false;
        const source = sourceOf(firstMessage);
        const isMember = this.members.some(({ port }) => source === `${port}`);
        const isOnMemberSide = isMember ? source === `${member.port}` : staysWithMember(source);
        return isOnMemberSide !== (target === member);
      });
    }
  }

  /** Ends the effect of {@link isolate}: all members reach each other again. */
  endIsolation(): void {
    for (const proxy of this.#proxies.values()) proxy.resume();
  }

  async secondaries(): Promise<readonly Member[]> {
    const primary = await this.primary();
    return this.members.filter((member) => member !== primary);
  }

  /** Waits until every member runs and has all earlier writes, so that no rollback can remove them. */
  async whole(): Promise<void> {
    const { operationTime } = await this.#write(MEMBER_COUNT);
    for (const member of this.members) {
      await until(`${member.address} is up to date`, async () => {
        const hello = await member.hello();
        const isMember = hello?.['isWritablePrimary'] === true || hello?.['secondary'] === true;
        const majorityOpTime = isMember ? hello['lastWrite'].majorityOpTime : undefined;
        return majorityOpTime !== undefined && operationTime.lte(majorityOpTime.ts);
      });
    }
  }

  /** Waits until the primary can commit a write to a majority. */
  async waitForMajorityWrites(): Promise<void> {
    await this.#write('majority');
  }

  /** Reads the documents of a collection from each member. No rollback can remove them. */
  async read(database: string, collection: string): Promise<ReadonlyMap<string, readonly Document[]>> {
    await this.whole();
    const reads = this.members.map(async (member) => {
      return [`member ${member.address}`, await member.read(database, collection)] as const;
    });
    return new Map(await Promise.all(reads));
  }

  /** Writes an entry without an effect to the oplog, and waits until `w` members have it. */
  async #write(w: number | 'majority'): Promise<Document> {
    return until(`a write to ${w} members`, async () => {
      const primary = await this.primary();
      const note = { appendOplogNote: 1, data: {}, writeConcern: { w, wtimeout: 20_000 } };
      return primary.admin(note).catch(() => undefined);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}
