import { createMemoryLogger } from '@waybill/core'
import { openTelemetryTracer } from '@waybill/telemetry/opentelemetry'
import { describe, expect, test } from 'vitest'
import { placeOf, RecordedSpans } from '../support/recorded-spans.ts'
import { withTwoServices } from '../support/two-services.ts'

const unsampled = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00'
const sampled = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('an event that brings its own context', () => {
  test('gets no span where its trace is not sampled', async () => {
    using spans = new RecordedSpans()
    const tracer = openTelemetryTracer({ tracer: spans.tracer })
    await withTwoServices({ shopTracer: tracer, warehouseTracer: tracer }, async ({ place, pass, fix }) => {
      fix()
      await place('o-1', { traceparent: unsampled })
      await pass(5_000)
    })
    // What the handler published has no context of its own yet.
    expect(spans.all.map(({ name }) => name)).toEqual(['create order.shipped'])
  })

  test('gets all of them where it is sampled', async () => {
    using spans = new RecordedSpans()
    const tracer = openTelemetryTracer({ tracer: spans.tracer })
    await withTwoServices({ shopTracer: tracer, warehouseTracer: tracer }, async ({ place, pass, fix }) => {
      fix()
      await place('o-1', { traceparent: sampled })
      await pass(5_000)
    })
    expect(spans.all.map(({ name }) => name)).toEqual([
      'send orders.events',
      'create order.shipped',
      'process orders.events',
    ])
    expect(new Set(spans.all.map((span) => span.spanContext().traceId))).toEqual(new Set([sampled.slice(3, 35)]))
  })
})

test('failures of an unsampled event are spans after the fact, each linked to the one before', async () => {
  using spans = new RecordedSpans()
  const warehouseTracer = openTelemetryTracer({ tracer: spans.tracer })
  await withTwoServices({ warehouseTracer }, async ({ place, pass }) => {
    await place('o-1', { traceparent: unsampled })
    await pass(60_000)
  })
  const places = spans.all.filter(({ name }) => name.startsWith('process ')).map(placeOf)
  expect(places).toHaveLength(4)
  for (const [at, { links, parent }] of places.entries()) {
    expect(parent).toBeUndefined()
    expect(links).toEqual(at === 0 ? ['b7ad6b7169203331'] : ['b7ad6b7169203331', places[at - 1]?.id])
  }
})

test.each(['HEADERS', 'ENVELOPE'] as const)(
  'a dead letter in the format %s keeps context, baggage and its last attempt',
  async (format) => {
    using spans = new RecordedSpans()
    const tracer = openTelemetryTracer({ tracer: spans.tracer })
    await withTwoServices({ warehouseTracer: tracer, dlt: { format } }, async ({ place, pass, headersIn }) => {
      await place('o-1', { traceparent: sampled, tracestate: 'vendor=1', baggage: 'tenant=eu' })
      await pass(60_000)
      const headers = await headersIn('orders.events.DLT')
      const last = spans.named('process orders.events.retry-3').map(placeOf)[0]
      expect(headers.get('traceparent')).toBe(sampled)
      expect(headers.get('tracestate')).toBe('vendor=1')
      expect(headers.get('baggage')).toBe('tenant=eu')
      expect(headers.get('x-eventbus-attempt-traceparent')).toBe(`00-${last?.trace}-${last?.id}-01`)
    })
  },
)

test('lines about a delivery carry each field once, with its event and its span', async () => {
  using spans = new RecordedSpans()
  const logger = createMemoryLogger()
  const children: object[] = []
  const printedBy: object[] = []
  const counted = {
    ...logger,
    child: (fields: object) => {
      children.push(fields)
      const child = logger.child(fields)
      return { ...child, info: (line: object, text: string) => (printedBy.push(line), child.info(line, text)) }
    },
  }
  const warehouseTracer = openTelemetryTracer({ tracer: spans.tracer })
  await withTwoServices(
    { warehouseTracer, logger: counted, handled: (own) => own.info({ step: 'label' }, 'Label printed') },
    async ({ place, pass }) => {
      await place('o-1', { traceparent: sampled })
      await pass(500)
    },
  )
  const first = spans.named('process orders.events').map(placeOf)[0]
  const fields = { trace_id: first?.trace, span_id: first?.id, trace_flags: '01', bindingName: 'shipping', offset: '0' }
  const printed = logger.lines.find(({ text }) => text === 'Label printed')
  expect(printed?.fields).toMatchObject({ ...fields, step: 'label', eventId: expect.any(String) })
  // The line brought only its own field: pino writes a field of a child and of a line twice.
  expect(children.find((child) => 'offset' in child)).toMatchObject(fields)
  expect(printedBy.filter((line) => 'step' in line)).toEqual([{ step: 'label' }, { step: 'label' }])
  const failed = logger.lines.find(({ text }) => text === 'Record failed, sent to retry tier')
  expect(failed?.fields).toMatchObject({ ...fields, eventId: printed?.fields['eventId'] })
})
