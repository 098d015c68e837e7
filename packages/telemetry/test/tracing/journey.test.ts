import { openTelemetryTracer } from '@waybill/telemetry/opentelemetry'
import { expect, test } from 'vitest'
import { placeOf, RecordedSpans } from '../support/recorded-spans.ts'
import { withTwoServices } from '../support/two-services.ts'

/** Returns the only span with a name. */
function only(spans: RecordedSpans, name: string): ReturnType<typeof placeOf> & { attributes: object } {
  const [span, ...others] = spans.named(name)
  if (span === undefined || others.length > 0)
    throw new Error(`Expected one span ${name}, got ${spans.named(name).length}.`)
  return { ...placeOf(span), attributes: span.attributes }
}

test('an event is one trace from the request to its first delivery, and each retry and replay is linked to it', async () => {
  using shop = new RecordedSpans()
  using warehouse = new RecordedSpans()
  await withTwoServices(
    {
      shopTracer: openTelemetryTracer({ tracer: shop.tracer }),
      warehouseTracer: openTelemetryTracer({ tracer: warehouse.tracer }),
    },
    async ({ place, pass, fix, replay }) => {
      await shop.within('POST /orders', () => place('o-1'))
      await pass(60_000)
      fix()
      await replay()
      await pass(5_000)
    },
  )
  expect(shop.all.map(({ name }) => name).toSorted()).toEqual([
    'POST /orders',
    'create order.placed',
    'send orders.events',
  ])
  const request = only(shop, 'POST /orders')
  const create = only(shop, 'create order.placed')
  const send = only(shop, 'send orders.events')
  expect(create).toMatchObject({ trace: request.trace, parent: request.id })
  expect(send).toMatchObject({ trace: request.trace, parent: create.id, links: [create.id] })
  expect(send.attributes).toMatchObject({ 'messaging.destination.partition.id': '0', 'kafka.offset': 0 })

  const [first, replayed] = warehouse.named('process orders.events').map(placeOf)
  expect(first).toMatchObject({ trace: request.trace, parent: create.id, links: [create.id] })
  let before = first
  for (const tier of [1, 2, 3]) {
    const topic = `orders.events.retry-${tier}`
    expect(only(warehouse, `send ${topic}`)).toMatchObject({
      trace: before?.trace,
      parent: before?.id,
      links: [create.id],
    })
    const retry = only(warehouse, `process ${topic}`)
    expect(retry).toMatchObject({ parent: undefined, links: [create.id, before?.id] })
    expect(retry.trace).not.toBe(before?.trace)
    before = retry
  }
  expect(only(warehouse, 'send orders.events.DLT')).toMatchObject({ trace: before?.trace, parent: before?.id })
  expect(replayed).toMatchObject({ parent: undefined, links: [create.id, before?.id] })
  // What a handler publishes continues the trace of its delivery.
  expect(only(warehouse, 'create order.shipped')).toMatchObject({ trace: replayed?.trace, parent: replayed?.id })
  const outcomes = warehouse.all
    .filter(({ name }) => name.startsWith('process '))
    .map(({ attributes }) => attributes['waybill.outcome'])
  expect(outcomes).toEqual(['RETRY', 'RETRY', 'RETRY', 'DEAD_LETTER', 'DONE'])
})
