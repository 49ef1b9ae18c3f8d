import { type CommandStartedEvent, MongoClient } from 'mongodb';

/** Writes and reads that clients of the adapter have sent, as `insert pets`. */
export const sent = new Set<string>();

/** They neither change a document nor read one. */
const NEUTRAL = new Set(
  'hello ping connectionStatus endSessions getMore killCursors listCollections listIndexes saslStart saslContinue'.split(
    ' ',
  ),
);

/** Watches every client of this process. The driver has no event that is common to all clients. */
export function watchCommands(): void {
  const emit = MongoClient.prototype.emit as (...event: unknown[]) => boolean;
  Object.assign(MongoClient.prototype, {
    emit(this: MongoClient, ...event: unknown[]) {
      // Those of the tests have other names, or none.
      const isOurs = this.options.appName?.startsWith('petstore');
      if (isOurs && event[0] === 'commandStarted') check(event[1] as CommandStartedEvent);
      return emit.apply(this, event);
    },
  });
}

/**
 * A write waits for the journals of a majority, within a limit, and a read shows only what a majority has.
 *
 * @throws {Error} which the driver passes on to the caller, instead of sending the command
 */
function check({ commandName, command }: CommandStartedEvent): void {
  const { readConcern, writeConcern, commitQuorum, sort, autocommit, $readPreference } = command;
  const name = `${commandName} ${String(command[commandName])}`;
  if (NEUTRAL.has(commandName)) return;
  sent.add([name, ...(commitQuorum === undefined ? [] : [commitQuorum])].join(' '));
  // The end of a transaction has its write concern.
  if (autocommit === false && commandName !== 'commitTransaction') return;
  // A failover may forget counts of a rate limit: they wait for no majority and no disk.
  if (name === 'findAndModify rate_limits') return;
  // An id is in use before a majority has it.
  const isGreatestId = readConcern?.level === 'local' && sort?.get('_id') === -1;
  const isSafe = ['find', 'aggregate', 'count', 'distinct'].includes(commandName)
    ? isGreatestId || ['majority', 'linearizable'].includes(readConcern?.level)
    : writeConcern?.w === 'majority' && writeConcern.j === true && writeConcern.wtimeout > 0;
  if (isSafe && $readPreference?.mode !== 'nearest') return;
  throw new Error(`${name} is sent with ${JSON.stringify({ readConcern, writeConcern, $readPreference })}`);
}
