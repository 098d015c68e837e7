import {
  createEnvelope,
  decodeEvent,
  defineEvents,
  encodeEvent,
  ParseError,
  RecordHeaders,
  SchemaViolationError,
  type WireRecord,
} from '@waybill/core'
import { createWireFormat } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const format = createWireFormat('ENVELOPE', 'durability-plane-1')

const persisted = {
  event_id: 'evt_01HQX',
  event_type: 'MessagePersisted',
  event_version: 1,
  event_time: '2026-01-31T14:30:00.000Z',
  partition_key: 'chat_abc123',
  producer_id: 'durability-plane-pod-abc',
  trace_id: 'trace_01HQX',
  payload: { chat_id: 'chat_abc123', sequence: 47 },
}

function recordOf(body: unknown, key: string | null = 'chat_abc123'): WireRecord {
  return {
    key: key === null ? null : Buffer.from(key),
    value: Buffer.from(JSON.stringify(body)),
    headers: RecordHeaders.empty,
  }
}

describe('a wire envelope', () => {
  test('has the eight fields, and the payload letter by letter', () => {
    const record = format.encode(
      createEnvelope({
        eventId: 'evt_1',
        eventType: 'MessagePersisted',
        occurredAt: Date.UTC(2026, 0, 31),
        aggregateId: 'chat_1',
        headers: { eventVersion: '2', traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
        payloadJson: '{"sequence": 12345678901234567890}',
      }),
    )
    expect(record.key?.toString()).toBe('chat_1')
    expect(record.value?.toString()).toBe(
      '{"$schema":"https://messaging.internal/schemas/event-envelope/v1.json","event_id":"evt_1",' +
        '"event_type":"MessagePersisted","event_version":2,"event_time":"2026-01-31T00:00:00.000Z",' +
        '"partition_key":"chat_1","producer_id":"durability-plane-1",' +
        '"trace_id":"0af7651916cd43dd8448eb211c80319c","payload":{"sequence": 12345678901234567890}}',
    )
  })

  test('outside of any trace begins one under the id of its event', () => {
    const { value } = format.encode(
      createEnvelope({ eventId: 'evt_1', eventType: 'a', aggregateId: 'k', payloadJson: '{}' }),
    )
    expect(JSON.parse(String(value))).toMatchObject({ trace_id: 'evt_1' })
  })

  test('keeps in headers what it has no field for', () => {
    const { headers } = format.encode(
      createEnvelope({
        eventType: 'a',
        aggregateType: 'Chat',
        aggregateId: 'k',
        tenantId: 'acme',
        headers: { eventVersion: '2', aggregateVersion: '3', locale: 'de' },
        payloadJson: '{}',
      }),
    )
    expect([...headers].map(([name, value]) => [name, value?.toString()])).toEqual([
      ['aggregateType', 'Chat'],
      ['aggregateVersion', '3'],
      ['tenantId', 'acme'],
      ['locale', 'de'],
    ])
  })

  test.each([
    ['has no key', { payloadJson: '{}' }, 'partition_key'],
    ['has a list as its payload', { aggregateId: 'k', payloadJson: ' []' }, 'payload'],
    ['has bytes as its payload', { aggregateId: 'k', payloadBytes: Buffer.from([0xff]) }, 'payload'],
  ])('is not made of an event that %s', (_, parts, path) => {
    const encoding = (): WireRecord => format.encode(createEnvelope({ eventType: 'a', ...parts }))
    expect(encoding).toThrow(SchemaViolationError)
    expect(encoding).toThrow(`${path}: `)
  })
})

describe('the events of the chat contract', () => {
  const text = z.string()
  const chat = { topic: 'chats', key: (payload: { chat_id: string }): string => payload.chat_id }
  const events = defineEvents(
    {
      MessagePersisted: {
        ...chat,
        schema: z.object({
          message_id: text,
          chat_id: text,
          sequence: z.int(),
          sender_id: text,
          content: text,
          content_type: text,
          client_message_id: text,
          created_at: text,
        }),
      },
      MembershipChanged: {
        ...chat,
        schema: z.object({
          chat_id: text,
          user_id: text,
          change_type: z.enum(['added', 'removed', 'role_changed']),
          role: text,
          changed_by: text,
          changed_at: text,
        }),
      },
      ChatCreated: {
        ...chat,
        schema: z.object({
          chat_id: text,
          chat_type: text,
          name: text,
          created_by: text,
          initial_members: z.array(text),
          created_at: text,
        }),
      },
    },
    { wireFormat: 'ENVELOPE', producer: 'chats-1' },
  )
  const at = '2026-01-31T14:30:00.000Z'
  const payloads = {
    MessagePersisted: {
      message_id: 'm-1',
      chat_id: 'chat_abc123',
      sequence: 47,
      sender_id: 'u-1',
      content: 'Hello',
      content_type: 'text/plain',
      client_message_id: 'c-1',
      created_at: at,
    },
    MembershipChanged: {
      chat_id: 'chat_abc123',
      user_id: 'u-1',
      change_type: 'added',
      role: 'member',
      changed_by: 'u-2',
      changed_at: at,
    },
    ChatCreated: {
      chat_id: 'chat_abc123',
      chat_type: 'group',
      name: 'Team',
      created_by: 'u-1',
      initial_members: ['u-1', 'u-2'],
      created_at: at,
    },
  } as const

  test.each(Object.keys(payloads) as (keyof typeof payloads)[])('%s arrives as it was written', async (name) => {
    const record = events.wireFormat.encode(await encodeEvent(events, name, payloads[name] as never))
    const event = await decodeEvent(events, record)
    expect(event).toMatchObject({ name, version: 1, key: 'chat_abc123', payload: payloads[name] })
  })

  test.each(
    Object.entries(payloads).flatMap(([name, payload]) => Object.keys(payload).map((field) => [name, field] as const)),
  )('%s needs %s', async (name, field) => {
    const { [field]: _, ...payload } = payloads[name as keyof typeof payloads] as Record<string, unknown>
    const body = { ...persisted, event_type: name, payload }
    await expect(decodeEvent(events, recordOf(body))).rejects.toThrow(`${name} violates its schema: ${field}: `)
  })

  test('are refused under the key of another chat', async () => {
    const body = { ...persisted, partition_key: 'chat_other', payload: payloads.MessagePersisted }
    await expect(decodeEvent(events, recordOf(body, 'chat_other'))).rejects.toThrow(SchemaViolationError)
  })
})

describe('a wire envelope of another producer', () => {
  test('is read as it is written in the contract', () => {
    const event = format.decode(recordOf(persisted))
    expect(event).toMatchObject({
      eventId: 'evt_01HQX',
      eventType: 'MessagePersisted',
      eventVersion: 1,
      occurredAt: Date.UTC(2026, 0, 31, 14, 30),
      aggregateId: 'chat_abc123',
    })
    expect(event.payload.json()).toEqual(persisted.payload)
  })

  test('surfaces a version that this program does not know', () => {
    expect(format.decode(recordOf({ ...persisted, event_version: 99 })).eventVersion).toBe(99)
  })

  test.each(Object.keys(persisted))('needs %s', (field) => {
    const { [field as keyof typeof persisted]: _, ...rest } = persisted
    expect(() => format.decode(recordOf(rest))).toThrow(`The record violates its schema: ${field}: is missing.`)
  })

  test.each<[string, object]>([
    ['event_id', { event_id: 7 }],
    ['event_type', { event_type: '' }],
    ['event_version', { event_version: '1' }],
    ['event_version', { event_version: 0 }],
    ['event_version', { event_version: 1.5 }],
    ['event_version', { event_version: 2 ** 53 }],
    ['event_time', { event_time: 1_769_869_800_000 }],
    ['event_time', { event_time: '2026-01-31T14:30:00' }],
    ['partition_key', { partition_key: null }],
    ['producer_id', { producer_id: '' }],
    ['trace_id', { trace_id: null }],
    ['payload', { payload: null }],
    ['payload', { payload: [] }],
    ['payload', { payload: '{}' }],
  ])('cannot have a wrong %s: %j', (field, wrong) => {
    expect(() => format.decode(recordOf({ ...persisted, ...wrong }))).toThrow(`schema: ${field}: is not`)
  })

  test.each([
    ['another key', 'chat_other'],
    ['an empty key', ''],
    ['no key', null],
  ])('cannot come with %s than its partition_key', (_, key) => {
    expect(() => format.decode(recordOf(persisted, key))).toThrow(/partition_key: is not the key of the record/)
  })

  test('learns of all its mistakes at once', () => {
    expect(() => format.decode(recordOf({}))).toThrow(
      /event_id.*event_type.*event_version.*event_time.*payload.*producer_id.*trace_id.*partition_key/,
    )
  })

  test('cannot have a header that is wrong either', () => {
    const headers = RecordHeaders.from([['aggregateVersion', 'one']])
    expect(() => format.decode({ ...recordOf(persisted), headers })).toThrow(/headers\.aggregateVersion: is not/)
  })

  test.each([[[]], ['text'], [null], [7]])('cannot be %j', (body) => {
    expect(() => format.decode(recordOf(body))).toThrow(/is not a JSON object/)
  })

  test('cannot be broken off', () => {
    const record = recordOf(persisted)
    expect(() => format.decode({ ...record, value: (record.value as Buffer).subarray(0, -1) })).toThrow(ParseError)
  })

  test('cannot smuggle its fields in through a prototype', () => {
    const value = Buffer.from(`{"__proto__":${JSON.stringify(persisted)}}`)
    expect(() => format.decode({ ...recordOf({}), value })).toThrow(ParseError)
  })
})
