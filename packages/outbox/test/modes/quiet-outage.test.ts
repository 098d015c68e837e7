import { createEnvelope, type EventEnvelope, NonRetryableError, UnavailableError } from '@waybill/core'
import { Outbox } from '@waybill/outbox'
import { describe, expect, test } from 'vitest'
import type { MemoryTx } from '../support/memory-outbox.ts'
import { createHarness } from '../support/outbox-harness.ts'

const minuteMs = 60_000
const outageMs = 2 * minuteMs
const modes = ['singleNode', 'multiNode', 'ordered', 'keyed', 'leasing'] as const
type Mode = (typeof modes)[number]

/** An event of a key, of so many bytes. */
interface Planned {
  readonly key?: string
  readonly bytes?: number
  readonly isBroken?: true
  readonly isPoison?: true
}

interface Case {
  readonly behind: string
  readonly rows: readonly Planned[]
  /** Whether memory has room for one row only. */
  readonly isTight?: boolean
}

const twenty = Array.from({ length: 20 }, (_, n): Planned => ({ key: `key-${n % 3}` }))

/** What lies in the table behind an event that waits. */
const cases: readonly Case[] = [
  { behind: 'unreadable rows', rows: [{}, { isBroken: true }, {}, { key: 'other', isBroken: true }, {}] },
  {
    behind: 'a full page of unreadable rows',
    rows: [{}, ...Array.from({ length: 20 }, (): Planned => ({ isBroken: true }))],
  },
  { behind: 'more rows than the buffer holds', rows: twenty, isTight: true },
  { behind: 'more bytes than the buffer holds', rows: twenty.map((row) => ({ ...row, bytes: 30_000 })) },
  { behind: 'rows larger than the buffer', rows: twenty.map((row) => ({ ...row, bytes: 90_000 })) },
  {
    behind: 'dead events',
    rows: [{ key: 'bad', isPoison: true }, {}, { key: 'bad' }, { isPoison: true }, { key: 'bad' }],
  },
]

const isPoisonous = ({ payloadJson }: EventEnvelope): boolean => (payloadJson ?? '').includes('poison')

/** Small pages and buffers, as far as the mode has them. */
function buffersOf(mode: Mode, { isTight = false }: Pick<Case, 'isTight'>): Readonly<Record<string, unknown>> {
  const isKeyed = mode === 'keyed' || mode === 'leasing'
  const batchSize = mode === 'leasing' ? 100 : isKeyed ? 8 : 2
  const capacity = isKeyed ? { maxBuffered: 1 } : { coldQueueCapacity: 1 }
  const locking = mode === 'multiNode' ? { claimLocking: { timeoutMs: 10_000 } } : {}
  return { batchSize, maxBufferedBytes: 65_536, ...locking, ...(isTight ? capacity : {}) }
}

/** A node of a mode with small buffers, and a listener that reaches no destination until the test lets it. */
function setup(mode: Mode, one: Pick<Case, 'isTight'>) {
  const harness = createHarness()
  const { runtime, outbox: table } = harness
  const scene = { isAway: true }
  table.latencyMs = 2
  harness.behaviour = async (event) => {
    await runtime.timers.sleep(2)
    if (isPoisonous(event)) throw new NonRetryableError('It cannot be read.')
    if (scene.isAway) throw new UnavailableError('The broker does not respond.', { destination: undefined })
  }
  const base = { ...harness.base, ...buffersOf(mode, one) } as const
  const outbox = Outbox[mode]<never, MemoryTx>(base as never)
  const write = (rows: readonly Planned[]): void => {
    for (const { key = 'key-0', bytes = 0, isBroken = false, isPoison = false } of rows) {
      const payload = { is: isPoison ? 'poison' : 'fine', padding: 'x'.repeat(bytes) }
      const [row] = table.add(
        createEnvelope({ eventType: 'order.placed', aggregateId: key, payloadJson: JSON.stringify(payload) }),
      )
      Object.assign(row as object, { isBroken })
    }
  }
  const commit = async (): Promise<void> => {
    const event = createEnvelope({ eventType: 'order.placed', aggregateId: 'late', payloadJson: '{}' })
    await table.transaction(() => outbox.writer.write(event))
  }
  const statements = (): number => table.calls.length
  return { harness, runtime, table, outbox, scene, write, commit, statements }
}

async function statementsWhenIdle(mode: Mode, one: Case): Promise<number> {
  const { runtime, outbox, statements } = setup(mode, one)
  await runtime.run(() => outbox.start())
  await runtime.advance(outageMs)
  await runtime.run(() => outbox.stop())
  return statements()
}

describe.each(modes)('I23 while an event of %s waits for its destination', (mode) => {
  test.each(cases)('neither the table nor the destination is asked more often: behind it are $behind', async (one) => {
    const idle = await statementsWhenIdle(mode, one)
    const { harness, runtime, table, outbox, scene, write, commit, statements } = setup(mode, one)
    write(one.rows)
    await runtime.run(() => outbox.start())
    await runtime.advance(outageMs)
    await runtime.run(commit)
    await runtime.advance(outageMs)
    expect(harness.delivered.length).toBeLessThan((2 * outageMs * 4) / minuteMs + one.rows.length + 30)
    expect(statements()).toBeLessThan(2 * idle * 1.5 + 300)
    scene.isAway = false
    await runtime.advance(2 * minuteMs)
    const unsettled = table.rows.filter(({ status }) => status === 'NEW' || status === 'RETRY')
    expect(unsettled).toEqual([])
    await runtime.run(() => outbox.stop())
  })
})
