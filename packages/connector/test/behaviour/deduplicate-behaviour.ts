/** Tests bindings with `deduplicate` through connectors only, on a simulated cluster and on Apache Kafka. */

import { Buffer } from 'node:buffer'
import { NonRetryableError, StopDeadlineError } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import { expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { Connector } from '../../src/api/connector.ts'
import { defineBinding } from '../../src/api/define-binding.ts'
import type { RecordHandler } from '../../src/api/handler-types.ts'
import { TestInbox, TestStore, type TestTx } from '../delivery/test-marks.ts'
import { BehaviourScene, type InPlace } from '../support/behaviour-scene.ts'

const operator = { by: 'test' }
const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 50 }] } as const
/** The partitions of a member that did not leave are free soon. */
const soonGone = { sessionTimeoutMs: 1_500, heartbeatIntervalMs: 500 }
const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}`)

class Scene extends BehaviourScene {
  /** The effects of handlers, in order. */
  readonly effects: string[] = []

  start(given: Omit<Binding, 'topic' | 'groupId'>): Promise<Connector> {
    return this.startWith({ retry, ...soonGone, ...given })
  }

  async write(values: readonly string[], partition = 0): Promise<void> {
    await using producer = this.place.client.producer('EVENT')
    const send = (value: string) =>
      producer.send({ topic: this.topic, partition, key: Buffer.from('key'), value: Buffer.from(value) })
    await Promise.all(values.map(send))
  }

  /** Until all these are settled, and the audit is true. */
  untilAudited(connector: Connector, counts: { readonly ok: bigint; readonly skipped: bigint }): Promise<void> {
    return this.until(async () => {
      const [row] = (await connector.audit()).filter(({ topic }) => topic === this.topic)
      const isTrue = row?.ok === counts.ok && row.skipped === counts.skipped && row.problem === undefined
      if (!isTrue) throw new Error(`${row?.ok} handled, ${row?.skipped} skipped; ${row?.problem ?? 'no problem'}`)
    })
  }

  /** Everything is delivered once more. */
  async rewind({ admin }: Connector): Promise<void> {
    await admin.pause('shipping', operator)
    await admin.seek('shipping', { to: 'EARLIEST' }, operator)
    await admin.resume('shipping', operator)
  }

  /** Stops without waiting for the handler that runs, as a process that is killed does not either. */
  async cutOff(connector: Connector): Promise<void> {
    this.connectors.delete(connector)
    await connector.stop({ deadlineMs: 0 }).catch((error: unknown) => {
      if (!(error instanceof StopDeadlineError)) throw error
    })
  }
}

const setups: readonly (readonly [string, Partial<Binding>])[] = [
  ['record by record', {}],
  ['in any order', { parallelism: 'UNORDERED' }],
  ['in the order of keys', { orderingMode: 'KEY', parallelism: 'KEY' }],
  ['in batches', { listenerType: 'BATCH', batchFailureStrategy: 'TIER_AND_CONTINUE' }],
]

/** Declares the tests. */
export function testDeduplication(inPlace: InPlace): void {
  const inScene = (partitions: number, program: (scene: Scene) => Promise<void>): Promise<void> =>
    inPlace(async (place) => {
      await using scene = new Scene(place, await place.createTopic(partitions))
      await program(scene)
    })

  test.each(setups)(
    'S0-202 C-18 what is delivered again has no second effect, also after a retry tier: %s',
    (_, given) =>
      inScene(1, async (scene) => {
        const store = new TestStore()
        const failed = new Set<string>()
        const handler = ({ value }: KafkaRecord): void => {
          if (String(value) === '2' && failed.size === 0) {
            failed.add('2')
            throw new Error('not yet')
          }
          scene.effects.push(String(value))
        }
        await scene.write(numbers(6))
        const connector = await scene.start({ ...given, handler, deduplicate: { store } })
        await scene.until(() => expect(scene.effects.toSorted()).toEqual(numbers(6)))
        await scene.until(() => expect(store.marked.size).toBe(6))
        await scene.rewind(connector)
        await scene.untilAudited(connector, { ok: 0n, skipped: 6n })
        expect(scene.effects.toSorted()).toEqual(numbers(6))
      }),
  )

  test('C-17 a batch handler is not given what it handled before', () =>
    inScene(1, async (scene) => {
      const store = new TestStore()
      const handleBatch = (records: readonly KafkaRecord[]): void => {
        scene.effects.push(...records.map(({ value }) => String(value)))
      }
      const listener = { listenerType: 'BATCH', handler: { handleBatch }, deduplicate: { store } } as const
      await scene.write(numbers(4))
      const connector = await scene.start(listener)
      await scene.until(() => expect(scene.effects).toEqual(numbers(4)))
      await scene.until(() => expect(store.marked.size).toBe(4))
      await scene.rewind(connector)
      await scene.untilAudited(connector, { ok: 0n, skipped: 4n })
      await scene.write(['4'])
      await scene.until(() => expect(scene.effects).toEqual(numbers(5)))
    }))

  test('I9 a crash between effect and mark repeats the effect once, with a store', () =>
    inScene(1, async (scene) => {
      const store = new TestStore()
      const handler: RecordHandler = ({ value }) => void scene.effects.push(String(value))
      const hanging: TestStore = Object.assign(new TestStore(), { mark: () => new Promise<void>(() => {}) })
      await scene.write(['a'])
      const crashing = await scene.start({ handler, deduplicate: { store: hanging } })
      await scene.until(() => expect(scene.effects).toEqual(['a']))
      await scene.cutOff(crashing)
      const connector = await scene.start({ handler, deduplicate: { store } })
      await scene.until(() => expect(scene.effects).toEqual(['a', 'a']))
      await scene.untilAudited(connector, { ok: 1n, skipped: 0n })
      await scene.rewind(connector)
      await scene.untilAudited(connector, { ok: 0n, skipped: 1n })
      expect(scene.effects).toEqual(['a', 'a'])
    }))

  test('I9 C-78 with an inbox there is one effect, though handlers are cut off while partitions move', () =>
    inScene(2, async (scene) => {
      const inbox = new TestInbox()
      const { timers } = scene.place.runtime
      const handler: RecordHandler<TestTx> = async ({ value }, { tx }) => {
        await timers.sleep(5)
        tx.effects.push(String(value))
      }
      const {
        topic: _,
        groupId: _group,
        ...binding
      } = defineBinding({
        topic: scene.topic,
        groupId: scene.groupId,
        handler,
        deduplicate: { inbox },
      })
      await scene.write(numbers(20), 0)
      await scene.write(
        numbers(20).map((value) => `other ${value}`),
        1,
      )
      const first = await scene.start(binding)
      await scene.until(() => expect(inbox.effects.length).toBeGreaterThan(3))
      const second = await scene.start(binding)
      await scene.until(() => expect(inbox.effects.length).toBeGreaterThan(10))
      await scene.cutOff(first)
      await scene.until(() => expect(inbox.effects.length).toBe(40))
      await scene.until(async () => {
        const rows = (await second.audit()).filter(({ topic }) => topic === scene.topic)
        expect(rows.map(({ committed, problem }) => [committed, problem])).toEqual([
          [20n, undefined],
          [20n, undefined],
        ])
      })
      expect(new Set(inbox.effects).size).toBe(40)
    }))

  test('C-18 a replay is not taken for the record that died', () =>
    inScene(1, async (scene) => {
      const store = new TestStore()
      let isMended = false
      const handler: RecordHandler = ({ value }, { naturalKey }) => {
        if (!isMended) throw new NonRetryableError('not yet')
        scene.effects.push(`${String(value)} as ${naturalKey.replace(scene.topic, 'orders')}`)
      }
      await scene.write(['a'])
      const connector = await scene.start({ handler, deduplicate: { store } })
      await scene.until(async () => {
        expect(await connector.admin.dltStats('shipping', operator)).toMatchObject({ count: 1 })
      })
      expect([...store.marked]).toEqual([])
      isMended = true
      await connector.admin.replayDlt('shipping', { count: 1 }, operator)
      await scene.until(() => expect(scene.effects).toEqual(['a as orders-0-1#1']))
      await scene.until(() => expect(store.marked.size).toBe(1))
    }))
}
