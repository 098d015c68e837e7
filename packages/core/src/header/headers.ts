import { ArgumentError, describeThrown } from '../errors.ts'
import { showValue } from '../option/show-value.ts'
import { latestTimestampMs, readInteger, readOffset } from './header-number.ts'

/** One header as Kafka carries it. Null and empty are different values. */
export type HeaderPair = readonly [name: string, value: Buffer | null]

/** A value that may be written into a header: bytes as they are, text as UTF-8, whole numbers as decimal text. */
export type HeaderValue = Uint8Array | string | number | bigint | null

/**
 * The headers of a record: an ordered list in which a name may occur several times, exactly as on the wire. It never
 * changes; `with`, `append` and `without` give a new list that shares the values. Where one value is asked for, the last
 * of that name counts, as in Kafka's Java client.
 *
 * Any producer of the topic may write headers. The typed reads therefore never throw and never return NaN or a
 * number outside their bounds: a number beyond a bound counts as the bound, and what is no number counts as absent.
 */
export class RecordHeaders implements Iterable<HeaderPair> {
  /** No headers at all. */
  static readonly empty: RecordHeaders = new RecordHeaders([])

  readonly #pairs: readonly HeaderPair[]

  private constructor(pairs: readonly HeaderPair[]) {
    this.#pairs = pairs
  }

  /** Makes headers from pairs. Buffers are taken over without a copy. */
  static from(pairs: Iterable<readonly [name: string, value: HeaderValue]>): RecordHeaders {
    if (pairs instanceof RecordHeaders) return pairs
    if (typeof pairs?.[Symbol.iterator] !== 'function')
      throw new ArgumentError(`Headers are made from pairs, not from ${showValue(pairs)}.`, {
        hint: 'Of an object, pass Object.entries(headers).',
      })
    const own: HeaderPair[] = []
    for (const pair of pairs) own.push(toPair(pair[0], pair[1]))
    return RecordHeaders.wrap(own)
  }

  /** Wraps pairs that are already in their final form and never change: nothing is checked or copied. */
  static wrap(pairs: readonly HeaderPair[]): RecordHeaders {
    return pairs.length === 0 ? RecordHeaders.empty : new RecordHeaders(pairs)
  }

  /** How many pairs there are; a name that occurs twice counts twice. */
  get size(): number {
    return this.#pairs.length
  }

  [Symbol.iterator](): IterableIterator<HeaderPair> {
    return this.#pairs[Symbol.iterator]()
  }

  /** True when the name occurs, also with a null value. */
  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  /** The bytes of the last value; undefined when the name does not occur. */
  get(name: string): Buffer | null | undefined {
    const pairs = this.#pairs
    for (let index = pairs.length - 1; index >= 0; index--) {
      const pair = pairs[index] as HeaderPair
      if (pair[0] === name) return pair[1]
    }
    return undefined
  }

  /** All values of the name, in their order. */
  getAll(name: string): (Buffer | null)[] {
    const values: (Buffer | null)[] = []
    for (const pair of this.#pairs) if (pair[0] === name) values.push(pair[1])
    return values
  }

  /** The last value as text; undefined when it is absent or null. Bytes that are not UTF-8 become U+FFFD. */
  text(name: string): string | undefined {
    return this.get(name)?.toString('utf8')
  }

  /**
   * The last value as a whole number from `atLeast` to `atMost`; undefined when it is absent or no whole number.
   *
   * @defaultValue atMost 2^31-1, which is what a count or a partition can be on Kafka; atLeast 0
   */
  integer(name: string, atMost?: number, atLeast?: number): number | undefined {
    const bytes = this.get(name)
    return bytes === null || bytes === undefined ? undefined : readInteger(bytes, 0, bytes.length, atMost, atLeast)
  }

  /** The last value as epoch milliseconds, from 1970 to the end of the year 9999: always fit for `new Date`. */
  timestampMs(name: string): number | undefined {
    return this.integer(name, latestTimestampMs)
  }

  /** The last value as an offset, from 0 to 2^63-1. */
  offset(name: string): bigint | undefined {
    const bytes = this.get(name)
    return bytes === null || bytes === undefined ? undefined : readOffset(bytes, 0, bytes.length)
  }

  /** These headers with one value for the name, in the place of its first occurrence, otherwise at the end. */
  with(name: string, value: HeaderValue): RecordHeaders {
    const replacement = toPair(name, value)
    const pairs: HeaderPair[] = []
    let isPlaced = false
    for (const pair of this.#pairs) {
      if (pair[0] !== name) pairs.push(pair)
      else if (!isPlaced) {
        pairs.push(replacement)
        isPlaced = true
      }
    }
    if (!isPlaced) pairs.push(replacement)
    return new RecordHeaders(pairs)
  }

  /** These headers and one more at the end; values the name already has stay. */
  append(name: string, value: HeaderValue): RecordHeaders {
    return new RecordHeaders([...this.#pairs, toPair(name, value)])
  }

  /** These headers without the name, or without every name the function answers true for. */
  without(unwanted: string | ((name: string) => boolean)): RecordHeaders {
    const isUnwanted = typeof unwanted === 'string' ? (name: string) => name === unwanted : unwanted
    // Most records carry nothing unwanted, and then nothing is copied.
    if (!this.#pairs.some((pair) => isUnwanted(pair[0]))) return this
    return new RecordHeaders(this.#pairs.filter((pair) => !isUnwanted(pair[0])))
  }
}

function toPair(name: string, value: HeaderValue): HeaderPair {
  if (typeof name !== 'string') throw new ArgumentError(`A header name is text, not ${typeof name}.`)
  return [name, toBytes(name, value)]
}

function toBytes(name: string, value: HeaderValue): Buffer | null {
  if (value === null || Buffer.isBuffer(value)) return value
  if (typeof value === 'string') return Buffer.from(value, 'utf8')
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return Buffer.from(String(value), 'latin1')
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  throw new ArgumentError(`Header ${JSON.stringify(name)} cannot be ${describeThrown(value)}.`, {
    hint: 'Pass bytes, text, a whole number or null.',
  })
}
