/** What a transactional binding promises, by nothing but a connector: the same on a simulated cluster and on Apache Kafka. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { defineEvents, NonRetryableError, noopLogger, type Runtime, runtimeWith } from '@waybill/core'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { allDone } from '../../../src/client/admin/outcome.ts'
import { createKafkaClient, type KafkaClient } from '../../../src/client/kafka-client.ts'
import type { KafkaRecord } from '../../../src/client/types.ts'
import type { Binding, DeliveryContext } from '../../../src/connector/binding.ts'
import type { Connector } from '../../../src/connector/connector.ts'
import { createConnector } from '../../../src/connector/create-connector.ts'
import { handleEvents } from '../../../src/connector/handler/handle-events.ts'
import { createPublisher } from '../../../src/connector/handler/publisher.ts'
import { encodeCommitMetadata } from '../../../src/connector/ledger/commit-metadata.ts'
import { ledgerStateAt } from '../../../src/connector/ledger/ledger.ts'
import { transactionalIdOf } from '../../../src/connector/transaction/transactional-id.ts'
import type { KafkaTransport } from '../../../src/wire/kafka-transport.ts'
import { troubledTransport } from './troubled-transport.ts'

/** Where connectors stand. */
export interface TransactionPlace {
  readonly brokers: readonly string[]
  readonly runtime: Runtime
  /** Another way to the same cluster. */
  transport(name: string): KafkaTransport
  createTopic(name: string, partitions: number): Promise<string>
}

type Given = Partial<Omit<Binding, 'topic' | 'groupId'>> & Pick<Binding, 'handler'>

const once = { tier0: { maxAttempts: 1 } } as const
const quick = { ...once, tiers: [{ delayMs: 50, maxAttempts: 3 }] }
const valueOf = ({ value }: Pick<KafkaRecord, 'value'>): string => String(value)
const headerOf = ({ headers }: Pick<KafkaRecord, 'headers'>, name: string): string | undefined => headers.text(name)
const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => `${from + at}`)

class Scene implements AsyncDisposable {
  readonly place: TransactionPlace
  readonly client: KafkaClient
  readonly topic: string
  readonly output: string
  readonly groupId: string
  /** Values the handlers were called with. */
  readonly calls: string[] = []
  readonly #opened: AsyncDisposable[] = []

  constructor(place: TransactionPlace, topic: string, output: string) {
    this.place = place
    this.topic = topic
    this.output = output
    this.groupId = `${topic}-group`
    this.client = this.open(place.transport('reader'))
  }

  open(transport: KafkaTransport): KafkaClient {
    const { brokers, runtime } = this.place
    const client = createKafkaClient({ brokers, transport, runtime })
    this.#opened.push(client)
    return client
  }

  /** Sends what it makes of a record, before `then` may fail. */
  transforming(then: (value: string, context: DeliveryContext) => void | Promise<void> = () => {}) {
    return async (record: KafkaRecord, context: DeliveryContext): Promise<void> => {
      const value = valueOf(record)
      this.calls.push(value)
      context.send({ topic: this.output, key: record.key, value: Buffer.from(`f(${value})`) })
      await then(value, context)
    }
  }

  async start(binding: Given, client = this.open(this.place.transport('connector'))): Promise<Connector> {
    const { topic, groupId } = this
    const times = { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 500, shutdownTimeoutMs: 5_000 }
    const connector = createConnector({
      clusters: { default: client },
      bindings: { shipping: { topic, groupId, transactional: true, retry: quick, ...times, ...binding } },
      runtime: runtimeWith({ ...this.place.runtime, logger: noopLogger }),
    })
    this.#opened.unshift({ [Symbol.asyncDispose]: () => connector.stop({ deadlineMs: 5_000 }).catch(() => {}) })
    await connector.start()
    return connector
  }

  async write(values: readonly string[], partition = 0): Promise<void> {
    await using producer = this.client.producer('EVENT')
    const { topic } = this
    await Promise.all(
      values.map((value) => producer.send({ topic, partition, key: Buffer.from(value), value: Buffer.from(value) })),
    )
  }

  /** What a reader of committed records sees. */
  async read(topic = this.output): Promise<string[]> {
    return (await this.readRecords(topic)).map(valueOf)
  }

