import {
  createEnvelope,
  createMemoryLogger,
  createMemoryMetrics,
  defineEvents,
  type EventEnvelope,
  type ListenerContext,
  type RetryAfter,
  type Runtime,
} from '@waybill/core'
import { createListenerRegistry } from '@waybill/outbox'
import { type ListenerTable } from '@waybill/outbox/internal'
import { createVirtualRuntime, type VirtualRuntime } from '@waybill/sim'
import { Destinations } from '../../src/destination/destinations.ts'
import { MemoryOutbox } from './memory-outbox.ts'

/** A schema that takes everything: tests of the outbox are not about payloads. */
const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const

export const events = defineEvents({ 'order.placed': { topic: 'orders', schema: anything, key: () => 'order-1' } })

/** The n-th event: `order.placed` of `order-n`. */
export function orderEvent(
  n: number,
  fields: { readonly eventType?: string; readonly aggregateType?: string } = {},
): EventEnvelope {
  return createEnvelope({
    eventId: `event-${n}`,
    eventType: 'order.placed',
    aggregateId: `order-${n}`,
    occurredAt: Date.UTC(2026, 0, 1),
    payloadJson: `{"n":${n}}`,
    ...fields,
  })
}

/** A call of the harness's listener, as it began. */
export interface Delivered {
  readonly eventId: string
  readonly attempt: number
  readonly at: number
}

/** The result of one listener call; by default it succeeds at once. */
export type Behaviour = (event: EventEnvelope, context: ListenerContext) => Promise<void | RetryAfter>

/** A table in memory, a virtual runtime whose logs and metrics are read back, and a listener that records its calls. */
export interface OutboxHarness {
  readonly runtime: VirtualRuntime
  readonly logger: ReturnType<typeof createMemoryLogger>
  readonly metrics: ReturnType<typeof createMemoryMetrics>
  readonly outbox: MemoryOutbox
  readonly listeners: ListenerTable
  readonly delivered: Delivered[]
  behaviour: Behaviour
  /** The options that every factory needs. */
  readonly base: {
    readonly events: typeof events
    readonly database: MemoryOutbox
    readonly store: MemoryOutbox['store']
    readonly runtime: VirtualRuntime
    readonly listeners: ListenerTable
    readonly purge: false
  }
  /** Waits, in virtual time, until it holds. Fails after a virtual minute. */
  until(holds: () => boolean): Promise<void>
  deliveredIds(): string[]
}

export function createHarness(seed = 1, failpoint: (name: string) => void | Promise<void> = () => {}): OutboxHarness {
  const logger = createMemoryLogger()
  const metrics = createMemoryMetrics()
  const runtime = createVirtualRuntime(seed, { logger, metrics, failpoint })
  const outbox = new MemoryOutbox(runtime)
  const delivered: Delivered[] = []
  const harness: OutboxHarness = {
    runtime,
    logger,
    metrics,
    outbox,
    delivered,
    behaviour: async () => {},
    listeners: createListenerRegistry().register('order.placed', async (event, context) => {
      delivered.push({ eventId: event.eventId, attempt: context.attempt, at: runtime.clock.monotonic() })
      return harness.behaviour(event, context)
    }),
    get base() {
      return {
        events,
        database: outbox,
        store: outbox.store,
        runtime,
        listeners: harness.listeners,
        purge: false,
      } as const
    },
    async until(holds) {
      const endsAt = runtime.clock.monotonic() + 60_000
      while (!holds()) {
        if (runtime.clock.monotonic() > endsAt) throw new Error('What the test waits for did not come.')
        await runtime.timers.sleep(1)
      }
    },
    deliveredIds: () => delivered.map(({ eventId }) => eventId),
  }
  return harness
}

/** Destinations of which none is unavailable, unless a test reports so. */
export function createDestinations(
  { clock, random }: Pick<Runtime, 'clock' | 'random'>,
  destinationsOf?: (event: EventEnvelope) => readonly string[],
): Destinations {
  return new Destinations({ destinationsOf, clock, random, closed: () => {}, opened: () => {} })
}

/** Lines of a level, as texts. */
export function lines(harness: Pick<OutboxHarness, 'logger'>, level: 'WARN' | 'ERROR' | 'INFO'): string[] {
  return harness.logger.lines.filter((line) => line.level === level).map(({ text }) => text)
}
