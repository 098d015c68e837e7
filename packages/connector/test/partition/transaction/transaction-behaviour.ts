/** What a transactional binding promises, by nothing but a connector: the same on a simulated cluster and on Apache Kafka. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { defineEvents, NonRetryableError } from '@waybill/core'
import { createPublisher, type KafkaRecord } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { DeliveryContext } from '../../../src/api/handler-types.ts'
import { handleEvents } from '../../../src/handlers/handle-events.ts'
import { encodeCommitMetadata } from '../../../src/ledger/commit-metadata.ts'
import { ledgerStateAt } from '../../../src/ledger/ledger.ts'
import { transactionalIdOf } from '../../../src/partition/transaction/transactional-id.ts'
import { type Given, headerOf, numbers, Scene, type TransactionPlace, valueOf } from './transactional-binding-scene.ts'
import { troubledTransport } from './troubled-transport.ts'

/** What an owner that goes on at an offset, with a count of all below it, commits with it. */
function metadataAt(offset: bigint): string {
  const state = ledgerStateAt(0n)
  return encodeCommitMetadata({ ...state, position: offset, counts: { ...state.counts, ok: offset } })
}

function sendManyLarge(context: DeliveryContext, topic: string): void {
  for (let count = 0; count < 3; count++) context.send({ topic, key: null, value: Buffer.alloc(900_000) })
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
  const nowhere = { key: null, value: Buffer.from('nowhere'), partition: 99 }
  const refused = [
    ['it is too large', tooLarge, 'OutputUnacceptableError', 'NON_RETRYABLE'],
    ['there is no such partition', nowhere, 'OutputRefusedError', 'RETRIES_EXHAUSTED'],
  ] as const
  test.each(refused)(
    'S0-149 L2 an output that its topic refuses for good (%s) is a failure of its record, and of no other',
    (_, bad, exception, reason) =>
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
        expect(headerOf(dead, 'x-eventbus-last-exception-class')).toBe(exception)
        expect(headerOf(dead, 'x-eventbus-dlt-reason')).toBe(reason)
        // C-04: calls that were made, and none was made for the refusal.
        expect(headerOf(dead, 'x-eventbus-total-attempts')).toBe('1')
        expect(scene.calls.filter((value) => value === '2')).toHaveLength(1)
      }),
  )

  test.each<[string, NonNullable<Given['transactional']>, string, (context: DeliveryContext, topic: string) => void]>([
    [
      'one is above maxRecordBytes',
      true,
      'OutputRecordTooLargeError',
      (context, topic) => context.send({ topic, ...tooLarge }),
    ],
    ['together they are above maxBytes', { maxBytes: 2_000_000 }, 'OutputsTooLargeError', sendManyLarge],
    [
      'its topic never takes one',
      { maxRecordBytes: 4_000_000 },
      'OutputUnacceptableError',
      (context, topic) => context.send({ topic, ...tooLarge }),
    ],
    [
      'the binding has no transactions',
      false,
      'NotTransactionalError',
      (context, topic) => context.send({ topic, key: null, value: null }),
    ],
  ])('S0-149 outputs that can never be written (%s) make a dead letter at once', (_, transactional, exception, send) =>
    inScene(1, async (scene) => {
      const handler = (record: KafkaRecord, context: DeliveryContext): void => {
        scene.calls.push(valueOf(record))
        if (valueOf(record) === '1') send(context, scene.output)
      }
      await scene.write(numbers(0, 3))
      const retry = { tier0: { maxAttempts: 3, initialBackoffMs: 1 }, tiers: [{ delayMs: 50 }] }
      await scene.start({ handler, transactional, retry })
      await scene.untilCommitted(3n)
      const [dead, ...others] = await scene.readRecords(`${scene.topic}.DLT`)
      assert(dead !== undefined)
      expect([valueOf(dead), others]).toEqual(['1', []])
      expect(headerOf(dead, 'x-eventbus-dlt-reason')).toBe('NON_RETRYABLE')
      expect(headerOf(dead, 'x-eventbus-last-exception-class')).toBe(exception)
      expect(scene.calls.toSorted()).toEqual(numbers(0, 3))
      expect(await scene.read(`${scene.topic}.retry-1`)).toEqual([])
    }),
  )

  test('S0-149 C-04 a dead letter of a refused output tells of every call that was made for it', () =>
    inScene(1, async (scene) => {
      let failures = 1
      const handler = scene.transforming((_, context) => {
        if (failures-- > 0) throw new Error('not yet')
        context.send({ topic: scene.output, ...nowhere })
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
      const refusal = { kind: 'FATAL', reason: 'MESSAGE_TOO_LARGE', code: 'WAYBILL_OUTPUT_RECORD_TOO_LARGE' }
      expect(thrown).toEqual([expect.objectContaining(refusal)])
      await using producer = scene.client.producer('EVENT')
      await expect(producer.send(record)).rejects.toMatchObject({ kind: 'FATAL', reason: 'MESSAGE_TOO_LARGE' })
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
      const over = { code: 'WAYBILL_STATE_INVALID', hint: expect.stringContaining('handlerTimeoutMs') }
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
