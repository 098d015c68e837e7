import { context, propagation, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler } from '@opentelemetry/sdk-trace'
import { createMemoryLogger, StateError } from '@waybill/core'
import type { ProcessScope } from '@waybill/core/internal'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type OpenTelemetryTracerOptions, openTelemetryTracer } from '../../src/tracing/open-telemetry-tracer.ts'
import { placeOf, RecordedSpans } from '../support/recorded-spans.ts'

const creation = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const unsampled = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00'
const before = '00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01'

const scope: ProcessScope = {
  binding: 'shipping',
  cluster: 'default',
  groupId: 'shipping',
  consumerInstance: 'host-0',
  topic: 'orders.events',
  partition: 3,
  offset: 42n,
  isTombstone: false,
  key: new TextEncoder().encode('o-1'),
  tier: 0,
  attempt: 1,
  replayCount: 0,
  operation: undefined,
  original: undefined,
  eventId: 'e-1',
  traceparent: creation,
  tracestate: 'vendor=1',
  baggage: undefined,
  attemptTraceparent: undefined,
  batch: undefined,
}
const done = { outcome: 'DONE', error: undefined, reason: undefined } as const

describe('the tracer', () => {
  let spans: RecordedSpans
  beforeEach(() => {
    spans = new RecordedSpans()
  })
  afterEach(() => spans[Symbol.dispose]())
  const tracerOf = (options: OpenTelemetryTracerOptions = {}): ReturnType<typeof openTelemetryTracer> =>
    openTelemetryTracer({ tracer: spans.tracer, ...options })

  test('describes a delivery by the conventions, in new and former names', () => {
    tracerOf().process(scope).end(done)
    const [span] = spans.all
    expect(span).toMatchObject({
      name: 'process orders.events',
      kind: SpanKind.CONSUMER,
      status: { code: SpanStatusCode.UNSET },
    })
    expect(span?.attributes).toEqual({
      'messaging.system.name': 'kafka',
      'messaging.system': 'kafka',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'orders.events',
      'messaging.destination.partition.id': '3',
      'kafka.offset': 42,
      'messaging.kafka.offset': 42,
      'messaging.consumer.group.name': 'shipping',
      'messaging.client.id': 'host-0',
      'messaging.message.id': 'e-1',
      'waybill.binding': 'shipping',
      'waybill.cluster': 'default',
      'waybill.tier': 0,
      'waybill.attempt': 1,
      'waybill.outcome': 'DONE',
    })
  })

  test('leaves out former names and adds the key where that is wanted', () => {
    tracerOf({ semconv: 'CURRENT', keys: true }).process(scope).end(done)
    const attributes = spans.all[0]?.attributes ?? {}
    expect(Object.keys(attributes)).not.toContain('messaging.system')
    expect(attributes['kafka.message.key']).toBe('o-1')
  })

  test('writes an offset that a number cannot hold as text', () => {
    tracerOf()
      .process({ ...scope, offset: 2n ** 60n })
      .end(done)
    expect(spans.all[0]?.attributes).toMatchObject({ 'waybill.offset': '1152921504606846976' })
    expect(spans.all[0]?.attributes).not.toHaveProperty('kafka.offset')
  })

  test.each<[string, Partial<ProcessScope>, OpenTelemetryTracerOptions, boolean, string[]]>([
    ['the first delivery is a child of the creation', {}, {}, true, ['b7ad6b7169203331']],
    ['the first delivery is only linked with relation LINK', {}, { relation: 'LINK' }, false, ['b7ad6b7169203331']],
    [
      'a retry is a trace of its own',
      { tier: 1, attemptTraceparent: before },
      {},
      false,
      ['b7ad6b7169203331', 'c7ad6b7169203331'],
    ],
    ['a replay is a trace of its own', { replayCount: 1 }, {}, false, ['b7ad6b7169203331']],
    [
      'a batch is a trace of its own',
      { batch: { count: 3, traceparents: [creation, before, 'broken'] } },
      {},
      false,
      ['b7ad6b7169203331', 'c7ad6b7169203331'],
    ],
    ['a broken context counts as none', { traceparent: '00-xyz' }, {}, false, []],
    ['a context of zeros counts as none', { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` }, {}, false, []],
  ])('%s', (_, given, options, isChild, links) => {
    tracerOf(options)
      .process({ ...scope, ...given })
      .end(done)
    const place = placeOf(spans.first)
    expect(place.links).toEqual(links)
    expect(place.parent).toBe(isChild ? 'b7ad6b7169203331' : undefined)
  })

  test('records the error of a dead letter once, cut to its bounds', () => {
    const error = new StateError('x'.repeat(5_000))
    tracerOf().process(scope).end({ outcome: 'DEAD_LETTER', error, reason: 'NON_RETRYABLE' })
    const [span] = spans.all
    expect(span?.status.code).toBe(SpanStatusCode.ERROR)
    expect(span?.attributes).toMatchObject({ 'error.type': error.code, 'waybill.dead_letter.reason': 'NON_RETRYABLE' })
    const [exception, dead] = span?.events ?? []
    expect(exception?.attributes?.['exception.message']).toHaveLength(1_024)
    expect(String(exception?.attributes?.['exception.stacktrace']).length).toBeLessThanOrEqual(2_048)
    expect(dead?.name).toBe('waybill.dead_lettered')
    expect(span?.events).toHaveLength(2)
  })

  test('records no text of errors where that is unwanted', () => {
    tracerOf({ exceptions: false })
      .process(scope)
      .end({ outcome: 'RETRY', error: new Error('secret'), reason: undefined })
    expect(spans.all[0]?.events).toEqual([])
    expect(JSON.stringify(spans.all[0]?.status)).not.toContain('secret')
  })

  test('writes the baggage of the request without denied names', () => {
    const baggage = propagation.createBaggage({
      tenant: { value: 'a b,c' },
      Authorization: { value: 'secret' },
    })
    const headers = context.with(
      propagation.setBaggage(context.active(), baggage),
      () => tracerOf().create({ eventType: 'order.placed', eventId: 'e-1', outbox: 'outbox' }).headers,
    )
    expect(headers['baggage']).toBe('tenant=a%20b%2Cc')
    expect(headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  })

  test('gives the handler the baggage of the event', () => {
    const span = tracerOf().process({ ...scope, baggage: 'tenant=a%20b%2Cc;ttl=1,broken,%E0%A4%A=1' })
    const read = span.run(() =>
      propagation
        .getActiveBaggage()
        ?.getAllEntries()
        .map(([name, { value }]) => [name, value]),
    )
    expect(read).toEqual([['tenant', 'a b,c']])
  })

  test.each([
    ['more than 64 members', Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`k${at}`, { value: 'v' }]))],
    ['more than 8,192 bytes', { long: { value: 'x'.repeat(8_200) } }],
  ])('drops baggage with %s whole, with one warning', (_, entries) => {
    const logger = createMemoryLogger()
    const tracer = tracerOf({ logger })
    const active = propagation.setBaggage(context.active(), propagation.createBaggage(entries))
    for (let count = 0; count < 3; count++) {
      const { headers } = context.with(active, () => tracer.create({ eventType: 'e', eventId: 'i', outbox: undefined }))
      expect(Object.keys(headers)).toEqual(['traceparent'])
    }
    expect(logger.lines).toHaveLength(1)
  })

  test('makes at most ten spans a second for failures that were not sampled, each a trace of its own', () => {
    let now = 5_000
    const tracer = tracerOf({ clock: { now: () => 1_700_000_000_000 + now, monotonic: () => now } })
    const failed = { outcome: 'RETRY', error: new Error('no'), reason: undefined } as const
    const contexts = Array.from({ length: 20 }, () =>
      tracer.failed({ ...scope, traceparent: unsampled }, 1_700_000_000_000, failed),
    )
    expect(contexts.filter((one) => one !== undefined)).toHaveLength(10)
    expect(tracer.failed({ ...scope, binding: 'other' }, 1_700_000_000_000, failed)).toBeDefined()
    now += 1_000
    expect(tracer.failed(scope, 1_700_000_000_000, failed)).toBeDefined()
    expect(spans.all).toHaveLength(12)
    expect(placeOf(spans.first)).toMatchObject({
      parent: undefined,
      links: ['b7ad6b7169203331'],
    })
    expect(spans.all[0]?.startTime).toEqual([1_700_000_000, 0])
  })
})

test('adds no headers without an OpenTelemetry SDK', () => {
  const span = openTelemetryTracer().create({ eventType: 'e', eventId: 'i', outbox: undefined })
  expect(span.headers).toEqual({})
  expect(() => span.end()).not.toThrow()
})

test('carries the decision not to sample a request to its events', () => {
  using spans = new RecordedSpans(new ParentBasedSampler({ root: new AlwaysOffSampler() }))
  const { headers } = openTelemetryTracer({ tracer: spans.tracer }).create({
    eventType: 'e',
    eventId: 'i',
    outbox: undefined,
  })
  expect(headers['traceparent']).toMatch(/-00$/)
})

function fails(): never {
  throw new Error('the agent is broken')
}

test('contains what a sampler or a processor throws', () => {
  const logger = createMemoryLogger()
  const broken = { shouldSample: fails, toString: () => 'broken' }
  using sampled = new RecordedSpans(broken)
  const tracer = openTelemetryTracer({ tracer: sampled.tracer, logger })
  expect(tracer.process(scope).run(() => 'handled')).toBe('handled')
  expect(tracer.create({ eventType: 'e', eventId: 'i', outbox: undefined }).headers).toEqual({})
  tracer.send({ topic: 't', traceparent: undefined, tracestate: undefined }).sent(undefined)

  const processor = { onStart: () => {}, onEnd: fails, forceFlush: async () => {}, shutdown: async () => {} }
  using ended = new RecordedSpans(new AlwaysOnSampler(), [processor])
  expect(() => openTelemetryTracer({ tracer: ended.tracer, logger }).process(scope).end(done)).not.toThrow()
  expect(logger.lines.map(({ text }) => text)).toEqual(Array(2).fill('Tracing failed; further errors are not logged'))
})
