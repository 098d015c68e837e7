import { Buffer } from 'node:buffer'
import { defineEvents, encodeEvent, UnavailableError } from '@waybill/core'
import { createKafkaClient, type KafkaClient, KafkaError, publishEvents, requireAllDone } from '@waybill/kafka'
import { brokerUser, type SecuredBroker, secureBroker } from '@waybill/test-support'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { describeWhole } from './support/describe-whole.ts'
import { readLog } from './support/ledger.ts'

const partitions = 2
const records = 200
const named = (name: string): string => brokerUser.allowedPrefix + name
const textOf = (index: number): string => `record ${index}`
const key = ({ id }: { readonly id: string }): string => id

async function failureOf(attempt: Promise<unknown>): Promise<{ readonly kind: string; readonly reason: string }> {
  const error: unknown = await attempt.then(
    () => expect.fail('It was expected to reject.'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof KafkaError)) throw error
  return { kind: error.kind, reason: error.reason ?? '' }
}

describeWhole(1, 'a user who may use its own topics, groups and transactional ids, and nothing else', (service) => {
  let broker: SecuredBroker
  beforeAll(async () => {
    broker = await secureBroker(service())
    await using admin = createKafkaClient({ brokers: [service().url] })
    const topics = [named('in'), named('out'), named('mixed'), 'forbidden']
    const created = await admin.admin.createTopics(
      topics.map((topic) => ({ topic, partitions, replication: -1 })),
      { deadlineMs: 60_000 },
    )
    requireAllDone('Creating topics', created)
  }, 300_000)

  const connect = (): KafkaClient => {
    const { host, port } = broker.listeners.SASL_PLAINTEXT
    const { name: username, password } = brokerUser
    return createKafkaClient({ brokers: [`${host}:${port}`], sasl: { mechanism: 'PLAIN', username, password } })
  }

  test('moves records and offsets in transactions, and every aborted one leaves nothing', async () => {
    await using kafka = connect()
    await using source = kafka.producer('EVENT')
    const [from, to] = [named('in'), named('out')]
    const write = (index: number): Promise<unknown> =>
      source.send({ topic: from, partition: index % partitions, key: null, value: Buffer.from(textOf(index)) })
    await Promise.all(Array.from({ length: records }, (_, index) => write(index)))

    await using consumer = kafka.consumer({ groupId: named('mover'), topics: [from], maxWaitMs: 100 })
    await using producer = kafka.transactionalProducer(named('mover'))
    await consumer.start()
    let moved = 0
    for (let round = 1; moved < records; round++) {
      const batch = await consumer.poll(20, 1_000)
      if (batch.length === 0) continue
      await producer.begin()
      await Promise.all(batch.map(({ partition, value }) => producer.send({ topic: to, partition, key: null, value })))
      const last = new Map(batch.map((record) => [record.partition, record]))
      const offsets = Array.from(last.values(), ({ topic, partition, epoch, offset }) => ({
        topic,
        partition,
        epoch,
        offset: offset + 1n,
      }))
      await producer.sendOffsets(offsets, consumer.groupMetadata())
      if (round % 3 === 0) {
        await producer.abort()
        for (const record of batch.toReversed()) consumer.seek(record, record.offset)
        continue
      }
      await producer.commit()
      moved += batch.length
    }
    const half = records / partitions
    const owned = consumer.assignment()
    expect((await consumer.committed(owned)).map(({ offset }) => Number(offset))).toEqual(owned.map(() => half))
    expect(await readLog(kafka, named('audit-out'), to)).toEqual(await readLog(kafka, named('audit-in'), from))
  }, 180_000)

  test('is refused forbidden operations, and continues with the next transaction', async () => {
    await using kafka = connect()
    await using producer = kafka.transactionalProducer(named('mixed'))
    const send = (topic: string, text: string): Promise<unknown> =>
      producer.send({ topic, partition: 0, key: null, value: Buffer.from(text) })
    await producer.begin()
    await send(named('mixed'), 'beside a forbidden topic')
    expect(await failureOf(send('forbidden', 'forbidden'))).toEqual({
      kind: 'ABORTABLE',
      reason: 'TOPIC_AUTHORIZATION_FAILED',
    })
    await producer.abort()

    await producer.begin()
    await send(named('mixed'), 'beside a forbidden group')
    const group = { groupId: 'forbidden', generationId: -1, memberId: '', instanceId: null }
    const offsets = [{ topic: named('mixed'), partition: 0, epoch: 0, offset: 0n }]
    expect(await failureOf(producer.sendOffsets(offsets, group))).toEqual({
      kind: 'ABORTABLE',
      reason: 'GROUP_AUTHORIZATION_FAILED',
    })
    await producer.abort()

    await producer.begin()
    await send(named('mixed'), 'allowed')
    await producer.commit()
    expect(await readLog(kafka, named('audit-mixed'), named('mixed'))).toEqual([['allowed'], []])
    await using admin = createKafkaClient({ brokers: [service().url] })
    expect(await readLog(admin, 'audit-forbidden', 'forbidden')).toEqual([[], []])
  }, 120_000)

  test.each([undefined, named('relay')])(
    'publishes its own events beside forbidden ones, with the transactional id %s',
    async (transactionalId) => {
      await using kafka = connect()
      const schema = z.object({ id: z.string() })
      const events = defineEvents({
        allowed: { topic: named('out'), schema, key },
        forbidden: { topic: 'forbidden', schema, key },
      })
      const registry = publishEvents(kafka, events, { transactionalId })
      const publish = async (name: 'allowed' | 'forbidden', id: string): Promise<unknown> => {
        const event = await encodeEvent(events, name, { id })
        return registry
          .listenerFor('', name)?.(event, { signal: new AbortController().signal, attempt: 1 })
          .then(() => 'sent')
          .catch((error: unknown) => (error instanceof UnavailableError ? 'unavailable' : error))
      }
      const sent = ['1', '2', '3'].map((id) => publish('allowed', id))
      expect(await publish('forbidden', '4')).toBe('unavailable')
      expect(await Promise.all(sent)).toEqual(['sent', 'sent', 'sent'])
    },
    120_000,
  )

  test('cannot begin with a transactional id of another user', async () => {
    await using kafka = connect()
    await using producer = kafka.transactionalProducer('forbidden')
    const refused = { kind: 'FATAL', reason: 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED' }
    expect(await failureOf(producer.begin())).toEqual(refused)
  }, 120_000)
})
