import { EventEmitter, once } from 'node:events';
import type {
  ConnectionTrouble,
  PetCreated,
  RequestLog,
  RequestRecord,
} from '../../src/adapters/http/request-log.ts';

type Failure = { readonly error: unknown; readonly requestId: string | undefined };

/** Keeps what the HTTP adapter reports. */
export class RecordingLog implements RequestLog {
  readonly records: RequestRecord[] = [];
  readonly failures: Failure[] = [];
  readonly created: PetCreated[] = [];
  readonly notCounted: Failure[] = [];
  readonly troubles: ConnectionTrouble[] = [];
  readonly #reports = new EventEmitter();

  answered(request: RequestRecord): void {
    this.records.push(request);
    this.#reports.emit('answered');
  }

  failed(error: unknown, requestId: string | undefined): void {
    this.failures.push({ error, requestId });
  }

  petCreated(created: PetCreated): void {
    this.created.push(created);
  }

  notLimited(error: unknown, requestId: string): void {
    this.notCounted.push({ error, requestId });
  }

  connectionTrouble(trouble: ConnectionTrouble): void {
    this.troubles.push(trouble);
    this.#reports.emit('trouble');
  }

  /** The report of trouble at this place, once it is there. */
  async trouble(index: number): Promise<ConnectionTrouble> {
    for (;;) {
      const trouble = this.troubles[index];
      if (trouble !== undefined) return trouble;
      await once(this.#reports, 'trouble');
    }
  }

  /** The record at this place, once it is there: it is made after the client has its answer. */
  async record(index: number): Promise<RequestRecord> {
    for (;;) {
      const record = this.records[index];
      if (record !== undefined) return record;
      await once(this.#reports, 'answered');
    }
  }
}