  async readRecords(topic: string): Promise<KafkaRecord[]> {
    const { admin } = this.client
    const [view] = allDone('topics', await admin.describeTopics([topic]))
    const places = (view?.partitions ?? []).map(({ partition }) => ({ topic, partition }))
    const ends = allDone('ends', await admin.listOffsets(places, 'LATEST'))
    await using reader = this.client.reader(ends.map((one) => ({ ...one, from: 0n, until: one.offset ?? 0n })))
    const records: KafkaRecord[] = []
    for (let some = await reader.next(500); some !== undefined; some = await reader.next(500)) records.push(...some)
    return records
  }

  async committed(groupId = this.groupId): Promise<bigint> {
    const offsets = allDone('offsets', await this.client.admin.groupOffsets(groupId))
    return offsets.reduce((sum, { committed }) => sum + (committed ?? 0n), 0n)
  }

  until(assertion: () => void | Promise<void>): Promise<void> {
    return eventually(assertion, { runtime: this.place.runtime, deadlineMs: 60_000 })
  }

  async untilCommitted(offset: bigint): Promise<void> {
    await this.until(async () => {
      const committed = await this.committed()
      if (committed !== offset) throw new Error(`${committed} is committed, and not ${offset}.`)
    })
  }

  /** The outputs that are visible once there are as many as are due, and nothing more has come for a while. */
  async outputs(count: number): Promise<string[]> {
    await this.until(async () => {
      const { length } = await this.read()
      if (length < count) throw new Error(`${length} of ${count} outputs are visible.`)
    })
    await this.place.runtime.timers.sleep(300)
    return (await this.read()).toSorted()
  }

  async assertOutputsOf(values: readonly string[]): Promise<void> {
    assert.deepEqual(await this.outputs(values.length), values.map((value) => `f(${value})`).toSorted())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#opened) await one[Symbol.asyncDispose]()
  }
}

/** What an owner that goes on at an offset, with a count of all below it, commits with it. */
function metadataAt(offset: bigint): string {
  const state = ledgerStateAt(0n)
  return encodeCommitMetadata({ ...state, position: offset, counts: { ...state.counts, ok: offset } })
}

