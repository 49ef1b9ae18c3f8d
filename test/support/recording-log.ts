import { EventEmitter } from 'node:events';
import type {
  ConnectionError,
  PetCreated,
  RequestLog,
  RequestRecord,
} from '../../src/adapters/http/contract/request-log.ts';
import { waitFor } from './wait-for.ts';

type Failure = { readonly error: unknown; readonly requestId: string | undefined };

/** A log that keeps the reports of the HTTP adapter, so that a test can read them. */
export class RecordingLog implements RequestLog {
  readonly records: RequestRecord[] = [];
  readonly failures: Failure[] = [];
  readonly created: PetCreated[] = [];
  readonly notCounted: Failure[] = [];
  readonly connectionErrors: ConnectionError[] = [];
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

  connectionError(error: ConnectionError): void {
    this.connectionErrors.push(error);
    this.#reports.emit('connection error');
  }

  /** Waits for the connection error at this index. */
  connectionErrorAt(index: number): Promise<ConnectionError> {
    return waitFor(this.#reports, 'connection error', () => this.connectionErrors[index]);
  }

  /** Waits for the record at this index, because a client may receive its answer before the record is made. */
  record(index: number): Promise<RequestRecord> {
    return waitFor(this.#reports, 'answered', () => this.records[index]);
  }
}
