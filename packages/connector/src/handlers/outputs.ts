/**
 * The outputs of a transactional binding's handler. They are buffered until the call settles its record. A call that
 * failed, timed out or was repeated leaves no outputs (I13).
 *
 *     call 1 ── send, send ──▶ fails ──▶ discarded          call 2 ── send ──▶ succeeds ──▶ taken
 *                   └── later sends throw                         └── later sends throw
 */

import { Buffer } from 'node:buffer'
import { StateError } from '@waybill/core'
import type { OutRecord } from '@waybill/kafka'
import { checkHeader, checkRecord, fieldBytes, headerFields, recordBytes } from '@waybill/kafka/internal'
import { OutputRecordTooLargeError, OutputsTooLargeError } from './output-errors.ts'

/** The outputs of one handler call. */
export interface CallOutputs {
  /** Buffers an output. @throws ArgumentError; OutputRecordTooLargeError; OutputsTooLargeError; StateError if late */
  send(record: OutRecord): void
}

/** Size limits of outputs, in bytes. */
export interface OutputLimits {
  /** The limit of one call, including the overhead of each output. */
  readonly ofCall: number
  /**
   * The limit of one record, counted as a producer does. A larger one would be rejected after its record is settled.
   */
  readonly ofRecord: number
}

/** The memory overhead of an output until it is acknowledged: objects, promises, its slot in a batch. */
const overheadBytes = 1_000

/** Estimates the memory of an output. */
export function bytesOf({ key, value, headers = [] }: OutRecord): number {
  let bytes = overheadBytes + (key?.length ?? 0) + (value?.length ?? 0)
  for (const [name, content] of headers) bytes += name.length + (content?.length ?? 0)
  return bytes
}

/**
 * Copies a record, because the handler may reuse its object and buffers immediately. Headers are read once: an iterator
 * may not be repeatable.
 *
 * @throws ArgumentError for an invalid header
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

  /** The number of handler calls. */
  get calls(): number {
    return this.#calls
  }

  /** The reason the outputs of the last call cannot be written. */
  get refusal(): Error | undefined {
    return this.#refusal
  }

  /** Marks an output as permanently rejected by its topic, so that no further call is made. */
  refuse(error: Error): void {
    this.#refusal = error
  }

  /** Begins a call, and discards the outputs of the previous one. */
  begin(): CallOutputs {
    this.#call?.close()
    this.#call = undefined
    if (this.#refusal !== undefined) throw this.#refusal
    this.#calls++
    this.#call = new Call(this.#maxBytes)
    return this.#call
  }

  /** Closes the call after its end or its timeout. Later sends throw. */
  end(): void {
    this.#call?.close()
  }

  /** Closes the last call and returns its outputs. */
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
      throw new StateError('Cannot send a record: the handler call has ended.', {
        impact: 'This record is not written.',
        hint:
          'Send before the handler returns, and await everything it starts. A call also ends after handlerTimeoutMs: ' +
          'stop when context.signal aborts, or raise the timeout.',
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
