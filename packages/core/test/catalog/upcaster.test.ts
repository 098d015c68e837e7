import {
  createEnvelope,
  createMemoryLogger,
  decodeEvent,
  defineEvents,
  encodeEvent,
  OptionsError,
  SchemaViolationError,
  UnknownEventTypeError,
  upcast,
  type WireRecord,
} from '@waybill/core'
import { eventHeader, upcastPayload, versionsOf } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const v1 = z.object({ messageId: z.string(), text: z.string() })
const v2 = z.object({ messageId: z.string(), body: z.string(), priority: z.enum(['normal', 'high']).default('normal') })
const v3 = z.object({ messageId: z.string(), body: z.object({ plain: z.string() }), sentAt: z.coerce.date<string>() })
const toV2 = upcast(v1, v2, ({ text, ...rest }) => ({ ...rest, body: text }))
const toV3 = upcast(v2, v3, ({ messageId, body }) => ({ messageId, body: { plain: body }, sentAt: '2026-01-31' }))
const key = ({ messageId }: { messageId: string }): string => messageId
const persisted = { topic: 'messages', version: 3, schema: v3, key, upcasters: { 1: toV2, 2: toV3 } }
const catalog = defineEvents({ MessagePersisted: persisted })

const payloads: Readonly<Record<number, object>> = {
  1: { messageId: 'm-1', text: 'hello' },
  2: { messageId: 'm-1', body: 'hello', priority: 'high' },
  3: { messageId: 'm-1', body: { plain: 'hello' }, sentAt: '2026-01-31' },
}

function recordOf(version: number, payload: object = payloads[version] ?? {}, events = catalog): WireRecord {
  const headers = { [eventHeader.eventVersion]: String(version) }
  const payloadJson = JSON.stringify(payload)
  const fields = { eventType: 'MessagePersisted', eventId: 'e-1', aggregateId: 'm-1', headers }
  return events.wireFormat.encode(createEnvelope({ ...fields, payloadJson }))
}

/** A catalog whose step from version 1 is this one. */
function stepping(up: (old: z.output<typeof v1>) => z.input<typeof v2>) {
  const definition = { topic: 'messages', version: 2, schema: v2, key, upcasters: { 1: upcast(v1, v2, up) } }
  return defineEvents({ MessagePersisted: definition })
}

function violationsOf(definition: object): string[] {
  try {
    defineEvents({ MessagePersisted: { ...persisted, ...definition } })
  } catch (thrown) {
    if (thrown instanceof OptionsError) return thrown.violations.map(({ path, problem }) => `${path} ${problem}`)
    throw thrown
  }
  return []
}

describe('S2-058 an event of a known version', () => {
  test.each([1, 2, 3])(
    'reaches its handler with the payload of the newest version, from version %i',
    async (version) => {
      const event = await decodeEvent(catalog, recordOf(version))
      expect(event).toMatchObject({
        version,
        payload: { messageId: 'm-1', body: { plain: 'hello' }, sentAt: new Date('2026-01-31') },
      })
    },
  )

  test('is read with the schema of its own version, and the violation names the version and the path', async () => {
    const decoded = decodeEvent(catalog, recordOf(1, { messageId: 'm-1', text: 7 }))
    await expect(decoded).rejects.toThrow(SchemaViolationError)
    await expect(decoded).rejects.toThrow(/^MessagePersisted version 1 violates its schema: text: /)
  })

  test('is written with the newest version only', async () => {
    const event = await encodeEvent(catalog, 'MessagePersisted', payloads[3] as z.input<typeof v3>)
    expect(event.headers[eventHeader.eventVersion]).toBe('3')
    await expect(encodeEvent(catalog, 'MessagePersisted', payloads[1] as z.input<typeof v3>)).rejects.toThrow(
      SchemaViolationError,
    )
  })

  test('is read with the one schema of an event without steps', async () => {
    const open = defineEvents({ MessagePersisted: { topic: 'messages', version: 2, schema: v2, key } })
    const logger = createMemoryLogger()
    const event = await decodeEvent(open, recordOf(1, { messageId: 'm-1', body: 'hello' }), { logger })
    expect(event.payload.priority).toBe('normal')
    expect(logger.lines).toEqual([])
  })
})

