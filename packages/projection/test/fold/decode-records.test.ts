import { createEnvelope, createMemoryLogger, defineEvents, runtimeWith, upcast } from '@waybill/core'
import { eventHeader } from '@waybill/core/internal'
import type { KafkaRecord } from '@waybill/kafka'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineProjection } from '../../src/definition/define-projection.ts'
import { ProjectionInputError } from '../../src/definition/projection-errors.ts'
import { decodeRecords } from '../../src/fold/decode-records.ts'
import { createMemoryProjectionStore } from '../../src/memory/memory-projection-store.ts'
import { createProjector } from '../../src/projector/create-projector.ts'

const v1 = z.object({ messageId: z.string(), text: z.string() })
const v2 = z.object({ messageId: z.string(), body: z.string() })
const events = defineEvents({
  MessagePersisted: {
    topic: 'messages',
    version: 2,
    schema: v2,
    key: ({ messageId }) => messageId,
    upcasters: { 1: upcast(v1, v2, ({ messageId, text }) => ({ messageId, body: text })) },
  },
})
const messages = defineProjection({
  name: 'messages',
  events,
  state: z.object({ body: z.string() }),
  columns: { body: 'text' },
}).on({ MessagePersisted: (_, { payload }) => ({ body: payload.body }) })

function recordOf(version: number, payload: object, offset: number): KafkaRecord {
  const headers = { [eventHeader.eventVersion]: String(version), [eventHeader.aggregateVersion]: '1' }
  const key = `m-${offset}`
  const envelope = createEnvelope({
    eventType: 'MessagePersisted',
    aggregateId: key,
    headers,
    payloadJson: JSON.stringify({ messageId: key, ...payload }),
  })
  return {
    topic: 'messages',
    partition: 0,
    offset: BigInt(offset),
    timestamp: 0,
    epoch: 1,
    ...events.wireFormat.encode(envelope),
  }
}

test('a projection folds the newest version of an event, whichever version was written', async () => {
  const store = createMemoryProjectionStore()
  const logger = createMemoryLogger()
  const projector = createProjector(messages, { store, runtime: runtimeWith({ logger }) })
  const records = [recordOf(1, { text: 'old' }, 1), recordOf(2, { body: 'new' }, 2), recordOf(8, { text: 'later' }, 3)]
  await projector.handleBatch(records, undefined as never)
  expect([1, 2, 3].map((key) => store.find('messages', `m-${key}`))).toEqual([
    { body: 'old' },
    { body: 'new' },
    { body: 'later' },
  ])
  expect(logger.lines).toMatchObject([
    { text: 'Unknown MessagePersisted version 8, attempting v1', fields: { projection: 'messages' } },
  ])
})

test('a projection names the version and the path of a payload that its version refuses', async () => {
  const { error } = await decodeRecords(messages, [recordOf(1, { body: 'of version 2' }, 1)])
  expect(error).toBeInstanceOf(ProjectionInputError)
  expect(error?.message).toContain('MessagePersisted version 1 violates its schema: text: ')
})
