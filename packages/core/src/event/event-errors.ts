import { type ErrorContext, WaybillError } from '../errors.ts'
import { nearest } from '../option/nearest.ts'

/** One place where an event is not what its schema or its wire format says. */
export interface SchemaViolation {
  /** Where: `items[0].price`, `headers.eventType`; empty for the payload as a whole. */
  readonly path: string
  /** The violation at this path. */
  readonly message: string
}

/** Bounds what a hostile payload can put into logs and dead letter headers. */
const mostViolations = 20
const longestName = 100
const longestViolation = 300

/**
 * An event that is not what its schema or its wire format demands. Permanent: the same bytes fail again, so a record
 * goes to the dead letters without a retry.
 */
export class SchemaViolationError extends WaybillError {
  static override readonly code = 'WAYBILL_SCHEMA_VIOLATION'
  /** The violations; at most the first twenty. */
  readonly violations: readonly SchemaViolation[]

  constructor(subject: string, violations: readonly SchemaViolation[], context: ErrorContext = {}) {
    const kept = violations.slice(0, mostViolations)
    const listed = kept.map(({ path, message }) => clip(path === '' ? message : `${path}: ${message}`))
    if (violations.length > kept.length) listed.push(`and ${violations.length - kept.length} more`)
    super(`${subject} violates its schema: ${listed.join('; ')}.`, context)
    this.violations = Object.freeze(kept)
  }
}

/** Bytes that are not what they should be: no UTF-8, no JSON, no value at all. Permanent. */
export class ParseError extends WaybillError {
  static override readonly code = 'WAYBILL_PARSE_FAILED'
}

/** A name that the event catalog does not have. Permanent for this version of the program. */
export class UnknownEventTypeError extends WaybillError {
  static override readonly code = 'WAYBILL_EVENT_TYPE_UNKNOWN'
  readonly eventType: string

  constructor(eventType: string, known: Iterable<string>) {
    const meant = nearest(eventType, known)
    super(
      `The catalog has no event called ${quote(eventType)}${meant === undefined ? '.' : `; did you mean ${quote(meant)}?`}`,
      {
        impact: 'Nothing was written, and a record that was read keeps its bytes.',
        hint: 'Define it with defineEvents, or have its producer use another topic.',
      },
    )
    this.eventType = eventType
  }
}

/** A payload above 1,048,576 bytes, or above what is left of a record beside its key and headers. */
export class PayloadTooLargeError extends WaybillError {
  static override readonly code = 'WAYBILL_PAYLOAD_TOO_LARGE'
  readonly payloadBytes: number

  /** @param otherwise what makes room for it, where something does: `raise …` */
  constructor(eventType: string, payloadBytes: number, maxBytes: number, otherwise?: string) {
    const elsewhere = 'Store large content elsewhere and put a reference to it into the event'
    super(`The payload of ${quote(eventType)} has ${payloadBytes} bytes; at most ${maxBytes} are allowed.`, {
      impact: 'Nothing was written.',
      hint: otherwise === undefined ? `${elsewhere}.` : `${elsewhere}, or ${otherwise}.`,
    })
    this.payloadBytes = payloadBytes
  }
}

function clip(text: string): string {
  return text.length > longestViolation ? `${text.slice(0, longestViolation)}…` : text
}

/** A name from outside, short and on one line. */
export function quote(name: string): string {
  return JSON.stringify(name.length > longestName ? `${name.slice(0, longestName)}…` : name)
}
