/**
 * What the handler of a transactional binding wants written. It is kept in memory until the record is settled by that very
 * call: a call that failed, was timed out or is repeated leaves nothing (I13).
 *
 *     call 1 ── send, send ──▶ fails ──▶ forgotten          call 2 ── send ──▶ succeeds ──▶ taken
 *                   └── sends after that are refused              └── sends after that are refused
 */

import { Buffer } from 'node:buffer'
import { StateError } from '@waybill/core'
import type { OutRecord } from '@waybill/kafka'
import { checkHeader, checkRecord, fieldBytes, headerFields, recordBytes } from '@waybill/kafka/internal'
import { OutputRecordTooLargeError, OutputsTooLargeError } from './output-errors.ts'

/** What one call may do. */
export interface CallOutputs {
  /** @throws ArgumentError; OutputRecordTooLargeError; OutputsTooLargeError; StateError when the call is over */
  send(record: OutRecord): void
}

/** What may be sent. */
export interface OutputLimits {
  /** By one call, with what each output takes beside its bytes. */
  readonly ofCall: number
  /** In one record, as a producer counts: what is larger would be refused once its record is settled. */
  readonly ofRecord: number
}

/** What an output takes beside its bytes until it is acknowledged: objects, promises, its place in a batch. */
const overheadBytes = 1_000

/** What an output takes in memory, roughly. */
export function bytesOf({ key, value, headers = [] }: OutRecord): number {
  let bytes = overheadBytes + (key?.length ?? 0) + (value?.length ?? 0)
  for (const [name, content] of headers) bytes += name.length + (content?.length ?? 0)
  return bytes
}

/**
 * Nothing tells the handler when its record is written, so it may use its object and its buffers for the next one at once.
 * Headers are read once: an iterator of the user's may not be there a second time.
 *
 * @throws ArgumentError for a header that is none
 */
function copyOf(record: OutRecord): OutRecord {
  const headers = [...(record.headers ?? [])].map((pair): readonly [string, Buffer | null] => {
    checkHeader(pair)
    return [pair[0], bytesCopied(pair[1])]
  })
  return { ...record, key: bytesCopied(record.key), value: bytesCopied(record.value), headers }
}

/** @throws OutputRecordTooLargeError */
function checkSize({ topic, key, value, headers }: OutRecord, maxBytes: number): void {
  const bytes = recordBytes({ fieldBytes: fieldBytes({ key, value, headerFields: headerFields(headers) }) })
  if (bytes > maxBytes) throw new OutputRecordTooLargeError(topic, bytes, maxBytes)
}

function bytesCopied(bytes: Buffer | null): Buffer | null {
  return bytes === null ? null : Buffer.from(bytes)
}

/** The outputs of one record. */
export class Outputs {
  readonly #maxBytes: OutputLimits
  #call: Call | undefined
  #calls = 0
  #refusal: Error | undefined

  constructor(maxBytes: OutputLimits) {
    this.#maxBytes = maxBytes
  }

  /** How often the handler was called. */
  get calls(): number {
    return this.#calls
  }

  /** Why what the last call has sent cannot be written. */
  get refusal(): Error | undefined {
    return this.#refusal
  }

  /** Its topic refused an output for good: no further call is made. */
  refuse(error: Error): void {
    this.#refusal = error
  }

  /** Another call begins, and the one before counts no more. */
  begin(): CallOutputs {
    this.#call?.close()
    this.#call = undefined
    if (this.#refusal !== undefined) throw this.#refusal
    this.#calls++
    this.#call = new Call(this.#maxBytes)
    return this.#call
  }

  /** The call is over, or its time is: it can send no more. */
  end(): void {
    this.#call?.close()
  }

  /** What the last call has sent; it can send no more. */
  take(): readonly OutRecord[] {
    this.#call?.close()
    return this.#call?.records ?? []
  }
}

class Call implements CallOutputs {
  readonly records: OutRecord[] = []
  readonly #maxBytes: OutputLimits
  #bytes = 0
  #isOver = false

  constructor(maxBytes: OutputLimits) {
    this.#maxBytes = maxBytes
  }

  send(record: OutRecord): void {
    if (this.#isOver)
      throw new StateError('The call of the handler is over.', {
        impact: 'This record is not written.',
        hint:
          'Send before the handler returns, and await everything it begins. A call is also over once handlerTimeoutMs has ' +
          'passed: stop when context.signal aborts, or raise it.',
      })
    checkRecord(record)
    const kept = copyOf(record)
    checkSize(kept, this.#maxBytes.ofRecord)
    this.#bytes += bytesOf(kept)
    if (this.#bytes > this.#maxBytes.ofCall) throw new OutputsTooLargeError(this.#bytes, this.#maxBytes.ofCall)
    this.records.push(kept)
  }

  close(): void {
    this.#isOver = true
  }
}
