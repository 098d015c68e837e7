/** How our connector is set up for each case, and what its handler does. */

import type { Binding } from '@waybill/connector'

/** A binding, and its handler in a word. */
export interface Setup {
  readonly binding: Partial<Omit<Binding, 'handler'>>
  readonly handler: 'NOTHING' | 'LOOKS' | 'SLEEPS' | 'THROWS'
  /** Metrics are kept and engine events listened to, as an exporter does. */
  readonly hasTelemetry?: boolean
  /** No connector: our client alone, which commits after so many polls. */
  readonly pollsPerCommit?: number
  /** What is counted until all records are done: returns of the handler, dead letters confirmed, or dead letters read. */
  readonly done: 'HANDLED' | 'CONFIRMED' | 'READ'
}

/** Polls of 500 as Spring's consumers make them; everything else that is not named is the default. */
const polls = { maxPollRecords: 500 }
const noTier0 = { tier0: { maxAttempts: 1 } }

export const setups = {
  /** With retry and breaker, as the peer. */
  MANUAL: {
    binding: { ...polls, ackMode: 'MANUAL', circuitBreaker: { enabled: true } },
    handler: 'NOTHING',
    done: 'HANDLED',
  },
  MANUAL_IMMEDIATE: {
    binding: { ...polls, ackMode: 'MANUAL_IMMEDIATE' },
    handler: 'NOTHING',
    done: 'HANDLED',
  },
  SLOW_BY_KEY: {
    binding: { ...polls, ackMode: 'MANUAL', parallelism: 'KEY', maxInFlight: 256 },
    handler: 'SLEEPS',
    done: 'HANDLED',
  },
  SLOW_BY_PARTITION: { binding: { ...polls, ackMode: 'MANUAL' }, handler: 'SLEEPS', done: 'HANDLED' },
  /** The handler takes all of a batch, and looks at each value, as the raw client does. */
  BULK: { binding: { ...polls, listenerType: 'BATCH' }, handler: 'LOOKS', done: 'HANDLED' },
  /** As many commits as the connector makes, which carries batches of four partitions in one. */
  RAW: { binding: polls, handler: 'LOOKS', done: 'HANDLED', pollsPerCommit: 4 },
  RAW_UNCOMMITTED: { binding: polls, handler: 'LOOKS', done: 'HANDLED', pollsPerCommit: Number.POSITIVE_INFINITY },
  /** As MANUAL, but for the listener. */
  BATCH: {
    binding: { ...polls, listenerType: 'BATCH', circuitBreaker: { enabled: true } },
    handler: 'NOTHING',
    done: 'HANDLED',
  },
  /** As MANUAL. */
  TELEMETRY: {
    binding: { ...polls, ackMode: 'MANUAL', circuitBreaker: { enabled: true } },
    handler: 'NOTHING',
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