describe('S2-058 C-45 an event of an unknown version', () => {
  test('is read as version 1 with the warning of the specification', async () => {
    const logger = createMemoryLogger()
    const event = await decodeEvent(catalog, recordOf(9, payloads[1]), { logger })
    expect(event).toMatchObject({ version: 9, payload: { body: { plain: 'hello' } } })
    expect(logger.lines).toMatchObject([
      {
        level: 'WARN',
        text: 'Unknown MessagePersisted version 9, attempting v1',
        fields: { event: 'MessagePersisted', version: 9 },
      },
    ])
  })

  test('is a permanent failure if it is no event of version 1, with the failing path', async () => {
    const decoded = decodeEvent(catalog, recordOf(9, payloads[3]))
    await expect(decoded).rejects.toThrow(SchemaViolationError)
    await expect(decoded).rejects.toThrow(
      /^MessagePersisted version 9, read as version 1, violates its schema: text: .*Deploy a consumer whose catalog has version 9/,
    )
  })

  test('is an UnknownEventTypeError if its type is unknown, too', async () => {
    const other = defineEvents({ MessageDeleted: { topic: 'messages', schema: v1, key } })
    await expect(decodeEvent(other, recordOf(9))).rejects.toThrow(UnknownEventTypeError)
  })
})

describe('a step between versions', () => {
  test('that throws is a permanent failure which names the step', async () => {
    const broken = stepping(() => {
      throw new TypeError('no text')
    })
    const decoded = decodeEvent(broken, recordOf(1))
    await expect(decoded).rejects.toThrow(SchemaViolationError)
    await expect(decoded).rejects.toThrow(
      /^MessagePersisted, upcast from version 1 to 2, violates its schema: the step threw TypeError: no text.*Correct the upcaster/,
    )
    await expect(decoded).rejects.toMatchObject({ cause: expect.any(TypeError) })
  })

  test('with a result that the next schema refuses is a permanent failure with the failing path', async () => {
    const broken = stepping(({ messageId }) => ({ messageId }) as z.input<typeof v2>)
    await expect(decodeEvent(broken, recordOf(1))).rejects.toThrow(
      /^MessagePersisted, upcast from version 1 to 2, violates its schema: body: /,
    )
  })

  test('fills in the defaults of the next version before the following step', async () => {
    const seen: unknown[] = []
    const look = upcast(v2, v3, (old) => {
      seen.push(old)
      return toV3.up(old)
    })
    const events = defineEvents({ MessagePersisted: { ...persisted, upcasters: { 1: toV2, 2: look } } })
    await decodeEvent(events, recordOf(1))
    expect(seen).toEqual([{ messageId: 'm-1', body: 'hello', priority: 'normal' }])
  })

  test('can be tried by name and version', async () => {
    expect(versionsOf(catalog, 'MessagePersisted')).toEqual([
      { version: 1, schema: v1, step: toV2 },
      { version: 2, schema: v2, step: toV3 },
      { version: 3, schema: v3, step: null },
    ])
    expect(await upcastPayload(catalog, 'MessagePersisted', 1, payloads[1])).toMatchObject({ messageId: 'm-1' })
  })
})

describe('a chain of steps', () => {
  test.each([
    ['a hole at its end', { upcasters: { 1: toV2 } }, 'must have a step from version 2'],
    ['a hole at its start', { upcasters: { 2: toV3 } }, 'must have a step from version 1'],
    ['a hole in the middle', { version: 4, upcasters: { 1: toV2, 3: toV3 } }, 'must have a step from version 2'],
    [
      'a step beyond the version',
      { version: 2, schema: v2, upcasters: { 1: toV2, 2: toV3 } },
      'must start from a version below 2',
    ],
    ['a step from no version', { upcasters: { 1: toV2, 2: toV3, x: toV3 } }, 'must start from a version below 3'],
    ['a step into another schema', { schema: v2 }, 'must lead to the schema of version 3, the same object'],
    [
      'steps that do not meet',
      { upcasters: { 1: toV3, 2: toV3 } },
      'must lead to the schema of version 2, the same object',
    ],
    ['a function for a step', { upcasters: { 1: () => ({}), 2: toV3 } }, 'must be a step made by upcast'],
    ['a hole of two billion versions', { version: 2 ** 31 - 1 }, 'must have a step from version 3'],
  ])('is refused at start with %s', (_, definition, problem) => {
    const violations = violationsOf(definition)
    expect(violations).toHaveLength(1)
    expect(violations[0]).toMatch(/^definitions.*MessagePersisted.*\.upcasters/)
    expect(violations[0]).toContain(problem)
  })

  test('is none if it is empty', () => {
    expect(violationsOf({ upcasters: {} })).toEqual([])
  })
})
