/** The setup of the connector for each case, and the kind of its handler. */

import type { Binding } from '@waybill/connector'

/** A binding and the kind of its handler. */
export interface Setup {
  readonly binding: Partial<Omit<Binding, 'handler'>>
  readonly handler: 'RETURNS' | 'BATCH' | 'SLEEPS' | 'THROWS'
  /** Records metrics and subscribes to engine events, as an exporter does. */
  readonly hasTelemetry?: boolean
  /** Runs the client alone, which commits after this many polls. */
  readonly pollsPerCommit?: number
  /** The event that is counted until all records are done: handler returned, dead letter acknowledged, or dead letter read. */
  readonly done: 'HANDLED' | 'CONFIRMED' | 'READ'
}

/** Polls of 500, like Spring's consumers; all other options are defaults. */
const polls = { maxPollRecords: 500 }
const noTier0 = { tier0: { maxAttempts: 1 } }

export const setups = {
  /** With retry and breaker, like the peer. */
  MANUAL: {
    binding: { ...polls, ackMode: 'MANUAL', circuitBreaker: { enabled: true } },
    handler: 'RETURNS',
    done: 'HANDLED',
  },
  MANUAL_IMMEDIATE: {
    binding: { ...polls, ackMode: 'MANUAL_IMMEDIATE' },
    handler: 'RETURNS',
    done: 'HANDLED',
  },
  SLOW_BY_KEY: {
    binding: { ...polls, ackMode: 'MANUAL', parallelism: 'KEY', maxInFlight: 256 },
    handler: 'SLEEPS',
    done: 'HANDLED',
  },
  /** A batch handler, like the raw client. */
  BULK: { binding: { ...polls, listenerType: 'BATCH' }, handler: 'BATCH', done: 'HANDLED' },
  /** Makes as many commits as the connector, which commits batches of about four partitions at once. */
  RAW: { binding: polls, handler: 'BATCH', done: 'HANDLED', pollsPerCommit: 4 },
  RAW_UNCOMMITTED: { binding: polls, handler: 'BATCH', done: 'HANDLED', pollsPerCommit: Number.POSITIVE_INFINITY },
  /** Like MANUAL, except for the listener type. */
  BATCH: {
    binding: { ...polls, listenerType: 'BATCH', circuitBreaker: { enabled: true } },
    handler: 'RETURNS',
    done: 'HANDLED',
  },
  /** Like MANUAL. */
  TELEMETRY: {
    binding: { ...polls, ackMode: 'MANUAL', circuitBreaker: { enabled: true } },
    handler: 'RETURNS',
    done: 'HANDLED',
    hasTelemetry: true,
  },
  DEAD_LETTERS: {
    binding: { ...polls, ackMode: 'MANUAL', retry: { ...noTier0, tiers: [] } },
    handler: 'THROWS',
    done: 'CONFIRMED',
  },
  TIERS: {
    binding: {
      ...polls,
      ackMode: 'MANUAL',
      retry: { ...noTier0, tiers: [200, 400, 800].map((delayMs) => ({ delayMs, maxAttempts: 1 })) },
    },
    handler: 'THROWS',
    done: 'READ',
  },
} as const satisfies Readonly<Record<string, Setup>>

/** Names of {@link setups}. */
export type SetupName = keyof typeof setups