/** Declares the tests. */
export function testTransactions(
  inPlace: (program: (place: TransactionPlace) => Promise<void>) => Promise<void>,
): void {
  const inScene = (partitions: number, program: (scene: Scene) => Promise<void>): Promise<void> =>
    inPlace(async (place) => {
      await using scene = new Scene(
        place,
        await place.createTopic('orders', partitions),
        await place.createTopic('shipments', 2),
      )
      await program(scene)
    })

  test('S0-149 I13 the outputs of every record are visible once, and its offset is committed with them', () =>
    inScene(2, async (scene) => {
      await scene.write(numbers(0, 40), 0)
      await scene.write(numbers(40, 60), 1)
      const connector = await scene.start({ handler: scene.transforming() })
      await scene.untilCommitted(60n)
      await scene.assertOutputsOf(numbers(0, 60))
      expect(scene.calls.toSorted()).toEqual(numbers(0, 60).toSorted())
      const audit = (await connector.audit()).filter(({ topic }) => topic === scene.topic)
      expect(audit.map(({ ok, committed, problem }) => ({ ok, committed, problem }))).toEqual([
        { ok: 40n, committed: 40n, problem: undefined },
        { ok: 20n, committed: 20n, problem: undefined },
      ])
    }))

  test('S0-149 what a failed call has sent is never visible; the tier has one copy, whose success is', () =>
    inScene(1, async (scene) => {
      let failures = 2
      const handler = scene.transforming((value) => {
        if (value === '3' && failures-- > 0) throw new Error('not yet')
      })
      await scene.write(numbers(0, 8))
      await scene.start({ handler })
      await scene.untilCommitted(8n)
      await scene.assertOutputsOf(numbers(0, 8))
      // The first delivery there fails too, and makes another copy.
      expect(await scene.read(`${scene.topic}.retry-1`)).toEqual(['3', '3'])
      expect(scene.calls.filter((value) => value === '3')).toHaveLength(3)
    }))

  test('S0-149 a repeated call in memory leaves only what the last one has sent', () =>
    inScene(1, async (scene) => {
      let failures = 2
      const handler = scene.transforming((value) => {
        if (value === '1' && failures-- > 0) throw new Error('not yet')
      })
      await scene.write(numbers(0, 3))
      await scene.start({ handler, retry: { tier0: { maxAttempts: 3, initialBackoffMs: 1 } } })
      await scene.untilCommitted(3n)
      await scene.assertOutputsOf(numbers(0, 3))
      expect(scene.calls.filter((value) => value === '1')).toHaveLength(3)
    }))

  test('S0-149 a dead letter and its offset are one transaction, without outputs', () =>
    inScene(1, async (scene) => {
      const handler = scene.transforming((value) => {
        if (value === '2') throw new NonRetryableError('never')
      })
      await scene.write(numbers(0, 5))
      await scene.start({ handler })
      await scene.untilCommitted(5n)
      await scene.assertOutputsOf(['0', '1', '3', '4'])
      expect(await scene.read(`${scene.topic}.DLT`)).toEqual(['2'])
    }))

  const tooLarge = { key: null, value: randomBytes(3_000_000) }
  const refused = {
    'it is too large': tooLarge,
    'there is no such partition': { key: null, value: Buffer.from('nowhere'), partition: 99 },
  }
  test.each(Object.entries(refused))(
    'S0-149 L2 an output that its topic refuses for good (%s) is a failure of its record, and of no other',
    (_, bad) =>
      inScene(1, async (scene) => {
        const handler = scene.transforming((value, context) => {
          if (value === '2') context.send({ topic: scene.output, ...bad })
        })
        await scene.write(numbers(0, 5))
        const transactional = { maxRecordBytes: 4_000_000 }
        await scene.start({ handler, transactional, retry: { tier0: { maxAttempts: 3 }, tiers: [] } })
        await scene.untilCommitted(5n)
        await scene.assertOutputsOf(['0', '1', '3', '4'])
        const [dead, ...others] = await scene.readRecords(`${scene.topic}.DLT`)
        assert(dead !== undefined)
        expect([valueOf(dead), others]).toEqual(['2', []])
        expect(headerOf(dead, 'x-eventbus-last-exception-class')).toBe('OutputRefusedError')
        // C-04: calls that were made, and none was made for the refusal.
        expect(headerOf(dead, 'x-eventbus-total-attempts')).toBe('1')
        expect(scene.calls.filter((value) => value === '2')).toHaveLength(1)
      }),
  )

  test('S0-149 C-04 a dead letter of a refused output tells of every call that was made for it', () =>
    inScene(1, async (scene) => {
      let failures = 1
      const handler = scene.transforming((_, context) => {
        if (failures-- > 0) throw new Error('not yet')
        context.send({ topic: scene.output, ...refused['there is no such partition'] })
      })
      await scene.write(['0'])
      await scene.start({ handler, retry: { tier0: { maxAttempts: 3, initialBackoffMs: 1 }, tiers: [] } })
      await scene.untilCommitted(1n)
      const [dead] = await scene.readRecords(`${scene.topic}.DLT`)
      assert(dead !== undefined)
      expect(headerOf(dead, 'x-eventbus-total-attempts')).toBe(`${scene.calls.length}`)
      expect(scene.calls).toHaveLength(2)
    }))

  test('S0-149 an output above maxRecordBytes is refused at the call, as a producer refuses it', () =>
    inScene(1, async (scene) => {
      const record = { topic: scene.output, ...tooLarge }
      const thrown: unknown[] = []
      const handler = scene.transforming((_, context) => {
        try {
          context.send(record)
        } catch (error) {
          thrown.push(error)
        }
      })
      await scene.write(['0'])
      await scene.start({ handler })
      await scene.untilCommitted(1n)
      // The handler has caught it, so the rest of the call counts.
      await scene.assertOutputsOf(['0'])
      await using producer = scene.client.producer('EVENT')
      const refusal: unknown = await producer.send(record).catch((error: unknown) => error)
      expect(thrown).toEqual([refusal])
      expect(refusal).toMatchObject({ kind: 'FATAL', reason: 'MESSAGE_TOO_LARGE' })
    }))

  test('S0-149 a call that took too long can send nothing more, also before the next one begins', () =>
    inScene(1, async (scene) => {
      const { timers } = scene.place.runtime
      const late: unknown[] = []
      const handler = async (_: KafkaRecord, context: DeliveryContext): Promise<void> => {
        await timers.sleep(200)
        try {
          context.send({ topic: scene.output, key: null, value: Buffer.from('late') })
          late.push('accepted')
        } catch (error) {
          late.push(error)
        }
      }
      await scene.write(['0'])
      const retry = { tier0: { maxAttempts: 2, initialBackoffMs: 1_000 }, tiers: [] }
      await scene.start({ handler, handlerTimeoutMs: 50, retry })
      await scene.untilCommitted(1n)
      await scene.until(() => expect(late).toHaveLength(2))
      const over = { code: 'WAYBILL_STATE_INVALID', next: expect.stringContaining('handlerTimeoutMs') }
      expect(late).toEqual([expect.objectContaining(over), expect.objectContaining(over)])
      expect(await scene.outputs(0)).toEqual([])
    }))

  for (const trouble of ['ANSWER_LOST', 'NEVER_SENT'] as const)
    test(`S0-149 D9 a commit of unknown fate (${trouble}) is found out, and no handler is called for it again`, () =>
      inScene(1, async (scene) => {
        const troubled = troubledTransport(scene.place.transport('connector'))
        const handler = scene.transforming()
        await scene.start({ handler, transactional: { timeoutMs: 2_000 } }, scene.open(troubled.transport))
        await scene.write(['0'])
        await scene.untilCommitted(1n)
        troubled.begin('EndTxn', trouble)
        await scene.write(numbers(1, 10))
        // Its producer tries for half of the time that a transaction has.
        await scene.until(() => expect(troubled.hits()).toBeGreaterThan(0))
        await scene.place.runtime.timers.sleep(1_500)
        troubled.end()
        await scene.untilCommitted(10n)
        await scene.assertOutputsOf(numbers(0, 10))
        expect(scene.calls.toSorted()).toEqual(numbers(0, 10))
      }))

  test('S0-149 I3 whoever takes the id fences the owner, which takes it back and goes on where it was', () =>
    inScene(1, async (scene) => {
      await scene.start({ handler: scene.transforming() })
      await scene.write(numbers(0, 5))
      await scene.untilCommitted(5n)
      const id = transactionalIdOf(scene.groupId, { topic: scene.topic, partition: 0 })
      await using thief = scene.client.transactionalProducer(id)
      await thief.begin()
      await scene.write(numbers(5, 10))
      await scene.untilCommitted(10n)
      await scene.assertOutputsOf(numbers(0, 10))
    }))

  test('S0-149 L1 an owner that is cut off in a transaction is replaced, and nothing is visible twice', () =>
    inScene(1, async (scene) => {
      const troubled = troubledTransport(scene.place.transport('first'))
      const handler = scene.transforming()
      await scene.start({ handler }, scene.open(troubled.transport))
      await scene.write(numbers(0, 5))
      await scene.untilCommitted(5n)
      // Offsets and outputs are in the transaction, and it stays open.
      troubled.begin('EndTxn', 'NEVER_SENT')
      await scene.write(numbers(5, 10))
      await scene.until(() => expect(troubled.hits()).toBeGreaterThan(0))
      troubled.cutOff()
      const { clock } = scene.place.runtime
      const cutOffAt = clock.monotonic()
      await scene.start({ handler: scene.transforming() })
      await scene.untilCommitted(10n)
      // Its session has to end. That of the transaction, 30 s, is not waited for.
      expect(clock.monotonic() - cutOffAt).toBeLessThan(20_000)
      await scene.assertOutputsOf(numbers(0, 10))
    }))

  test('S0-149 partitions that move while their records are handled take their transactions along', () =>
    inScene(4, async (scene) => {
      const { timers } = scene.place.runtime
      const handler = scene.transforming(() => timers.sleep(10))
      await scene.start({ handler })
      for (const partition of [0, 1, 2, 3]) await scene.write(numbers(partition * 40, partition * 40 + 40), partition)
      await scene.until(() => expect(scene.calls.length).toBeGreaterThan(20))
      const second = await scene.start({ handler })
      await scene.until(() => expect(scene.calls.length).toBeGreaterThan(80))
      await second.stop()
      await scene.untilCommitted(160n)
      await scene.assertOutputsOf(numbers(0, 160))
    }))

  test('S0-149 L5 a clean stop writes what was decided, and repeats nothing', () =>
    inScene(1, async (scene) => {
      const { timers } = scene.place.runtime
      const handler = scene.transforming(() => timers.sleep(5))
      await scene.write(numbers(0, 40))
      const first = await scene.start({ handler })
      await scene.until(() => expect(scene.calls.length).toBeGreaterThan(5))
      await first.stop()
      const stoppedAt = scene.calls.length
      expect(stoppedAt).toBeLessThan(40)
      expect(await scene.committed()).toBe(BigInt(stoppedAt))
      await scene.start({ handler })
      await scene.untilCommitted(40n)
      await scene.assertOutputsOf(numbers(0, 40))
      expect(scene.calls).toEqual(numbers(0, 40))
    }))

  test('S0-149 I13 a position is moved after what an owner has left under way is ended, and not over it', () =>
    inScene(1, async (scene) => {
      const { groupId, topic, output } = scene
      await scene.write(numbers(0, 3))
      const connector = await scene.start({ handler: scene.transforming() })
      await scene.untilCommitted(3n)
      await connector.stop('shipping')
      await scene.write(numbers(3, 6))
      // Of one that was cut off: nothing but the end of its transaction is missing.
      const client = scene.open(scene.place.transport('cut off'))
      await using owner = client.transactionalProducer(transactionalIdOf(groupId, { topic, partition: 0 }))
      await owner.begin()
      await owner.send({ topic: output, key: null, value: Buffer.from('f(3)') })
      const nobody = { groupId, generationId: -1, memberId: '', instanceId: null }
      await owner.sendOffsets([{ topic, partition: 0, epoch: 0, offset: 4n }], nobody)
      await connector.admin.skip('shipping', { partition: 0, offsets: [4n] }, { by: 'alice' })
      await expect(owner.commit()).rejects.toMatchObject({ kind: 'FENCED' })
      await connector.start('shipping')
      await scene.untilCommitted(6n)
      await scene.assertOutputsOf(['0', '1', '2', '3', '5'])
    }))

  for (const end of ['before the position is written', 'after it'] as const)
    test(`S0-149 I13 a position is not moved over what an owner begins meanwhile and commits ${end}`, () =>
      inScene(1, async (scene) => {
        const { groupId, topic, output } = scene
        const client = scene.open(scene.place.transport('operator'))
        let afterRead: (() => Promise<void>) | undefined
        const groupOffsets: typeof client.admin.groupOffsets = async (...given) => {
          const offsets = await client.admin.groupOffsets(...given)
          const then = afterRead
          afterRead = undefined
          await then?.()
          return offsets
        }
        await scene.write(numbers(0, 3))
        const watched = { ...client, admin: { ...client.admin, groupOffsets } }
        const connector = await scene.start({ handler: scene.transforming() }, watched)
        await scene.untilCommitted(3n)
        await connector.stop('shipping')
        await scene.write(numbers(3, 6))
        // As of one that is taken for a member still: it has its place when it sends the offset, and loses it then.
        const other = scene.open(scene.place.transport('owner'))
        await using owner = other.transactionalProducer(transactionalIdOf(groupId, { topic, partition: 0 }))
        afterRead = async () => {
          await owner.begin()
          await owner.send({ topic: output, key: null, value: Buffer.from('f(3)') })
          const nobody = { groupId, generationId: -1, memberId: '', instanceId: null }
          await owner.sendOffsets([{ topic, partition: 0, epoch: 0, offset: 4n, metadata: metadataAt(4n) }], nobody)
          if (end !== 'after it') await owner.commit()
        }
        const { positions } = await connector.admin.skip('shipping', { partition: 0, offsets: [4n] }, { by: 'alice' })
        if (end === 'after it') await expect(owner.commit()).rejects.toMatchObject({ kind: 'FENCED' })
        expect(positions).toMatchObject([end === 'after it' ? { from: 3n, to: 3n } : { from: 4n, to: 5n }])
        await connector.start('shipping')
        await scene.untilCommitted(6n)
        await scene.assertOutputsOf(['0', '1', '2', '3', '5'])
      }))

  test('S0-149 events that a handler publishes are outputs too', () =>
    inScene(1, async (scene) => {
      const schema = z.object({ id: z.string() })
      const events = defineEvents({
        placed: { topic: scene.topic, schema, key: ({ id }) => id },
        shipped: { topic: scene.output, schema, key: ({ id }) => id },
      })
      let failures = 1
      const handler = handleEvents(events, {
        placed: async ({ payload }, { publisher }) => {
          await publisher.publish('shipped', { id: payload.id })
          if (payload.id === '1' && failures-- > 0) throw new Error('not yet')
        },
      })
      await using publisher = createPublisher(scene.client, events, { runtime: scene.place.runtime })
      for (const id of numbers(0, 3)) await publisher.publish('placed', { id })
      await scene.start({ handler })
      await scene.untilCommitted(3n)
      // The call that failed has published too.
      expect(await scene.outputs(3)).toEqual(numbers(0, 3).map((id) => JSON.stringify({ id })))
    }))
}
