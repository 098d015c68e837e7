import type { LeaseFence } from '@waybill/outbox/internal'
import { expect, test } from 'vitest'
import type { Claims, FetchedRows } from '../../src/claim/claims.ts'
import type { Hold, WorkRow } from '../../src/claim/held-row.ts'
import { InFlight } from '../../src/claim/in-flight.ts'
import { done } from '../../src/dispatch/row-outcome.ts'
import { createOutboxTelemetry } from '../../src/loops/outbox-telemetry.ts'
import { Relay } from '../../src/relay/relay.ts'
import { createDestinations, createHarness, orderEvent } from '../support/outbox-harness.ts'

function holdOf(version: bigint): Hold {
  return { fence: { kind: 'LEASE', owner: 'me', version }, mayStart: () => true }
}

/** A relay over claims that answer what the test puts there, with a delivery that lasts until the test ends it. */
function relaying() {
  const { runtime, outbox } = createHarness()
  const answers: FetchedRows[] = []
  const givenBack: [seq: bigint, hold: Hold][] = []
  const finishes: [seqs: readonly bigint[], fence: LeaseFence][] = []
  const claims: Claims = {
    repeatsRows: false,
    start: async () => {},
    stop: async () => {},
    fetch: async ({ status }) =>
      (status === 'NEW' ? answers.shift() : undefined) ?? { rows: [], hold: holdOf(0n), isCut: false },
    holdNewRows: () => null,
    refused: () => {},
    modeShut: () => {},
    releaseRows: async (rows) => void givenBack.push(...rows.map(({ seq, hold }): [bigint, Hold] => [seq, hold])),
  }
  const delivery = Promise.withResolvers<void>()
  let deliveries = 0
  const inFlight = new InFlight<WorkRow>(runtime.clock)
  const relay = new Relay({
    outbox: 'outbox',
    database: outbox,
    store: {
      ...outbox.store,
      markDone: async (_, rows, fence) => {
        const seqs = rows.map(({ seq }) => seq)
        finishes.push([seqs, fence])
        return seqs
      },
    },
    claims,
    inFlight,
    isModeOpen: () => true,
    destinations: createDestinations(runtime),
    deliver: async () => {
      deliveries++
      await delivery.promise
      return done
    },
    workerCount: 4,
    hotQueueCapacity: 10,
    coldQueueCapacity: 10,
    batchSize: 10,
    maxBufferedBytes: 1_000_000,
    intervalMs: 1_000,
    skipRecentMs: 0,
    drainTimeoutMs: 5_000,
    whenDone: 'KEEP',
    telemetry: createOutboxTelemetry('outbox', runtime),
    runtime,
    finished: () => {},
  })
  const claimed = (hold: Hold, attempts = 0): void => {
    answers.push({
      rows: [{ seq: 1n, eventId: 'event-1', attempts, bytes: 10, event: orderEvent(1) }],
      hold,
      isCut: false,
    })
  }
  return { runtime, relay, claimed, delivery, inFlight, givenBack, finishes, deliveries: () => deliveries }
}

test('a row in flight that others have tried before it is claimed here once more goes on with their attempts', async () => {
  const { runtime, relay, claimed, delivery, inFlight, deliveries } = relaying()
  claimed(holdOf(1n))
  claimed(holdOf(2n), 3)
  await runtime.run(async () => {
    await relay.start(new AbortController().signal)
    await runtime.timers.sleep(1_500)
    expect(inFlight.holderOf('event-1')).toMatchObject({ attempts: 3, attempt: 4 })
    delivery.resolve()
    await runtime.timers.sleep(1_500)
    await relay.stop({ signal: new AbortController().signal, remainingMs: () => 1_000 })
  })
  expect(deliveries()).toBe(1)
})

test('a row in flight that is claimed here once more goes on under the new lease, and is delivered once', async () => {
  const { runtime, relay, claimed, delivery, finishes, givenBack, deliveries } = relaying()
  const again = holdOf(2n)
  claimed(holdOf(1n))
  claimed(again)
  await runtime.run(async () => {
    await relay.start(new AbortController().signal)
    await runtime.timers.sleep(1_500)
    delivery.resolve()
    await runtime.timers.sleep(10)
    await relay.stop({ signal: new AbortController().signal, remainingMs: () => 1_000 })
  })
  expect(deliveries()).toBe(1)
  expect(finishes).toEqual([[[1n], again.fence]])
  expect(givenBack).toEqual([])
})

test('a row in flight that the repeat of its own claim answers again keeps its lease', async () => {
  const { runtime, relay, claimed, delivery, finishes, givenBack, deliveries } = relaying()
  const hold = holdOf(1n)
  claimed(hold)
  claimed(hold)
  await runtime.run(async () => {
    await relay.start(new AbortController().signal)
    await runtime.timers.sleep(1_500)
    delivery.resolve()
    await relay.stop({ signal: new AbortController().signal, remainingMs: () => 1_000 })
  })
  expect([deliveries(), finishes.length, givenBack]).toEqual([1, 1, []])
})

test('a row claimed here while its transaction is not known to be over is given back', async () => {
  const { runtime, relay, claimed, inFlight, givenBack, deliveries } = relaying()
  const hold = holdOf(1n)
  inFlight.reserve(['event-1'])
  claimed(hold)
  await runtime.run(async () => {
    await relay.start(new AbortController().signal)
    await runtime.timers.sleep(10)
    await relay.stop({ signal: new AbortController().signal, remainingMs: () => 1_000 })
  })
  expect([deliveries(), givenBack]).toEqual([0, [[1n, hold]]])
})
