/** What the thread is asked for. `verify` tells it to read the log before, because it may have lost something. */
export type Checkpoint = { readonly mode: 'RESTART' | 'TRUNCATE'; readonly verify?: true };

/** The answer when another connection was reading or writing. */
export const BUSY = 'another program keeps reading the file';

/**
 * The program of the thread that makes checkpoints. It answers with nothing or with a problem. It is a text, because a
 * single executable has no file for it.
 *
 * Its connection stays open. A checkpoint that is not complete writes pages that it does not sync, and only on the same
 * descriptor a later sync is sure to be told of their loss. `timeout` is how long it waits for a read or a write to end.
 *
 * After a failed flush, the kernel may drop pages of the log that it could not write, and SQLite would copy what is left
 * in their place over good pages. So the log is read and its checksums are verified first:
 * https://www.sqlite.org/fileformat.html#the_write_ahead_log
 */
export const CHECKPOINT_PROGRAM = `
  const fs = require('node:fs');
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData: file } = require('node:worker_threads');
  let db;

  function isLogIntact(frames) {
    const log = fs.openSync(file + '-wal');
    const read = (length) => {
      const bytes = Buffer.alloc(length);
      fs.readSync(log, bytes);
      return bytes;
    };
    try {
      const header = read(32);
      const word = header[3] % 2 === 1 ? 'readUInt32BE' : 'readUInt32LE';
      const sums = new Uint32Array(2);
      const add = (bytes) => {
        for (let at = 0; at < bytes.length; at += 8) {
          sums[0] += bytes[word](at) + sums[1];
          sums[1] += bytes[word](at + 4) + sums[0];
        }
      };
      add(header.subarray(0, 24));
      for (let frame = 0; frame < frames; frame++) {
        const head = read(24);
        add(head.subarray(0, 8));
        add(read(header.readUInt32BE(8)));
        if (head.readUInt32BE(16) !== sums[0] || head.readUInt32BE(20) !== sums[1]) return false;
      }
      return true;
    } finally {
      fs.closeSync(log);
    }
  }

  function checkpoint({ mode, verify }) {
    db ??= new DatabaseSync(file, { timeout: 100 });
    db.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON');
    if (verify && !isLogIntact(db.prepare('PRAGMA wal_checkpoint(NOOP)').get().log)) {
      return 'its end is lost; end the service with SIGKILL and start it again';
    }
    return db.prepare('PRAGMA wal_checkpoint(' + mode + ')').get().busy === 0 ? undefined : '${BUSY}';
  }

  parentPort.on('message', (job) => {
    if (job === 'close') {
      db?.close();
      return parentPort.close();
    }
    try {
      parentPort.postMessage(checkpoint(job));
    } catch (error) {
      parentPort.postMessage(String(error));
    }
  });
`;
