import { createSeededRandom } from '@waybill/core/internal'
import { createKafkaClient, type KafkaRecord } from '@waybill/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import type { DeliveryContext } from '../../src/api/handler-types.ts'
import { topicRecords } from '../delivery/topic-records.ts'
import { connectorWorld } from '../support/connector-world.ts'

const alice = { by: 'alice' }
const partitions = 2
const keys = ['a', 'b', 'c', 'd', 'e']
const records = 60
const chaosMs = 40_000
const seeds = 12

const kinds: readonly (readonly [string, Partial<Binding>])[] = [
  ['KEY, released', { orderingMode: 'KEY', parallelism: 'KEY' }],
  ['KEY, blocked', { orderingMode: 'KEY', parallelism: 'KEY', keyOrder: { onDeadKey: 'BLOCK' } }],
  ['STRICT', { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' }],
  ['STRICT with lanes', { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION', parallelism: 'KEY' }],
]
const tiers = [
  { delayMs: 500, maxAttempts: 3 },
  { delayMs: 3_000, maxAttempts: 3 },
]

/** The known facts about a record. */
interface Known {
  readonly key: string
  readonly partition: number
  readonly offset: bigint
  readonly sequence: number
  calls: number
  isDone: boolean
}

describe.each(kinds)('S0-130 I7 operators who send records to the dead letters at any time: %s', (name, given) => {
  let sent = 0
  let manual = 0

  // A seed draws which records fail, when processes restart and groups rebalance, and what operators ask for.
  test.each(Array.from({ length: seeds }, (_, seed) => seed + 1))(
    'lose no record and break no order: seed %i',
    (seed) =>
      connectorWorld(
        async ({ sim, runtime, connector, write, sleep, eventually }) => {
          const random = createSeededRandom(seed ^ 0x2545f491)
          const below = (most: number): number => Math.floor(random() * most)
          sim.createTopic('orders', { partitions })
          const known = new Map<string, Known>()
          const problems: string[] = []
          let isOver = false
          const isDead = (id: string): boolean =>
            topicRecords(sim, 'orders.DLT', partitions).some(({ value }) => String(value) === id)

          const handler = async (record: KafkaRecord, { original }: DeliveryContext): Promise<void> => {
            const id = String(record.value)
            const one = known.get(id) as Known
            one.calls++
            for (const [other, { key, sequence, isDone }] of known)
              if (key === one.key && sequence < one.sequence && !isDone && !isDead(other))
                problems.push(`${id} starts before ${other}, at ${original.partition}@${original.offset}`)
            await sleep(below(200))
            if (!isOver && random() < 0.5) throw new RangeError('not now')
            one.isDone = true
          }
          const retry =
            given.orderingMode === 'KEY'
              ? { tier0: { maxAttempts: 2 }, tiers }
              : { tier0: { maxAttempts: 2, initialBackoffMs: 50 } }
          const binding: Binding = {
            topic: 'orders',
            groupId: 'g',
            sessionTimeoutMs: 6_000,
            heartbeatIntervalMs: 1_000,
            ...given,
            retry,
            handler,
          }
          const openBus = (instance: string): Connector => {
            const client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport(instance), runtime })
            return connector({ instance, bindings: { shipping: binding } }, runtime, client)
          }
          const buses = [openBus('one'), openBus('two')]
          for (const bus of buses) await bus.start()
          /** Asks for the first open record of a key, or for any record at all. */
          const ask = async (): Promise<void> => {
            const open = [...known.values()].filter(({ isDone }) => !isDone)
            const firsts = open.filter((one, at) => open.findIndex(({ key }) => key === one.key) === at)
            const among = firsts.length > 0 && random() < 0.8 ? firsts : [...known.values()]
            const { partition, offset } = among[below(among.length)] as Known
            const asked = buses.map((bus) => bus.admin.sendToDlt('shipping', { partition, offset }, alice))
            for (const { status } of await Promise.allSettled(asked)) if (status === 'fulfilled') sent++
          }
          /** Resolves the partitions that wait for an operator. */
          const resolve = async (): Promise<void> => {
            for (const bus of buses)
              for (const { members } of bus.admin.binding('shipping').containers)
                for (const { partitions: owned } of members)
                  for (const { partition, watermark, pausedBy } of owned)
                    if (pausedBy.includes('EXHAUSTED'))
                      await bus.admin.sendToDlt('shipping', { partition, offset: watermark }, alice).catch(() => {})
          }
          const ends = [0n, 0n]
          for (let index = 0; index < records; index++) {
            const key = keys[below(keys.length)] as string
            const id = `${key}-${index}`
            const partition = key.charCodeAt(0) % partitions
            const offset = ends[partition] as bigint
            ends[partition] = offset + 1n
            known.set(id, { key, partition, offset, sequence: index, calls: 0, isDone: false })
            await write('orders', [id], partition, () => key)
          }
          const endsAt = runtime.clock.monotonic() + chaosMs
          let restarts = 0
          while (runtime.clock.monotonic() < endsAt) {
            await sleep(below(400))
            const roll = random()
            if (roll < 0.6) await ask()
            else if (roll < 0.75) await resolve()
            else if (roll < 0.82) sim.rebalance('g')
            else if (roll < 0.9) {
              const bus = buses[below(2)] as Connector
              await bus.pause('shipping').catch(() => {})
              await Promise.all([ask(), sleep(below(500))])
              await bus.resume('shipping').catch(() => {})
            } else if (roll < 0.94) {
              const at = below(2)
              await (buses[at] as Connector).stop({ deadlineMs: below(500) }).catch(() => {})
              restarts++
              buses[at] = openBus(`again ${restarts}`)
              await buses[at].start()
            }
          }
          isOver = true
          const isBlocking = name === 'KEY, blocked'
          await eventually(async () => {
            await resolve()
            for (const bus of buses) await bus.resume('shipping').catch(() => {})
            const open = [...known].filter(([id, { isDone }]) => !isDone && !isDead(id))
            const deadKeys = new Set([...known].filter(([id]) => isDead(id)).map(([, { key }]) => key))
            expect(open.filter(([, { key }]) => !isBlocking || !deadKeys.has(key)).map(([id]) => id)).toEqual([])
          })
          expect(problems).toEqual([])
          manual += topicRecords(sim, 'orders.DLT', partitions).filter(isManual).length
          const rows = (await buses[0]?.audit())?.filter(
            ({ problem, missing }) => problem !== undefined || missing > 0n,
          )
          expect(rows).toEqual([])
        },
        { seed },
      ),
  )

  test('are obeyed in most seeds', () => {
    expect(sent).toBeGreaterThan(seeds)
    expect(manual).toBeGreaterThan(seeds)
  })
})

function isManual({ headers }: KafkaRecord): boolean {
  return headers.text('x-eventbus-dlt-reason') === 'MANUAL'
}
