/**
 * The spans of an event: created in a transaction, sent by the outbox, processed by bindings, retried, replayed.
 *
 * The engine decides where a span begins and ends; an implementation knows the library. Without a tracer in the runtime no
 * span exists, and the trace headers of events are copied like all others.
 */

/** An event that is being created. */
export interface CreateScope {
  readonly eventType: string
  /** Undefined while it has no id yet. */
  readonly eventId: string | undefined
  /** The prefix of the outbox that stores it; undefined if it is published directly. */
  readonly outbox: string | undefined
}

/** The span of an event that is being created. */
export interface CreateSpan {
  /** The headers that carry its context to every later span. */
  readonly headers: Readonly<Record<string, string>>
  /** @param error - the reason why the event was not written */
  end(error?: unknown): void
}

/** A record that is sent to Kafka. */
export interface SendScope {
  readonly topic: string
  /** The context that the event was created in, from its headers. */
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
  /** The span that sends, if that is not the one that created the event: a failed delivery. */
  readonly parent?: string | undefined
  readonly eventId?: string | undefined
  /** 1 for the first attempt of a row. */
  readonly attempt?: number | undefined
}

/** The span of a record that is sent. */
export interface SendSpan {
  run<T>(work: () => T): T
  /** Ends the span of a record that is in the log. */
  sent(at: { readonly partition: number; readonly offset: bigint } | undefined): void
  failed(error: unknown): void
}

/** A record that is delivered to a handler. */
export interface ProcessScope {
  readonly binding: string
  readonly cluster: string
  readonly groupId: string
  readonly consumerInstance: string
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly isTombstone: boolean
  readonly key: Uint8Array | null
  /** 0 on the source. */
  readonly tier: number
  /** The delivery within the tier, from 1. */
  readonly attempt: number
  readonly replayCount: number
  /** The position of its first delivery; undefined on the source. */
  readonly original: { readonly topic: string; readonly partition: number; readonly offset: bigint } | undefined
  readonly eventId: string | undefined
  /** The operation that wrote this copy. */
  readonly operation: string | undefined
  /** The context that the event was created in. */
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
  readonly baggage: string | undefined
  /** The delivery that failed before this one. */
  readonly attemptTraceparent: string | undefined
  /** The number of records and the contexts of some of them, for a call with many. */
  readonly batch: { readonly count: number; readonly traceparents: readonly string[] } | undefined
}

/** The result of a delivery. */
export interface ProcessEnd {
  readonly outcome: 'DONE' | 'SKIP' | 'RETRY' | 'DEAD_LETTER' | 'PAUSE'
  /** The last error of the handler. */
  readonly error: unknown
  /** The reason of a dead letter. */
  readonly reason: string | undefined
}

/** The span of a delivery. */
export interface ProcessSpan {
  /** Its own context: the next attempt links to it. */
  readonly traceparent: string
  /** The fields that tie log lines to it. */
  readonly logFields: Readonly<Record<string, string>>
  /** Runs the handler: spans that it makes become children. */
  run<T>(work: () => T): T
  end(end: ProcessEnd): void
}

/** Makes spans. Calls are on the hot path: an implementation neither throws nor waits. */
export interface Tracer {
  /** SAMPLED: the engine asks for spans only where the context is sampled or missing, and for failures. */
  readonly spans: 'SAMPLED' | 'ALL'
  create(of: CreateScope): CreateSpan
  send(of: SendScope): SendSpan
  process(of: ProcessScope): ProcessSpan
  /**
   * Makes the span of a failed delivery whose context is not sampled. Undefined: there are too many of them.
   *
   * @param startMs - epoch milliseconds
   * @returns its context
   */
  failed(of: ProcessScope, startMs: number, end: ProcessEnd): string | undefined
}

const wellFormed = /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Returns true for a `traceparent` of version 00 or later, as W3C Trace Context defines it. */
export function isTraceparent(value: string): boolean {
  return wellFormed.test(value) && !value.startsWith('ff')
}

/** Returns whether a tracer wants a span for this context. A broken one counts as missing. */
export function wantsSpan(tracer: Pick<Tracer, 'spans'>, traceparent: string | undefined): boolean {
  if (tracer.spans === 'ALL' || traceparent === undefined || !isTraceparent(traceparent)) return true
  return isSampledFlag(traceparent.charCodeAt(54))
}

/** Returns whether the last hexadecimal digit of a `traceparent` says that its trace is sampled. */
export function isSampledFlag(digit: number): boolean {
  // '0' to '9' are 0x30 to 0x39, and 'a' to 'f' are 0x61 to 0x66.
  return ((digit >= 0x61 ? digit - 0x57 : digit - 0x30) & 1) === 1
}
