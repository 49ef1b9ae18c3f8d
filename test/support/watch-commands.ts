import { type CommandStartedEvent, MongoClient } from 'mongodb';

/** The writes and reads that clients of the adapter have sent, each as a text such as `insert pets`. */
export const sentCommands = new Set<string>();

/** The commands that neither change nor read a document. */
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
      // The clients of the tests have another `appName`, or none.
      const isOurs = this.options.appName?.startsWith('petstore');
      if (isOurs && event[0] === 'commandStarted') check(event[1] as CommandStartedEvent);
      return emit.apply(this, event);
    },
  });
}

/**
 * Checks the concerns of a command. A write must wait for the journals of a majority, with a time limit. A read must
 * return only what a majority has.
 *
 * @throws {Error} if the command is weaker. The driver then rejects with this error, and does not send the command
 */
function check({ commandName, command }: CommandStartedEvent): void {
  const { readConcern, writeConcern, commitQuorum, sort, autocommit, $readPreference } = command;
  const name = `${commandName} ${String(command[commandName])}`;
  if (NEUTRAL.has(commandName)) return;
  sentCommands.add([name, ...(commitQuorum === undefined ? [] : [commitQuorum])].join(' '));
  // In a transaction, only the commit has a write concern.
  if (autocommit === false && commandName !== 'commitTransaction') return;
  // The counts of a rate limit may be lost in a failover, so they do not wait for a majority or a disk.
  if (name === 'findAndModify rate_limits') return;
  // The greatest id is read without a majority, because an id is in use before a majority has it.
  const isGreatestId = readConcern?.level === 'local' && sort?.get('_id') === -1;
  const isSafe = ['find', 'aggregate', 'count', 'distinct'].includes(commandName)
    ? isGreatestId || ['majority', 'linearizable'].includes(readConcern?.level)
    : writeConcern?.w === 'majority' && writeConcern.j === true && writeConcern.wtimeout > 0;
  if (isSafe && $readPreference?.mode !== 'nearest') return;
  throw new Error(`${name} is sent with ${JSON.stringify({ readConcern, writeConcern, $readPreference })}`);
}
