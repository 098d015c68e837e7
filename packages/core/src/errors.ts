/**
 * The base of every error Waybill throws.
 *
 * An operator reads these at 3 a.m., so each says four things: what happened, the impact on the data, what to do, and a
 * code that never changes. The code is declared once, as a static of the class; docs/reference/errors.md has a
 * section for each, and a test walks them all.
 */

import { inspect, types } from 'node:util'

// Two copies of a package in one process break `instanceof`; this mark survives them.
const brand = Symbol.for('@waybill/error')

/** The parts of an error beyond its message. */
export interface ErrorContext {
  /** The error that led to this one. */
  readonly cause?: unknown
  /** The impact on the data, as a sentence: "The row stays in the outbox." */
  readonly impact?: string
  /** The next step for the reader, as a sentence. */
  readonly hint?: string
}

/** An error as the admin API, logs and dead letters carry it. */
export interface ErrorJson {
  readonly name: string
  readonly code: string
  readonly message: string
  readonly impact?: string
  readonly hint?: string
  readonly cause?: string
}

/** Base class of all errors thrown by Waybill. Recognize one with {@link isWaybillError}. */
export abstract class WaybillError extends Error {
  /** Stable across versions: match on this, never on the message. */
  static readonly code: string

  static {
    Object.defineProperty(this.prototype, brand, { value: true })
  }

  /** The code of its class. An own property, because loggers and the console print only those. */
  readonly code: string
  /** The message without impact and hint, for callers that give other advice. */
  declare readonly happened: string
  /** The impact on the data; part of the message too. */
  declare readonly impact: string | undefined
  /** The next step for the reader; part of the message too. */
  declare readonly hint: string | undefined

  constructor(what: string, context: ErrorContext = {}) {
    super(sentences([what, context.impact, context.hint]), 'cause' in context ? { cause: context.cause } : undefined)
    this.code = new.target.code
    // Not enumerable, so that a printed error does not say them twice. A subclass is called by its own name without
    // writing it, and may write another.
    Object.defineProperties(this, {
      name: { value: new.target.name, writable: true, configurable: true },
      happened: { value: what ?? '', writable: true, configurable: true },
      impact: { value: context.impact },
      hint: { value: context.hint },
    })
  }

  toJSON(): ErrorJson {
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      ...(this.impact === undefined ? {} : { impact: this.impact }),
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      ...(this.cause === undefined ? {} : { cause: describeThrown(this.cause) }),
    }
  }
}

/** Joins the given parts, adding a period where a part has no end and the next begins no new line. */
function sentences(parts: readonly (string | undefined)[]): string {
  const [first = '', ...others] = parts.filter((part) => part !== undefined)
  return others.reduce(
    (text, part) => `${text}${/(?:[.!?…\s]["')\]]?|[:;])$/.test(text) || /^\s/.test(part) ? '' : '.'} ${part}`,
    first,
  )
}

/** True for every Waybill error, also one that comes from another copy of the package. */
export function isWaybillError(thrown: unknown): thrown is WaybillError {
  try {
    return typeof thrown === 'object' && thrown !== null && (thrown as Record<symbol, unknown>)[brand] === true
  } catch {
    return false // A proxy or getter that throws is not a WaybillError.
  }
}

/** The longest text that goes into headers, rows and log lines. */
const longestText = 2_000

/**
 * A short text for anything that can be thrown: never throws, never empty, at most 2,000 characters. Handlers throw
 * strings, undefined, frozen objects and objects whose getters throw, and none of these may take a partition down with
 * them.
 */
export function describeThrown(thrown: unknown): string {
  try {
    const text = isError(thrown) ? describeError(thrown) : describeValue(thrown)
    return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text
  } catch {
    return 'a value that cannot be read'
  }
}

function describeError(error: Error): string {
  const { name, message } = error
  const headline = name && message ? `${name}: ${message}` : name || message || 'an error without a name'
  if (message || !('errors' in error) || !Array.isArray(error.errors)) return headline
  // Node reports a host of which no address answers this way: all it has to say is in the inner errors.
  const inner = error.errors.slice(0, 3).map((one: unknown) => (isError(one) ? one.message : describeValue(one)))
  return `${headline}: ${inner.join('; ')}`
}

function describeValue(value: unknown): string {
  if (value === '') return 'an empty text'
  if (typeof value === 'string') return value
  return inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY, customInspect: false })
}

/** True for errors of other realms too, as Jest and `node:vm` create them. */
function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error
}

/** Thrown by a handler when a retry cannot help: the record goes straight to the dead letter topic. */
export class NonRetryableError extends WaybillError {
  // Typed as string, so that a user's subclass can have its own code.
  static override readonly code: string = 'WAYBILL_NON_RETRYABLE'
}

/**
 * Thrown by an outbox listener when the destination cannot be reached or does not accept anything now: the event is not
 * at fault. It spends no attempt; events for the destination wait until a probe reaches it.
 */
export class UnavailableError extends WaybillError {
  // Typed as string, so that a user's subclass can have its own code.
  static override readonly code: string = 'WAYBILL_UNAVAILABLE'
  /** One of the event's destinations, see `ListenerRegistry`. Undefined: the narrowest. */
  readonly destination: string | undefined

  constructor(what: string, context: ErrorContext & { readonly destination?: string | undefined } = {}) {
    super(what, context)
    this.destination = context.destination
  }
}

/** An argument that no correct program passes. */
export class ArgumentError extends WaybillError {
  static override readonly code = 'WAYBILL_ARGUMENT_INVALID'
}

/** A call that the current state does not allow. */
export class StateError extends WaybillError {
  // Typed as string, so that a subclass can have its own code.
  static override readonly code: string = 'WAYBILL_STATE_INVALID'
}

/** A switch met a value its union does not have: a bug in Waybill, or data of a newer version. */
export class UnreachableError extends WaybillError {
  static override readonly code = 'WAYBILL_UNREACHABLE'
  constructor(value: never) {
    super(`Met ${describeThrown(value)} where no such value can be.`, { hint: 'Please report this as a bug.' })
  }
}
